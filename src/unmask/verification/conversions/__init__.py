"""Proofs about conversions, for every source of a shape and every N: `unmask prove theorem:STEM --every-length`.

The construction of a theorem is run on a source whose weights and sizes are names (`unknown`). What comes out is the
program that `convert` instantiates. `simulated` finds the source's layers in it, `machine` runs the rest on rows whose
columns hold numbers or names of the source's own (`values`); scores before a guard are all of F_p. Positions are for an
SMT solver, with the sizes of `claim`. One file per theorem puts it together (`blocks` is the layout of one of them);
`folders` compares with converted folders, entry by entry, and looks for refutations; `prove` is the walk.
"""
