"""Proofs about conversions, for every source of a shape and every N: `unmask prove theorem:STEM --every-length`.

The construction of a theorem is run on a source whose weights and sizes are names (`unknown`). What comes out is the
program that `convert` instantiates, and an interpreter runs it on rows whose columns hold numbers or names of the
source's own (`values`, `machine`); scores before a guard are all of F_p. Positions are for an SMT solver (`sizes`). One
file per theorem puts it together; `folders` compares with converted folders, entry by entry, and looks for refutations;
`prove` is the walk.
"""
