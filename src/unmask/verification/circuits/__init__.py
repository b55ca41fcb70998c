"""Models as circuits of AND, OR and NOT: what the weights compute at one N, and in a depth without N.

A model comes in, a circuit over the bits of its letters goes out: small, by way of symbolic execution (`extracted`), or
of constant depth per step (`reasoners`: `medium` carries the loops over wires, `constant_depth` is one forward pass).
"""
