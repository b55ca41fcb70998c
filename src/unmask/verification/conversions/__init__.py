"""Proofs about conversions, for every source of a shape and every N: `unmask prove theorem:STEM`.

`prove_conversions` is the entry point. The construction of a theorem is run on an `unknown_source`, whose weights and
sizes are names. The result is the program that `convert` instantiates. `machine` executes it on rows whose columns hold
numbers or names. `cot_to_pcot` and `mdm_to_smdm` list the obligations of a theorem each. `converted_folders` compares
the program with converted model folders, entry by entry, and searches for refutations.
"""
