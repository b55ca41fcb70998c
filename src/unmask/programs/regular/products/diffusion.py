"""Regular languages by masked diffusion in ⌈log2 N⌉ steps (thm:regular-languages-in-mdm-efficient).

Statement:    a regular language is decided by a masked diffusion model with ⌈log2 N⌉ steps and N slots; this is the
              layout with one slot per node, which the compiler takes for monoids of at most 1,024 elements.
Construction: a slot holds the product of a factor of the word, as a symbol. The predictor looks up the two
              factors of a slot and multiplies them; the planner chooses a masked slot as soon as both are written.
              The root emits accept or reject instead of its product.
Bounds:       T = ⌈log2 N⌉ (1 for N <= 1), P = N - 1 (1 for N <= 1); planner 1 layer, predictor 2; width O(log N).
Exactness:    for every N >= 0 and p >= 2. The planner chooses masked slots only: the same weights are an smdm.
Deviations:   the order of the leaves (see `regular.tree`); child addresses are absolute; the answer is emitted by
              the root itself, which saves a slot; m is embedded as the identity, so that N = 0 and N = 1 need no
              case of their own.
"""

from unmask.programs.language.program import Program, Size
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.planners.readiness import readiness_planner
from unmask.programs.regular.products.elements import Products
from unmask.programs.regular.products.node import product_node
from unmask.programs.regular.tree import queue_tree


def tree_planner(vocabulary: Vocabulary, length: Size) -> Program:
    """u = masked ∧ ¬(left factor masked) ∧ ¬(right factor masked)."""
    tree = queue_tree(length)
    return readiness_planner(vocabulary, length, tree.rows, tree.factors if tree.waits else ())


def tree_predictor(products: Products, vocabulary: Vocabulary, length: Size, *, own_slot: bool = False) -> Program:
    """The product of a slot's two factors, or accept/reject in the root."""
    return product_node(products, vocabulary, queue_tree(length), own_slot=own_slot)
