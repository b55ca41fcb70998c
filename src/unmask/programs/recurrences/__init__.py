"""System of recurrences × N → programs: a row per slot, a head per read, an MLP that holds the rules.

`layout.py` gives slots their rows and codes, `regions.py` cuts groups into regions in which every read exists,
`symbols.py` names values, `features.py` says what a head brings, `tables.py` turns a rule into conjunctions, `plan.py`
puts these together. `node.py` writes what every row computes; `diffusion.py` and `looped.py` put it into a frame.
"""
