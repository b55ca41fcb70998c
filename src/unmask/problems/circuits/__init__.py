"""Circuits of AND and OR over literals: files, shapes, families, and what families are proved against.

In come AIGER and BLIF (`aiger`, `blif`, `file`) or a family and a length (`families`); out goes a `Circuit` with its
`shape` checked. `plain` has the textbook circuit of every family, which shares nothing with the one that is compiled
(`arithmetic` is a part of the latter).
"""
