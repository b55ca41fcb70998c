"""Array shapes and types as annotated, checked at run time by beartype over one small run of every kind.

The suite checks the cheap modules all the time (pyproject.toml); this also covers numbers and engines, in a
process of its own, because checking every call of theirs would make the suite three times as slow.
"""

import subprocess
import sys

PROGRAM = """
from jaxtyping import TypeCheckError, install_import_hook

packages = [f"unmask.{name}" for name in ("numerics", "weights", "engines", "reasoners", "traces", "testing")]
with install_import_hook(packages, "beartype.beartype"):
    import numpy as np
    from unmask.engines.reference import ReferenceEngine
    from unmask.api import ENGINES, run_word
    from unmask.testing import random_model
    from unmask.weights.model import KINDS

for kind in KINDS:
    model = random_model(1, kind, 2)
    for engine in ENGINES.values():
        for options in ({}, {"record": True}, {"sample": True, "seed": 1}):
            run_word(model, "ab", engine=engine(), **options)

session = ReferenceEngine().session(random_model(1, "cot", 2).transformers["model"])
for wrong in (np.zeros((1, 2)), np.zeros(2, dtype=np.int64)):
    try:
        session.embed(wrong)
    except TypeCheckError:
        print("refused")
"""


def test_every_kind_runs_with_checked_types_and_wrong_arrays_are_refused():
    """Floats, and one axis where there must be two."""
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120
    )
    assert completed.stderr == ""
    assert completed.stdout == "refused\nrefused\n"
