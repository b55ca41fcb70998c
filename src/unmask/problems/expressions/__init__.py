"""Arithmetic expressions: their shape, and the values that every part of one can take.

In comes the text of an expression with the ranges of its variables; out go its tree (`shape`) and, for each node, the
finite set of `values` that it can have, which is what a slot must be able to hold.
"""
