"""The loops over any medium: which operations they call, in which order; the three media implement all of them."""

import numpy as np
import pytest

from unmask.engines.reference import ReferenceEngine
from unmask.reasoners.array_medium import Arrays, RunSetup
from unmask.reasoners.loops import Medium, OutsidePlanner, canvases, masked_diffusion
from unmask.testing.random_model import random_model
from unmask.verification.circuits.constant_depth import WireMedium
from unmask.verification.circuits.one_hot import saturating_sum
from unmask.verification.words.extraction import TableMedium


class RecordingMedium:
    """A medium whose operations return their own names, and that records the calls."""

    def __init__(self, model):
        self.model, self.calls = model, []

    def __getattr__(self, name):
        def answer(*args, **_):
            transformer = [argument for argument in args if argument in ("planner", "predictor", "model")]
            self.calls.append(" ".join([name, *transformer]))
            return name

        return answer


def calls_of(model):
    medium = RecordingMedium(model)
    for _ in canvases(medium):
        pass
    return medium.calls


def topk(counting):
    models = (random_model(seed, "topk", 1) for seed in range(40))
    return next(model for model in models if (model.k is not None) == counting)


STEPS = {
    "mdm": ["read planner", "chosen_slots", "read predictor", "decode", "overwrite"],
    "smdm": ["read planner", "chosen_slots", "require_masked", "read predictor", "decode", "overwrite"],
    "cot": ["joined", "read model", "decode", "as_tokens", "joined"],
    "pcot": ["joined", "read model", "decode", "as_tokens", "joined"],
}


@pytest.mark.parametrize("kind", STEPS)
def test_what_a_step_asks_for(kind):
    model = random_model(3, kind, 2)
    before = ["copies"] if kind in ("mdm", "smdm") else ["copies", "copies"]
    assert calls_of(model) == before + STEPS[kind] * model.steps


@pytest.mark.parametrize(("counting", "rule"), [(True, "surest"), (False, "above_least")])
def test_a_topk_reads_once_and_chooses_by_confidence(counting, rule):
    model = topk(counting)
    assert calls_of(model) == ["copies", *["read model", rule, "decode", "overwrite"] * model.steps]


def test_a_looped_model_adds_noise_before_every_turn():
    model = random_model(3, "plt", 2, steps=3)
    assert calls_of(model) == [
        "copies",
        "embed",
        "layers",
        *["noisy", "layers"] * 3,
        "layers",
        "last_rows",
        "decode",
        "as_tokens",
    ]


def test_a_planner_from_outside_replaces_the_models_own_and_ends_the_run():
    medium = RecordingMedium(random_model(3, "smdm", 2))
    left = iter([True, True, False])
    outside = OutsidePlanner(goes_on=lambda _: next(left), choose=lambda step, *_: f"choice {step}")
    assert [choice for _, choice in masked_diffusion(medium, outside)] == ["choice 0", "choice 1"]
    assert medium.calls == ["copies", *["read predictor", "decode", "overwrite"] * 2]


def test_three_media():
    model = random_model(3, "mdm", 2, precision=1)
    words = np.zeros((1, 2), dtype=np.int64)
    media = (Arrays(RunSetup(model, words, ReferenceEngine())), TableMedium(model), WireMedium(model, saturating_sum))
    assert all(isinstance(medium, Medium) for medium in media)
    assert not isinstance(model, Medium)
