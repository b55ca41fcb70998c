"""Rows that hold where one state goes: |Q| slots per node of the tree, or one state per letter in a chain.

In comes an automaton whose monoid is too large, or a chain of thought, which needs none; `geometry` lays out the rows
of a node, `node` and `tree` follow a state through both factors, `chain` goes letter by letter.
"""
