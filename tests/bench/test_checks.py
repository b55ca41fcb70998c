"""Every check fails for the sampler with its planted fault, and for no other; right samplers pass all checks."""

import time

import faulty_samplers
import numpy as np
import pytest

from unmask.bench.bench_folder import cached_models
from unmask.bench.checks import CHECKS
from unmask.bench.observed_run import ModelCall, ObservedRun
from unmask.bench.run_checks import FAILED, NOT_APPLICABLE, PASSED, run_checks
from unmask.errors import UnmaskError

pytest.importorskip("transformers")
NAMES = [check.name for check in CHECKS]


@pytest.fixture(scope="module")
def models(bench_cache):  # noqa: ARG001
    return cached_models("quick")


@pytest.fixture(scope="module")
def few(models):
    """Models that between them show every fault: reversed, with rotary positions, in place."""
    return [model for model in models if model.name in ("tree-16-reversed", "regex-16", "in-place-12")]


def statuses(report):
    """check → the statuses of all models."""
    return {name: {o.status for o in report.outcomes if o.check == name} for name in NAMES}


def test_the_complete_sampler_passes_every_check(models):
    report = run_checks(faulty_samplers.complete, models)
    assert report.ok, report.text()
    assert all(PASSED in found for found in statuses(report).values()), report.text()


def test_a_sampler_without_options_passes_what_applies(models):
    report = run_checks(faulty_samplers.plain, models)
    assert report.ok, report.text()
    found = statuses(report)
    assert found["editing"] == {NOT_APPLICABLE}
    assert PASSED in found["order"]


SECOND_FAULTS = (
    "padding of the first row",
    "no_mask_left in the last block",
    "within_budget where no slot is sure",
    "follows_schedule in every pass",
    "no_idle_pass with a cache",
    "batch_rows in another order",
    "deterministic symbols",
)


@pytest.mark.parametrize("fault", [*NAMES, *SECOND_FAULTS])
def test_a_planted_fault_fails_its_check_and_no_other(few, fault):
    report = run_checks(faulty_samplers.make(fault), few, seconds=5)
    assert {outcome.check for outcome in report.failures} == {fault.split()[0]}, report.text()


@pytest.mark.parametrize(
    ("generate", "message"),
    [
        (faulty_samplers.raises, "RuntimeError: no kernel for this device"),
        (faulty_samplers.wrong_shape, "expected token ids of shape"),
        (faulty_samplers.leaves, "SystemExit: 0"),
        (faulty_samplers.changes_the_model, "generate changed the weights of the model"),
        (faulty_samplers.returning(lambda _: None), "generate returned NoneType; expected token ids"),
        (faulty_samplers.returning(lambda ids: ids.float()), "generate returned float32 of shape ["),
        (faulty_samplers.returning(lambda ids: ids.to("meta")), "generate returned Tensor on the device meta"),
        (faulty_samplers.returning(lambda _: [[1], [2, 3]]), "generate returned list; expected token ids"),
        (faulty_samplers.returning(lambda ids: (i for i in ids)), "generate returned generator"),
        (faulty_samplers.returning(lambda _: "text"), "generate returned <U4 of shape []"),
    ],
)
def test_what_a_sampler_raises_is_the_message_of_every_check(models, generate, message):
    report = run_checks(generate, models[:1], checks=["no_mask_left", "order", "batch_rows", "editing"])
    applicable = [outcome for outcome in report.outcomes if outcome.status != NOT_APPLICABLE]
    assert applicable
    assert all(outcome.status == FAILED and message in outcome.message for outcome in applicable)


@pytest.mark.parametrize(
    "generate", [faulty_samplers.never_calls, faulty_samplers.never_writes, faulty_samplers.swallows]
)
def test_a_sampler_that_never_stops_is_stopped(models, generate):
    report = run_checks(generate, models[:1], checks=["terminates", "order", "editing"], seconds=0.3)
    first, second, third = report.outcomes
    assert (first.status, second.status, third.status) == (FAILED, NOT_APPLICABLE, NOT_APPLICABLE)
    assert "stopped after" in first.message
    assert "see terminates" in second.message
    assert not report.ok


def test_after_a_time_out_the_other_runs_are_short(models):
    start = time.monotonic()
    report = run_checks(faulty_samplers.never_calls, models[:1], checks=["terminates", "order", "dtype"], seconds=3.5)
    assert time.monotonic() - start < 3.5 + 4 * 2.5
    assert "after 3.5 seconds" in report.outcomes[0].message
    assert "(see terminates)" in report.outcomes[1].message


@pytest.mark.parametrize("token", [10**6, -5])
def test_a_token_that_the_model_does_not_have_is_named(models, token):
    strange = faulty_samplers.returning(lambda ids: ids * 0 + token)
    report = run_checks(strange, models[:1], checks=["no_shift"])
    assert f"was written the unknown token {token}" in report.outcomes[0].message


@pytest.mark.parametrize("more", [None, 7, "map", [[1, 2]], [[[1]], [[2, 3]]], {"a": 1}])
def test_something_else_beside_the_ids_is_not_a_step_map(models, more):
    strange = faulty_samplers.returning(lambda ids: (ids, more))
    (outcome,) = run_checks(strange, models[:1], checks=["step_map_is_true"]).outcomes
    assert (outcome.status, outcome.message) == (
        NOT_APPLICABLE,
        "generate returns neither a step map [batch, slots] nor histories",
    )


def test_a_function_that_cannot_be_called_is_refused_once(models):
    with pytest.raises(UnmaskError, match=r"cannot be called as generate\(model, .*: too many positional arguments"):
        run_checks(lambda _, prompt: prompt, models[:1])
    with pytest.raises(UnmaskError, match=r"cannot be called as .*'threshold'"):
        run_checks(faulty_samplers.plain, models[:1], options={"threshold": 1})
    with pytest.raises(UnmaskError, match="the bench itself passes steps"):
        run_checks(faulty_samplers.plain, models[:1], options={"steps": 1})
    with pytest.raises(UnmaskError, match="above 0 seconds"):
        run_checks(faulty_samplers.plain, models[:1], seconds=0)


def test_a_changed_prompt_is_one_failure(models):
    report = run_checks(faulty_samplers.mutates, models[:1])
    assert [outcome.check for outcome in report.failures] == ["prompt_kept"], report.text()


def test_an_expected_failure_is_no_failure(models):
    known = {"order": "written first on purpose"}
    report = run_checks(faulty_samplers.make("order"), models[:2], checks=["order"], expected_failures=known)
    assert report.ok
    assert "written first on purpose" in report.text()


def test_row_i_of_a_shifted_model_predicts_row_i_plus_1():
    start, predicted = np.array([[5, 5, 9, 9]]), np.array([[1, 2, 3, 4]])
    call = ModelCall(start, predicted, np.ones((1, 4)))
    plain, shifted = (ObservedRun(start, 2, 9, shifted, [call]).predictions(1)[0].tolist() for shifted in (False, True))
    assert (plain, shifted) == ([[3, 4]], [[2, 3]])
