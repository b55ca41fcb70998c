"""Defects of diffusers 0.42.1 are found by one check each; the project's own samplers do as they are known to do."""
# ruff: noqa: ARG001

import numpy as np
import pytest

from unmask.bench import adapters
from unmask.bench.adapters import sampler_named
from unmask.bench.bench_folder import cached_models
from unmask.bench.run_checks import run_checks
from unmask.bench.user_function import user_function
from unmask.errors import UnmaskError

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def tree(bench_cache):
    return cached_models("tree-16")


def outcome(tree, sampler, check, **more):
    (found,) = run_checks(sampler, tree, checks=[check], **more).outcomes
    return found.status, found.message


@pytest.mark.parametrize(
    ("sampler", "check", "status", "message"),
    [
        ("fast-dllm:threshold=0.9", "least_passes", "passed", ""),
        ("fast-dllm:threshold=0.9", "within_budget", "failed", "15 passes with steps=8 where no slot is surer"),
        ("fast-dllm:threshold=0.9", "order", "passed", ""),
        ("llada", "order", "passed", ""),
        ("llada", "least_passes", "not applicable", "as many passes as it is given steps"),
        ("llada:remasking=random", "order", "failed", "masked"),
        ("eb", "order", "failed", "masked"),
        ("dream:alg=maskgit_plus", "follows_schedule", "failed", "wrote 2"),
        ("dream:alg=maskgit_plus,scheduler=linear", "follows_schedule", "passed", ""),
    ],
)
def test_named_samplers(tree, sampler, check, status, message):
    found = outcome(tree, sampler_named(sampler), check)
    assert found[0] == status, found
    assert message in found[1]


OFF = {"editing_threshold": (None, 0.0, -1.0)}  # values that turn editing off, says the scheduler's docstring
DEFECTS = [
    ("diffusers:LLaDA2Pipeline", "no_idle_pass", {}, "changes nothing"),
    ("diffusers:LLaDA2Pipeline", "editing", {}, "0 edits"),
    ("diffusers:LLaDA2Pipeline", "follows_schedule", {}, "1 per pass"),
    ("diffusers:BlockRefinementScheduler", "options_have_effect", {}, "minimal_topk"),
    ("diffusers:LLaDA2Pipeline:editing_threshold=0.5", "options_agree", {}, "editing_threshold=None and"),
    ("diffusers:BlockRefinementScheduler", "options_agree", {"equal": OFF}, "editing_threshold=None and"),
]


@pytest.mark.parametrize(("sampler", "check", "more", "message"), DEFECTS, ids="ABCDEF")
def test_a_defect_of_diffusers_is_found(tree, sampler, check, more, message):
    diffusers = pytest.importorskip("diffusers")
    if diffusers.__version__ != "0.42.1":
        pytest.skip("the defects are those of diffusers 0.42.1")
    status, found = outcome(tree, sampler_named(sampler), check, **more)
    assert status == "failed", found
    assert message in found


@pytest.mark.parametrize("sampler", ["diffusers:LLaDA2Pipeline", "diffusers:BlockRefinementScheduler"])
def test_values_of_diffusers_that_agree(tree, sampler):
    pytest.importorskip("diffusers")
    status, found = outcome(tree, sampler_named(sampler), "options_agree")
    assert status == "passed", found


def test_values_to_compare_are_options_of_the_sampler(tree):
    for more, message in (
        ({"equal": {"gamma": (1, 2)}}, "'gamma'"),
        ({"effects": {"threshold": (0.9,)}}, "give two values"),
        ({"equal": {"threshold": "ab"}}, "give two values"),
    ):
        with pytest.raises(UnmaskError, match=message):
            run_checks(sampler_named("llada2.1"), tree, **more)


def test_a_numpy_sampler(tree):
    def generate(model, tokenizer, input_ids, *, steps, mask_token_id):
        while (masked := input_ids == mask_token_id).any():
            logits = model(input_ids).logits
            logits[..., mask_token_id] = -np.inf
            sure = np.isclose(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1), 1) & masked
            if not sure.any():
                sure = np.cumsum(masked, -1) * masked == 1
            input_ids[sure] = logits.argmax(-1)[sure]
        return input_ids

    report = run_checks(adapters.numpy_sampler(generate), tree, checks=["terminates", "order", "least_passes"])
    assert report.ok, report.text()
    assert len({o.status for o in report.outcomes}) == 1


def test_a_published_loop_is_called_with_its_own_names(tree):
    def published(model, prompt, steps, gen_length, block_length, temperature, remasking, mask_id):
        import torch

        assert (temperature, remasking) == (0.0, "low_confidence")
        canvas = torch.full((len(prompt), gen_length), mask_id)
        x = torch.cat([prompt, canvas], dim=1)
        for _ in range(steps):
            with torch.no_grad():
                sure, best = model(x).logits.softmax(-1).max(-1)
            slot = torch.where(x == mask_id, sure, -1).argmax(-1)
            x[torch.arange(len(x)), slot] = best[torch.arange(len(x)), slot]
        return x

    report = run_checks(adapters.llada(published), tree, checks=["order", "within_budget", "batch_rows"])
    assert report.ok, report.text()
    assert "another word are the same" in report.outcomes[-1].message  # a partly filled canvas cannot be given


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(adapters, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(UnmaskError, match=r"needs torch; run `pip install 'unmask\[bench\]'`"):
        adapters.check_sampler("llada", "tree-16")
    with pytest.raises(UnmaskError, match="needs torch"):
        user_function("math:sqrt")
    (tmp_path / "mine.py").write_text("import not_installed\n")
    with pytest.raises(UnmaskError, match="; install not_installed"):
        sampler_named(f"{tmp_path}/mine.py:generate")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "named FILE.py:NAME"),
        ("missing.py:generate", "no such file: missing.py"),
        ("no_such_module:generate", "cannot be loaded (ModuleNotFoundError"),
        ("diffusers:Nothing", "diffusers has no"),
        ("diffusers:LLaDA2Pipeline:gamma=1", "has no parameter 'gamma=1'"),
        ("math:pi", "not a function"),
        ("llada:steps=x", "steps of llada"),
    ],
)
def test_a_wrong_name_is_one_message(name, message):
    if name.startswith("diffusers"):
        pytest.importorskip("diffusers")
    with pytest.raises(UnmaskError) as error:
        sampler_named(name)
    assert message in str(error.value)
