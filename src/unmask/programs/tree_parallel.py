"""Regular languages by parallel chain of thought in ⌈log2 N⌉ steps.

Statement:    a regular language is decided by a parallel chain of thought with ⌈log2 N⌉ steps of ⌈N/2⌉ symbols.
Construction: step t writes level t of the tree: row i the product of the entries 2i and 2i + 1 of the level before.
              A factor that does not exist is the row itself, which holds m, the identity. The very last row takes
              the root's factors and emits accept or reject.
Bounds:       T = ⌈log2 N⌉ (1 for N <= 1), P' = ⌈N/2⌉ (at least 1), P = T·P'; 2 layers; width O(log N).
Exactness:    for every N >= 0 and p >= 2.
"""

from unmask.programs.product_node import product_node
from unmask.programs.products import Products
from unmask.programs.program import Program
from unmask.programs.tree import level_child, level_room, level_width, tree_steps
from unmask.programs.vocabulary import Vocabulary


def tree_levels(products: Products, vocabulary: Vocabulary, length: int) -> Program:
    """The program of all steps."""
    steps = max(1, tree_steps(length))
    rows = length + steps * level_width(length)
    children = (level_child(length, steps, 0), level_child(length, steps, 1))
    return product_node(products, vocabulary, length, rows, children, waits=False, room=level_room(length, rows))
