"""What a run depends on, as JSON: its `config`, and the `shape` of its network.

In comes a file or a preset's object, out a frozen `Config`, or one sentence about the key that is wrong. A folder of a
run keeps it beside the weights, and a cell of a table is named by its hash.
"""
