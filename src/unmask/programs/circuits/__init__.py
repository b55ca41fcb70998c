"""Circuit → systems of recurrences: gates of one depth in one step, or one gate after the other.

`recurrences/` makes programs of them, for masked diffusion and for the loop alike.
"""
