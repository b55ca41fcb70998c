"""mdm → smdm: block t is the canvas after step t, and no written slot is chosen again."""

from dataclasses import replace

import numpy as np
import pytest

from theorems.odd_sources import check_divisions, engine, odd_sources, peaked, wrong
from unmask.api import compile_problem, verify_model
from unmask.engines.reference import ReferenceEngine
from unmask.programs.gadgets.attention import hide
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.theorems import mdm_and_smdm as module
from unmask.theorems.conversion_checks import theorem_disagreements
from unmask.theorems.mdm_and_smdm import MDM_TO_SMDM
from unmask.theorems.theorem import Conversion
from unmask.weights.matrices import Matrix
from unmask.weights.model import Price


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_mdm_to_smdm_correct(precision):
    assert theorem_disagreements(MDM_TO_SMDM, range(12), precision=precision) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_any_source_is_converted(precision):
    assert wrong(MDM_TO_SMDM.convert, odd_sources(precision, range(3))) == 0


def test_the_conversion_divides_by_zero_where_the_source_does():
    divided, disagreements = check_divisions(MDM_TO_SMDM.convert, 2)
    assert (divided > 5, disagreements) == (True, [])


def test_every_step_writes_one_block_whole():
    source = random_model(5, "mdm", 2, steps=4, padding=3)
    model = MDM_TO_SMDM.convert(source).model
    trace = run(model, [0, 1], engine=ReferenceEngine())
    for t, chosen in enumerate(trace.chosen):
        assert np.flatnonzero(chosen).tolist() == list(range(3 * t, 3 * t + 3))
    assert "m" not in trace.output


def test_the_price_is_better_than_the_stated_one():
    for seed in range(20):
        source = random_model(seed, "mdm", 1)
        price = Price.of(MDM_TO_SMDM.convert(source).model)
        assert price == MDM_TO_SMDM.bound(source)
        assert price.layers <= Price.of(source).layers + 2
        assert (price.steps, price.padding) == (source.steps, source.steps * source.padding)


def test_the_proxy_takes_a_free_name_and_an_alias():
    source = random_model(0, "mdm", 1)
    assert MDM_TO_SMDM.convert(source).model.aliases == {"ĥ": "m"}
    renamed = replace(source, vocabulary=tuple("ĥ" if s == "b" else s for s in source.vocabulary), input_symbols=("a",))
    model = MDM_TO_SMDM.convert(replace(renamed, aliases={"ĥ": "a"})).model
    assert model.aliases == {"ĥ": "a", "<still-masked>": "m"}


def test_a_single_hide_is_caught(monkeypatch):
    monkeypatch.setattr(module, "hide", lambda *arguments: hide(*arguments, copies=1))
    assert wrong(MDM_TO_SMDM.convert, (random_model(seed, "mdm", 2, steps=3) for seed in range(30)), enough=4) > 3


def test_a_missing_boost_is_caught(monkeypatch):
    monkeypatch.setattr(module, "boost", lambda *_: None)
    sources = (peaked(random_model(seed, "mdm", 1, steps=4, padding=2), 3) for seed in range(30))
    assert any(wrong(MDM_TO_SMDM.convert, [source]) for source in sources)


def test_masks_without_a_proxy_are_caught():
    """A slot that is still masked is emitted as m, which the predictor cannot write."""

    def convert(source):
        conversion = MDM_TO_SMDM.convert(source)
        predictor = conversion.model.transformers["predictor"]
        out, proxy = predictor.out, len(source.vocabulary)
        rows = np.where(out.row == proxy, source.token["m"], out.row)[out.row != source.token["m"]]
        stays = out.row != source.token["m"]
        moved = Matrix.from_entries(out.shape, rows, out.column[stays], out.value[stays])
        transformers = {**conversion.model.transformers, "predictor": replace(predictor, out=moved)}
        return Conversion(replace(conversion.model, transformers=transformers), conversion.alignment)

    assert wrong(convert, (random_model(seed, "mdm", 2, steps=3) for seed in range(20)), enough=6) > 5


def test_a_compiled_language_survives():
    source = compile_problem("(ab)*", "mdm", length=16)
    verdict = verify_model(MDM_TO_SMDM.convert(source).model, method="sample", cases=40, engine=engine())
    assert verdict.status == "held", verdict
