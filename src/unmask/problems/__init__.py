"""What is to be computed, without numbers or tensors: PROBLEM string → Problem.

`problem.py` is the protocol: what every problem offers to the rest of the package. Each kind of problem is one file
here (`regex.py`, `dfa.py`, `group.py`, `circuit.py`, `family.py`, `expression.py`, `grammar.py`, `program.py`,
`law.py`, `random.py`) and one row for each of its prefixes in `catalogue.py`. The rooms hold what several kinds are
made of: `automata/`, `regexes/`, `circuits/`, `expressions/`, `grammars/`.
"""
