"""Does an export decide as the model does in F_p? Words, the passes of its own run, the order, and the margin.

A Model and a forward pass go in, what was measured comes out (`agreement`): on which `words`, over which passes of the
model's own run (`observed`), and in which `order` its slots are filled.
"""
