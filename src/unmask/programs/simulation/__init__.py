"""A given transformer, column by column, inside a larger program: what the theorems are built from.

In come the transformers of a model and a `Program` that is being written, out come the registers that hold the source's
stream. `transformer.py` runs the layers; `causal_copies.py` makes them causal, `residual_slots.py` keeps their stream
in slots, and `looped_in_slots.py` is a whole looped transformer so kept.
"""
