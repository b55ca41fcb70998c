"""Pattern → tree → nondeterministic automaton → Automaton, exactly as Python's `re.fullmatch` reads the pattern.

`regex_parser` builds a tree from the result of Python's own parser, `nfa` an automaton with assertions, and
`determinisation` a minimal automaton, also for patterns that look ahead or behind. The entry point is
`determinisation.regex_automaton`.
"""
