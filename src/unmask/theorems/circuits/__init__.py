"""Theorems whose other side is a circuit: in comes a `Model`, out goes a `Circuit` and a bound on its depth.

`cot_to_ac0` tries all chains of thought in parallel. The gates of a forward pass are those of `verification.circuits`.
"""
