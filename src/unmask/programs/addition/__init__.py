"""Addition → programs that add in one step: a carry is what the last pair of equal bits says.

In comes a vocabulary; out go the planner and the predictor of every even N at once (`one_step`).
"""
