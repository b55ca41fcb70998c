"""Regular languages by parallel chain of thought in ⌈log2 N⌉ steps.

Statement:    a regular language is decided by a parallel chain of thought with ⌈log2 N⌉ steps of ⌈N/2⌉ symbols
              (one per node, for monoids of at most 1,024 elements).
Construction: step t writes level t of the tree: row i the product of the entries 2i and 2i + 1 of the level before.
              A factor that does not exist is the row itself, which holds m, the identity. The very last row takes
              the root's factors and emits accept or reject.
Bounds:       T = ⌈log2 N⌉ (1 for N <= 1), P' = ⌈N/2⌉ (at least 1), P = T·P'; 2 layers; width O(log N).
Exactness:    for every N >= 0 and p >= 2.
"""

from unmask.programs.language.program import Program, Size
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.regular.products.elements import Products
from unmask.programs.regular.products.node import product_node
from unmask.programs.regular.tree import level_tree


def tree_levels(products: Products, vocabulary: Vocabulary, length: Size) -> Program:
    """The program of all steps."""
    return product_node(products, vocabulary, level_tree(length))
