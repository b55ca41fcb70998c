"""Arithmetic expression → programs: a step evaluates every operator whose operands stand.

In come the tree of an expression and the values of its nodes (`problems/expressions`); `plan` says where
slots stand and what they read, `symbols` what they hold, `parts` how they fetch and rewrite; `node` is the program of
masked diffusion and of chains, `looped` that of a loop.
"""
