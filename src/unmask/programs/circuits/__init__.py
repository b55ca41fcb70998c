"""Circuit → systems of recurrences: gates of one depth in one step, or one gate after the other.

A circuit goes in (`by_depth`, `chain`), or the name of a family that is one recurrence for every N (`uniform`); a
system comes out. `recurrences/` makes programs of it: its masked diffusion, its loop (`recurrences/looped.py`) and its
strings.
"""
