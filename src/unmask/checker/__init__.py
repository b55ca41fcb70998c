"""A second look at proofs by induction: certificate × model folder → checked, or refused with a sentence.

It shares nothing with the prover: F_p and the reader of folders are all that it imports. `induction` holds the tables
of a certificate against its automaton, `tables` and `loops` hold them against the weights. `families/` does the same
for proofs for every length.
"""
