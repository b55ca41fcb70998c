"""Circuits of AND and OR over literals.

`circuit` is the data type. `circuit_files` reads and writes AIGER and BLIF. `circuit_families` has a circuit of low
depth for every family and length. `textbook_circuits` has the plain circuits that proofs compare them with; the two
modules share no code.
"""
