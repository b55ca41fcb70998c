"""Sampler × loaded models × checks → Report: one outcome per check and model, as a table and as JSON.

This file uses nothing of unmask besides the bench: `check.py` of a bench folder contains it as it is.
"""

import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unmask.bench import comparison_checks  # noqa: F401  (registers its checks)
from unmask.bench.checks import CHECKS, SamplerCheck
from unmask.bench.loaded_model import BenchError, LoadedModel
from unmask.bench.observed_run import NotApplicable
from unmask.bench.trial import CheckFailed, Trial, check_call, check_values

REPORT_FORMAT = "unmask-bench-report/1"
SECONDS_PER_RUN = 20.0
PASSED, FAILED, EXPECTED, NOT_APPLICABLE = "passed", "failed", "expected failure", "not applicable"


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one check on one model.

    `status` is passed, failed, expected failure or not applicable; `message` says what was compared, or why not.
    """

    check: str
    model: str
    status: str
    message: str
    seconds: float


@dataclass(frozen=True)
class MeasuredRun:
    """One word of a model at one budget: the passes, the share of right slots, and the pass that wrote each slot."""

    model: str
    steps: int
    passes: int
    right: float
    step_map: list[int] | None


@dataclass(eq=False)
class Report:
    """The result of a run; `ok` if no check failed and at least one passed."""

    sampler: str
    outcomes: list[CheckOutcome] = field(default_factory=list)
    runs: list[MeasuredRun] = field(default_factory=list)

    @property
    def failures(self) -> list[CheckOutcome]:
        return [outcome for outcome in self.outcomes if outcome.status == FAILED]

    @property
    def ok(self) -> bool:
        return not self.failures and any(outcome.status == PASSED for outcome in self.outcomes)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (check, status over all models, first failure or reason)."""
        rows = []
        for name in dict.fromkeys(outcome.check for outcome in self.outcomes):
            outcomes = [outcome for outcome in self.outcomes if outcome.check == name]
            by_status = {
                status: [outcome for outcome in outcomes if outcome.status == status]
                for status in (FAILED, EXPECTED, PASSED)
            }
            status = next((status for status, shown in by_status.items() if shown), NOT_APPLICABLE)
            shown = by_status.get(status) or outcomes
            compared = len(outcomes) - sum(outcome.status == NOT_APPLICABLE for outcome in outcomes)
            count = f" ({len(shown)} of {compared} models)" if status in (FAILED, EXPECTED) else ""
            count = f" ({len(shown)} models)" if status == PASSED else count
            rows.append((name, status + count, f"{shown[0].model}: {shown[0].message}"))
        return rows

    def text(self) -> str:
        """Return the table as plain text."""
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"{name:{widths[0]}}  {status:{widths[1]}}  {message}" for name, status, message in rows]
        return "\n".join([f"checks of {self.sampler}", *lines, self.summary()])

    def summary(self) -> str:
        """Return the numbers of checks by status, as one line."""
        counts = {status: sum(row[1].startswith(status) for row in self.rows()) for status in (PASSED, FAILED)}
        rest = len(self.rows()) - sum(counts.values())
        return f"{counts[PASSED]} checks passed, {counts[FAILED]} failed, {rest} not applicable or expected to fail"

    def to_json(self) -> dict[str, Any]:
        return {
            "format": REPORT_FORMAT,
            "sampler": self.sampler,
            "ok": self.ok,
            "outcomes": [asdict(outcome) for outcome in self.outcomes],
            "runs": [asdict(run) for run in self.runs],
        }


def named_checks(names: Iterable[str] | None) -> list[SamplerCheck]:
    """Return the checks of these names; all checks if there are no names."""
    if names is None:
        return list(CHECKS)
    by_name = {check.name: check for check in CHECKS}
    requested = list(names)
    for name in requested:
        if name not in by_name:
            raise BenchError(f"unknown check {name!r}; use {', '.join(by_name)}")
    return [by_name[name] for name in requested]


def outcome_of(check: SamplerCheck, trial: Trial, reason: str | None = None) -> CheckOutcome:
    """Run one check; `reason` says why it is expected to fail."""
    start = time.monotonic()
    try:
        status, message = PASSED, check.function(trial)
    except NotApplicable as why:
        status, message = NOT_APPLICABLE, str(why)
    except CheckFailed as why:
        status, message = (FAILED, str(why)) if reason is None else (EXPECTED, f"{why} (expected: {reason})")
    return CheckOutcome(check.name, trial.model.name, status, message, round(time.monotonic() - start, 3))


def run_checks(
    generate: Callable[..., Any],
    models: Sequence[LoadedModel],
    *,
    checks: Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
    effects: Mapping[str, tuple[Any, Any]] | None = None,
    equal: Mapping[str, Sequence[Any]] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    seconds: float = SECONDS_PER_RUN,
    name: str | None = None,
) -> Report:
    """Run every check on every model; `seconds` limits each run of the sampler."""
    if not callable(generate):
        raise BenchError(f"a sampler is a function generate(model, tokenizer, input_ids, …), not {generate!r}")
    selected, expected = named_checks(checks), dict(expected_failures or {})
    named_checks(expected)
    check_call(generate, options or {})
    check_values(generate, options or {}, effects or {}, equal or {})
    if not seconds > 0:
        raise BenchError(f"a run of the sampler needs a time limit above 0 seconds, not {seconds!r}")
    report = Report(name or getattr(generate, "__qualname__", type(generate).__name__))
    for model in models:
        trial = Trial(generate, model, options or {}, effects or {}, equal or {}, seconds)
        for check in selected:
            report.outcomes.append(outcome_of(check, trial, expected.get(check.name)))
        report.runs += measured_runs(trial)
    return report


def measured_runs(trial: Trial) -> list[MeasuredRun]:
    """Measure passes and right slots at a few budgets, on the first word."""
    model, word, measured = trial.model, trial.words[0], []
    for steps in sorted({model.slots, trial.half, model.least_passes, 1}, reverse=True):
        try:
            run = trial.run(word.ids, steps)
        except NotApplicable:
            continue
        if run.result is None:
            continue
        judged = word.values >= 0
        when = run.step_map()
        measured.append(
            MeasuredRun(
                model.name,
                steps,
                run.passes,
                float(np.mean(run.slots[0][judged] == word.values[judged])),
                None if when is None else when[0].tolist(),
            )
        )
    return measured


def function_named(text: str) -> Callable[..., Any]:
    """Load the function FILE.py:NAME or package.module:NAME."""
    module_name, _, name = text.rpartition(":")
    if not module_name or not name:
        raise BenchError(f"a sampler is named FILE.py:NAME or package.module:NAME, not {text!r}")
    try:
        module = _module_of_file(Path(module_name)) if module_name.endswith(".py") else _module_named(module_name)
        function = module
        for attribute in name.split("."):
            function = getattr(function, attribute)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:  # the user's file may raise anything
        reason = " ".join(str(error).split())[:200]
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        advice = f"install {missing}" if missing and not module_name.startswith(missing) else "check the name"
        raise BenchError(f"{text} cannot be loaded ({type(error).__name__}: {reason}); {advice}") from None
    if not callable(function):
        raise BenchError(f"{text} is a {type(function).__name__}, not a function; name a function that fills masks")
    return function


def _module_named(name: str) -> Any:
    """Import a module, also from the current folder."""
    folder = str(Path.cwd())
    sys.path.append(folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def _module_of_file(path: Path) -> Any:
    if not path.is_file():
        raise BenchError(f"no such file: {path}; check the path")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
