"""The checks behind the items of the paper: each runs something, and can fail.

Effort → Evidence: a check gets an Effort, by which it divides its cases, and returns a method in words and a number of
cases; what fails raises (`evidence`). The other modules are named after what they check: numbers, gadgets, frameworks,
conversions, circuits, problems, space, and our own results. `unmask paper ITEM --check` runs the check of one item.
"""
