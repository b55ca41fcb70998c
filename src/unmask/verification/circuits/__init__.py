"""Models as circuits of AND, OR and NOT that have constant depth per step.

`constant_depth` leaves out every gate that is not needed. `printed_extraction` keeps all gates, so that a machine with
logarithmic space can print the circuit. `one_hot` has the numbers of F_p as wires. `unmask extract` writes a smaller
circuit, of any depth (`verification/words/deciders`).
"""
