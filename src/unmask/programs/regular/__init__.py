"""Regular language → programs, for one length or for every N at once.

In come an automaton and, where it is small enough, its transition monoid; out go programs over a tree of products
(`products/`), or over states where the monoid is too large (`states/`). `tree` says where the factors of a node stand,
as expressions in N.
"""
