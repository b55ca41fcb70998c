"""Reachability → programs that square a matrix in place, by editing or by looping.

In comes a number of vertices, whose matrix is the word; out go the programs of ⌈log2 v⌉ rounds: `diffusion` edits its
canvas, `looped` its stream, `parts` is what both read and compute.
"""
