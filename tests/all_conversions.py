"""Every conversion as a parameter of a test; those with many heads and layers are marked as long."""

import pytest

from unmask.theorems.all_theorems import THEOREMS, VARIANTS

SLOW = ("pcot_to_mdm_mirrored", "cot_to_mdm_mirrored", "pcot_to_cot_hosted")
CONVERSIONS = [
    pytest.param(theorem, id=theorem.stem, marks=[pytest.mark.long] if theorem.stem in SLOW else [])
    for theorem in (*THEOREMS, *VARIANTS)
]
