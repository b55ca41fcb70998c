"""Gadgets: functions that one head or one MLP computes, over named registers.

A gadget is a function of the head or MLP under construction and of the columns that it uses. It adds columns to the
head or hidden units to the MLP.

    attention       the keys that a head sees: EQ, LOOKUP, SELF, FOCUS, HIDE (hide a key), BOOST, AT MOST, LATEST
    mlp             NOR, AND, THRESH, ONEHOT, ARGMAX, GATE, SELECT, projection, decisions of a planner
    integers        binary addition, subtraction, comparison and shift by MLPs
    whole_layers    DETECT, EMPTY ([a head sees no key]), overwriting without clipping, binary encoding
"""
