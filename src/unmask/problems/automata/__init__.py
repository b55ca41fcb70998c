"""Complete deterministic automata, and all that is made of them.

In comes a table of transitions, from a regex, a file (`dfa_file`) or a group (`group`, `permutation_group`); out go the
least automaton (`minimisation`), its transition monoid (`monoid`), words counted and drawn (`words`), and sets of
characters as ranges (`characters`). Nothing here knows of models.
"""
