"""Decided slots are exactly equal: the largest probability is 1.0 in every form, and at most 0.6 where F_p ties."""

import numpy as np
import pytest

from unmask.api import compile_problem
from unmask.export.agreement import decisions, logit_scale, mask_of, observe_passes, words_to_compare
from unmask.samplers.predictors import CompiledPredictor

PROBLEMS = {
    "group:A5": 8,
    "(a|b)*abb": 9,
    "[a-c]+[01]*": 5,
    "cfg:examples/grammars/dyck2.cfg": 4,
    "program:examples/programs/edit_distance.py": 4,
    "program:examples/programs/prefix_scan.py": 4,
    "family:majority": 3,
}
GRAMMAR, REWRITES = "cfg:examples/grammars/dyck2.cfg", "program:examples/programs/prefix_scan.py"
REFUSED = {
    (REWRITES, "plt", "albert", False),  # a layer around the loop
    (REWRITES, "cot", "gpt2", False),  # it does not compile to cot
    ("group:A5", "plt", "albert", False),  # it works, but takes long
}
FORMS = [
    ("mdm", "bert", False),
    ("mdm", "torch", False),
    ("mdm", "torch", True),
    ("mdm", "onnx", False),
    ("mdm", "onnx", True),
    ("plt", "albert", False),
    ("cot", "gpt2", False),
]


def tops(logits, kind):
    """The largest probability of every row, by a softmax in this type."""
    powers = np.exp(logits.astype(kind) - logits.max(axis=-1, keepdims=True).astype(kind))
    return (powers / powers.sum(axis=-1, keepdims=True, dtype=kind)).max(axis=-1)


@pytest.mark.parametrize(
    ("problem", "kind", "form", "exact"),
    [(problem, *form) for problem in PROBLEMS for form in FORMS if (problem, *form) not in REFUSED],
)
def test_decided_rows_have_the_probability_one_in_every_form(problem, kind, form, exact, exported, outside):
    model, folder, report = exported(problem, kind, form, length=PROBLEMS[problem], exact=exact)
    transformer_name = "predictor" if kind == "mdm" else "model"
    mask = mask_of(model, transformer_name)
    for observed in observe_passes(model, transformer_name, words_to_compare(model, 6))[: 2 if exact else 4]:
        clear = decisions(observed.logits, mask).clear
        arguments = {"inputs": observed.tokens.tolist(), "part": transformer_name, "mask": mask, "loops": model.steps}
        probabilities = outside("top_probabilities", folder=folder, form=form, **arguments)
        for softmax, rows in probabilities.items():
            largest = np.array(rows)[:, observed.rows[0] : observed.rows[1]]
            assert (largest[clear] == 1.0).all(), (softmax, largest[clear].min())
            assert (largest[~clear] < 0.6).all(), (softmax, largest[~clear].max())
    assert report["logit_scale"] >= 1


@pytest.mark.parametrize(
    ("problem", "kind"),
    [*((problem, "mdm") for problem in PROBLEMS), ("group:A5", "topk"), ("(a|b)*abb", "topk"), (GRAMMAR, "topk")],
)
def test_decided_slots_of_the_compiled_predictor_are_equal(problem, kind):
    model = compile_problem(problem, kind, length=PROBLEMS[problem])
    transformer_name = "predictor" if kind == "mdm" else "model"
    words = words_to_compare(model, 6)
    predictor = CompiledPredictor(model, words)
    decided = 0
    for observed in observe_passes(model, transformer_name, words):
        if len(observed.tokens) != len(words):
            continue
        clear = decisions(observed.logits, predictor.mask_id).clear
        logits = predictor.logits(observed.tokens[:, -model.padding :])
        decided += int(clear.sum())
        for softmax in (np.float32, np.float64):
            largest = tops(logits, softmax)
            assert (largest[clear] == 1.0).all()
            assert (largest[~clear] <= 0.5).all()
    assert decided > 10


def test_a_smaller_scale_is_noticed(exported):
    """With a quarter of the scale the same rows have other probabilities in the last digits."""
    model, _, _ = exported("group:A5", "mdm", "torch", length=8)
    words = words_to_compare(model, 6)
    passes = observe_passes(model, "predictor", words)
    scale = logit_scale(passes, model, "predictor")
    observed = passes[0]
    clear = decisions(observed.logits, mask_of(model, "predictor")).clear
    logits = np.delete(observed.logits, mask_of(model, "predictor"), axis=-1)[clear] / model.precision.one
    assert (tops(logits * scale, np.float64) == 1.0).all()
    assert (tops(logits * scale / 4, np.float64) < 1.0).all()
