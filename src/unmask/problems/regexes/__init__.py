"""Pattern → tree → nondeterministic automaton → Automaton, exactly as Python's `re.fullmatch` reads the pattern.

`regex_parser` makes a tree from what Python's own parser returns, `nfa` an automaton with assertions, and
`determinisation` a minimal automaton, where a pattern looks ahead or behind, too. The entry point is
`determinisation.regex_automaton`.
"""
