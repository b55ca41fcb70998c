"""Every check fails for the sampler with its planted fault, and for no other; right samplers pass all checks."""

import time

import faulty_samplers
import pytest

from unmask.bench.bench_folder import cached_models
from unmask.bench.checks import CHECKS
from unmask.bench.run_checks import FAILED, NOT_APPLICABLE, PASSED, run_checks

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


@pytest.mark.parametrize("fault", NAMES)
def test_a_planted_fault_fails_its_check_and_no_other(few, fault):
    report = run_checks(faulty_samplers.make(fault), few, seconds=5)
    assert {outcome.check for outcome in report.failures} == {fault}, report.text()


@pytest.mark.parametrize(
    ("generate", "message"),
    [
        (faulty_samplers.raises, "RuntimeError: no kernel for this device"),
        (faulty_samplers.wrong_shape, "expected token ids of shape"),
    ],
)
def test_what_a_sampler_raises_is_the_message_of_every_check(models, generate, message):
    report = run_checks(generate, models[:1])
    asked = [outcome for outcome in report.outcomes if outcome.status != NOT_APPLICABLE]
    assert asked
    assert all(outcome.status == FAILED and message in outcome.message for outcome in asked)


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


def test_a_changed_prompt_is_one_failure(models):
    report = run_checks(faulty_samplers.mutates, models[:1])
    assert [outcome.check for outcome in report.failures] == ["prompt_kept"], report.text()


def test_an_expected_failure_is_no_failure(models):
    known = {"order": "written first on purpose"}
    report = run_checks(faulty_samplers.make("order"), models[:2], checks=["order"], expected_failures=known)
    assert report.ok
    assert "written first on purpose" in report.text()
