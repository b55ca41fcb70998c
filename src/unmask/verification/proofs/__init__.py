"""Network × specification → proved, refuted by a word, or unknown; with certificates that others can check.

`equivalence` is the walk: by `induction` over intervals of the word against an automaton (`pointwise`, state by state),
else by SAT `sweeping` over gates (`network_gates`, `clauses`). `specified`, `sides` and `recurrence_side` are what is
compared with; `certificate`, `induction_certificate` and `unit_propagation` write down, and check, what was found.
"""
