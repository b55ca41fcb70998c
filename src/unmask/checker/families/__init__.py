"""A second look at proofs for every length: certificate × folders × solver → checked, or refused with a sentence.

It shares nothing with the prover: F_p and the reader of folders are all that it imports. The argument is its own, and
shorter; `layouts` holds it, a paragraph per kind of model.

    form         what a certificate says          letters      what a word is made of
    formulas     positions, as numbers and as SMT-LIB          instance     the family at one N is the folder
    scores       heads: any number of bits        rows         one row, by the sums of F_p as they are defined
    layouts      what is asked of a solver        tables       what rows hold, step by step
"""
