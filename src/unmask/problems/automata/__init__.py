"""Complete deterministic finite automata. Nothing here depends on models.

`automaton` has the automata, their minimisation, the format of dfa: files, and the counting and drawing of words.
`groups_and_monoids` has transition monoids and permutation groups, `characters` sets of characters as ranges.
"""
