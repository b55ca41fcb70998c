"""Gadgets: what one head or one MLP can compute, over named registers.

A gadget is a function that gets the head or the MLP that is being built and the columns that it works on. It adds
columns to the head or hidden units to the MLP.

    attention       which keys a head sees: EQ, LOOKUP, SELF, FOCUS, HIDE (hide a key), BOOST, AT MOST, LATEST
    mlp             NOR, AND, THRESH, ONEHOT, ARGMAX, GATE, SELECT, projection, decisions of a planner
    integers        binary addition, subtraction, comparison and shift by MLPs
    whole_layers    DETECT, EMPTY (does a head see anything?), overwriting without clipping, binary encoding
"""
