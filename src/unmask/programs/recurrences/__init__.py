"""System of recurrences × N → programs: a row per slot, a head per read, an MLP that holds the rules.

`layout.py` and `rows.py` give slots their rows and codes, `regions.py` cuts groups into regions in which every read
exists, `symbols.py` names values, `features.py` and `given.py` say what heads bring, `tables.py` turns a rule into
conjunctions, `plan.py` puts these together for one N, and `every.py` for all of them, where positions are formulas
(`formulas.py`, `affine.py`). `node.py` writes what every row computes; `diffusion.py`, `looped.py` and `strings.py` (in
the order of `placement.py`) put it into a frame.
"""
