"""A mask-dominated model is a masked diffusion model (app:editing-mdms).

Statement:    sMDM[T, P] ⊆ MDM[T, P].
Construction: the same weights; only the promise that no written slot is chosen is dropped.
Bounds:       T steps, P slots, the same layers.
Exactness:    the same run, sampled or not.
"""

import numpy as np

from unmask.theorems.theorem import Conversion, Price, Theorem, converted
from unmask.traces.alignment import Alignment, slots
from unmask.weights.model import Model


def bound(source: Model) -> Price:
    return Price.of(source)


def smdm_to_mdm(source: Model) -> Conversion:
    """The same model under the weaker name."""
    every = np.arange(source.padding)
    return Conversion(converted(source, "smdm_to_mdm", kind="mdm"), Alignment(slots(lambda _: every)))


THEOREM = Theorem("smdm_to_mdm", "app:editing-mdms", "smdm", "mdm", smdm_to_mdm, bound)
