"""Pattern → tree → nondeterministic automaton → Automaton, exactly as Python's `re.fullmatch` reads the pattern.

`parser` makes `nodes` of what Python's own parser understood (`columns` finds the places for its sentences), `nfa` and
`determinisation` make the automaton, `lookaround` where a pattern looks around; `regex` is the walk, with its limits.
"""
