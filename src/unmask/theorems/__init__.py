"""Weights to weights: one file per theorem that relates two frameworks, under the theorem's stem.

In comes a `Model` of one kind, or a `Transformer`; out goes a `Conversion`: the model of the other kind, and an
`Alignment` that says where it holds every state of its source. Each file offers a `THEOREM` with its label, its
converter and the most that the result may use (`Price`). `catalogue.py` lists them all, `route.py` finds the way from
kind to kind, and `checking/` runs random models through a converter; `circuits/` holds those that end in a circuit.
Converters write a `Program` around their source (`programs.simulation`) and `assemble` it; nothing here makes weights
of its own.
"""
