"""Planners: programs that choose which slots to write, and the two logits (keep, take) by which they say so.

In come a vocabulary, sizes and positions, out goes a `Program` with two outputs, for every kind of problem alike.
"""
