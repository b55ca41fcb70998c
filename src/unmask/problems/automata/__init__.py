"""Complete deterministic finite automata. Nothing here depends on models.

`automaton` defines automata and their minimisation, and counts and draws words.
`groups_and_monoids` defines transition monoids and permutation groups, `characters` sets of characters as ranges.
"""
