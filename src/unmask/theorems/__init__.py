"""Model of one kind → model of another kind: one file per theorem that relates two frameworks.

A file is named after the kinds that it relates, such as `mdm_to_plt`; the ending of a variant says how it differs.

A converter takes a `Model` of one kind and returns a `Conversion`: the model of the other kind, and an `Alignment` that
says where this model stores each state of its source. A few converters take a single `Transformer`
(`causal_and_unmasked`). Each file defines a `Theorem`: the label in the paper, the converter, and a bound on the size
of its result (`Price`). `all_theorems` lists the theorems and finds the shortest route between two kinds.
`conversion_checks` compares random models with their conversions. `cot_to_ac0` returns circuits, and `mdm_speed_up`
runs several steps in one pass.

A converter writes a `Program` around the layers of its source (`programs.simulation`) and assembles it.
"""
