"""One row after another, compiled: a chain of thought whose every step reads one new row.

In come a causal transformer and the tokens of words; out go the symbols that follow, the argmax of the last row each
time. `layout` lays the weights out for the kernel, `kernel.c` computes rows, `compiled` makes it with the C compiler
at hand, `chain` learns which keys a query need not look at and hands the rows over. Without a compiler, and where the
kernel cannot finish, the engine does the same by NumPy.
"""
