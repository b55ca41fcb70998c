"""PROBLEM × N → how every sampler does on a predictor whose right order is known.

`subject` compiles the predictor and draws words with their right answers, `reads` says which slot is made from which,
`order` how far a sampler's order strays from that, `measure` runs everything, `report` prints it.
"""
