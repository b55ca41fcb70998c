"""A model as one readable file of torch, plain or bit-identical to F_p, and as a third engine.

A Model goes in, a folder comes out (`folder`) that needs nothing of this package: `model` and `exact_numbers` are
copied into it as they stand. `engine` runs the same file here, as `--engine torch`.
"""
