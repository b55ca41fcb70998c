"""The fast engine gives the integers of the reference for converted models, and for circuits."""

import pytest

from all_conversions import CONVERSIONS
from engines.agreement import assert_same_run
from unmask.api import compile_problem
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.testing import random_model
from unmask.testing.random_model import all_words


@pytest.mark.parametrize("theorem", CONVERSIONS)
def test_converted_models(theorem):
    compared = 0
    for seed in range(2 if theorem.stem == "pcot_to_mdm_mirrored" else 3):
        source = random_model(seed, theorem.source, 1, padding=1, steps=2, layers=1, width=3)
        try:
            model = theorem.convert(source).model
        except UnmaskError:  # a topk model with a fixed k below P
            continue
        assert_same_run(model, all_words(model)[:2], FastEngine(), ReferenceEngine())
        compared += 1
    assert compared


@pytest.mark.parametrize("kind", ["mdm", "smdm", "plt", "cot"])
def test_circuits(kind):
    model = compile_problem("family:parity", kind, length=4)
    assert_same_run(model, all_words(model)[::5], FastEngine(), ReferenceEngine())
