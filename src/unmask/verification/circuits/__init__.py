"""Models as circuits of AND, OR and NOT: small (`extracted`), or of constant depth per step (`constant_depth`).

`one_hot` has the numbers of F_p as wires.
"""
