"""Regular language → programs, for one length or for every N at once.

`product_tree` multiplies elements of the transition monoid along a tree, one slot per node, and `product_loop` does the
same in a looped transformer. `monoid_codes` represents the elements. If the monoid is too large, `state_tree` has
one row per node and state. `state_chain` is the chain of thought with one state per letter.
"""
