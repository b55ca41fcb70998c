"""Proofs for every N at once, about families of models: what `unmask prove --every-length` does.

A problem, its compiler, a kind and a precision come in; out goes `EveryLength`: a verdict, the obligations, and a
counterexample. `prove` is the walk; `bridge` and `check_lengths` tie a family to folders, entry by entry; `report` is
the page.

    obligations/     how one is settled: by closure, by enumeration, by a solver
    regular/         regular languages, one file for each kind of model, and the certificate of a second checker
    systems/         programs, and families of circuits
"""
