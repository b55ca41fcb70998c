"""What one head or one MLP can do, over named registers: one name and one file for every gadget.

In come the head or the MLP that is being written and the columns it works on; the gadget adds columns or hidden units.

    what a head sees      equal (EQ), lookup (LOOKUP, SELF), focus (FOCUS), hide (HIDE), boost (BOOST), detection
    what an MLP computes  logic (NOR, AND), threshold (THRESH), argmax (ARGMAX), one_hot (ONEHOT), gate (GATE, SELECT),
                          projection, integers, decisions
    whole layers          buffers (overwrite without clipping), binary_encoding
"""
