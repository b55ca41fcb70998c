"""Weights → network of finite variables: a run over all words at once, exact for any weights.

A model comes in; an `Extraction` goes out: tables from the letters to what each slot holds in the end, and the cases in
which a run fails. `medium` carries the loops of reasoners/ over tables, `forward` is one pass, `rows` and `head` one
layer and one head of it, and `network` holds the variables.
"""
