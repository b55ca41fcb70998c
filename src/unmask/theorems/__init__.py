"""Weights to weights: one file per theorem that relates two frameworks, under the theorem's stem.

In comes a `Model` of one kind, or a `Transformer`; out goes a `Conversion`: the model of the other kind, and an
`Alignment` that says where it holds every state of its source. Each file offers a `THEOREM` with its label, its
converter and the most that the result may use (`Price`). `all_theorems.py` lists them all and finds
the route from kind to kind. `conversion_checks.py` runs random models through a converter.
Converters write a `Program` around their source (`programs.simulation`) and `assemble` it; nothing here makes weights
of its own.
"""
