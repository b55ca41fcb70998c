"""Circuits of AND and OR over literals.

`circuit` is the data type. `circuit_files` reads and writes AIGER and BLIF. `circuit_families` specifies every family,
by an oracle and a textbook circuit. `shallow_circuits` has the circuits that are compiled, five of which are printed by
machines (`printed_circuits`, `metered`).
"""
