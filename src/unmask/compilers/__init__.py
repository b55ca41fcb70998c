"""Problem → Model: one compiler per kind of problem, and in `compiler.py` the one place that chooses among them.

A compiler knows which program each kind of reasoner takes and what frame it runs in; `model.py` is what all share:
programs and a vocabulary come in, a `Model` goes out. Where a problem has one program for every N, that is a `Family`
(`family.py`, `every_length.py`), and a model is its member. `request.py` is what `compile` calls, `extent.py` counts.
"""
