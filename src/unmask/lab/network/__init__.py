"""One readable transformer and what its rows are told about their place.

In comes a `Shape` (width, heads, MLP, switches) and the places of a task; out go logits per row, and attention where it
is asked for. `network` is the transformer, `places` who is where and whose operands stand where, `encodings` how a row
is told: in bits, learned, or not at all.
"""
