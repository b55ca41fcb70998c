"""Weights to weights: one file per theorem that relates two frameworks, under the theorem's stem.

A converter gets a `Model` of one kind, or a `Transformer`, and returns a `Conversion`: the model of the other kind, and
an `Alignment` that says where it holds every state of its source. Each file defines a `Theorem` with its label, its
converter and the most that the result may use (`Price`). `all_theorems` lists them all and finds the shortest route
from kind to kind. `conversion_checks` runs random models through a converter. `causal_and_unmasked` is about attention,
`cot_to_ac0` about circuits, `mdm_speed_up` about several steps in one pass.

Converters write a `Program` around their source (`programs.simulation`) and assemble it.
"""
