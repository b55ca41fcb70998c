"""What programs are written in: a `Program` of named registers comes out of these words, weights out of `assemble`.

`positions.py` holds expressions in (n, N), `declarations.py` how a register holds one, `coefficients.py` the numbers by
name, `builders.py` heads and MLPs, `vocabulary.py` symbols. A program is of one N or of every N; `instance.py` is the
only way from the latter to the former. `assemble.py` is the only way from a program to weights, and `size.py`, which it
asks first, the place that refuses a program for its size. `recording.py` keeps what was assembled, for `uniformity.py`
to judge.
"""
