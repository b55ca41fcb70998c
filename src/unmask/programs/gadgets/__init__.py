"""What one head or one MLP can do, over named registers: one name for every gadget.

In come the head or the MLP that is being written and the columns it works on; the gadget adds columns or hidden units.

    attention      what a head sees: EQ, LOOKUP, SELF, FOCUS, HIDE, BOOST, AT MOST, LATEST
    mlp            what an MLP computes: NOR, AND, THRESH, ONEHOT, ARGMAX, GATE, SELECT, PROJECT, decisions
    integers       numbers in binary: add, subtract, compare, shift
    whole_layers   a head and an MLP together: DETECT, EMPTY, overwrite without clipping, binary encoding
"""
