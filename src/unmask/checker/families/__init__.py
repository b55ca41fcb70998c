"""A second look at proofs for every length: certificate × folders × solver → checked, or refused with a sentence.

It shares nothing with the prover: F_p and the reader of folders are all that it imports. The argument is its own, and
shorter; `layouts` holds it, a paragraph per kind of model.

    form, letters         what a certificate says, and what a word is made of
    formulas              positions, as numbers and as SMT-LIB
    scores, rows          heads, for any number of bits; one row, by the sums of F_p as they are defined
    layouts, questions    what is asked of a `solver`, and how
    nodes, chain, loop    what rows hold, step by step
    products              pairs of what a row holds and the map of its letters, closed
    instance              the family at one N is the folder
    check                 the walk over all of these
"""
