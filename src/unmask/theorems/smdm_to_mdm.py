"""A mask-dominated model is a masked diffusion model (app:editing-mdms).

Statement:    sMDM[T, P] ⊆ MDM[T, P].
Construction: the same weights; only the promise that no written slot is chosen is dropped.
Bounds:       T steps, P slots, the same layers.
Exactness:    the same run, sampled or not.
"""

import numpy as np

from unmask.theorems.alignment import Alignment, slots
from unmask.theorems.size import Size
from unmask.theorems.theorem import Conversion, Theorem, converted
from unmask.weights.model import Model
from unmask.weights.price import Price


def bound(source: Size) -> Price:
    width = max(t.width for t in source.transformers.values())
    return Price(source.steps, source.padding, source.layers, width, source.symbols)


def smdm_to_mdm(source: Model) -> Conversion:
    """The same model under the weaker name."""
    every = np.arange(source.padding)
    return Conversion(converted(source, "smdm_to_mdm", kind="mdm"), Alignment(slots(lambda _: every)))


THEOREM = Theorem("smdm_to_mdm", "app:editing-mdms", "smdm", "mdm", smdm_to_mdm, bound)
