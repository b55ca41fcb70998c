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
SECONDS = 20.0
PASSED, FAILED, EXPECTED, NOT_APPLICABLE = "passed", "failed", "expected failure", "not applicable"


@dataclass(frozen=True)
class CheckOutcome:
    """`status` is passed, failed, expected failure or not applicable; `message` says what was compared, or why not."""

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
        found = []
        for name in dict.fromkeys(outcome.check for outcome in self.outcomes):
            mine = [outcome for outcome in self.outcomes if outcome.check == name]
            by_status = {status: [o for o in mine if o.status == status] for status in (FAILED, EXPECTED, PASSED)}
            status = next((status for status, some in by_status.items() if some), NOT_APPLICABLE)
            some = by_status.get(status) or mine
            compared = len(mine) - sum(o.status == NOT_APPLICABLE for o in mine)
            count = f" ({len(some)} of {compared} models)" if status in (FAILED, EXPECTED) else ""
            count = f" ({len(some)} models)" if status == PASSED else count
            found.append((name, status + count, f"{some[0].model}: {some[0].message}"))
        return found

    def text(self) -> str:
        """Return the table as plain text."""
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"{name:{widths[0]}}  {status:{widths[1]}}  {message}" for name, status, message in rows]
        return "\n".join([f"checks of {self.sampler}", *lines, self.summary()])

    def summary(self) -> str:
        """One sentence."""
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
    known = {check.name: check for check in CHECKS}
    chosen = list(names)
    for name in chosen:
        if name not in known:
            raise BenchError(f"unknown check {name!r}; use {', '.join(known)}")
    return [known[name] for name in chosen]


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
    seconds: float = SECONDS,
    name: str | None = None,
) -> Report:
    """Run every check on every model; `seconds` limits each run of the sampler."""
    if not callable(generate):
        raise BenchError(f"a sampler is a function generate(model, tokenizer, input_ids, …), not {generate!r}")
    chosen, expected = named_checks(checks), dict(expected_failures or {})
    named_checks(expected)
    check_call(generate, options or {})
    check_values(generate, options or {}, effects or {}, equal or {})
    if not seconds > 0:
        raise BenchError(f"a run of the sampler needs a time limit above 0 seconds, not {seconds!r}")
    report = Report(name or getattr(generate, "__qualname__", type(generate).__name__))
    for model in models:
        trial = Trial(generate, model, options or {}, effects or {}, equal or {}, seconds)
        for check in chosen:
            report.outcomes.append(outcome_of(check, trial, expected.get(check.name)))
        report.runs += measured_runs(trial)
    return report


def measured_runs(trial: Trial) -> list[MeasuredRun]:
    """Measure passes and right slots at a few budgets, on the first word."""
    model, word, found = trial.model, trial.words[0], []
    for steps in sorted({model.slots, trial.half, model.least_passes, 1}, reverse=True):
        try:
            run = trial.run(word.ids, steps)
        except NotApplicable:
            continue
        if run.result is None:
            continue
        judged = word.values >= 0
        when = run.step_map()
        found.append(
            MeasuredRun(
                model.name,
                steps,
                run.passes,
                float(np.mean(run.slots[0][judged] == word.values[judged])),
                None if when is None else when[0].tolist(),
            )
        )
    return found


def function_named(text: str) -> Callable[..., Any]:
    """Load the function FILE.py:NAME or package.module:NAME."""
    where, _, name = text.rpartition(":")
    if not where or not name:
        raise BenchError(f"a sampler is named FILE.py:NAME or package.module:NAME, not {text!r}")
    try:
        module = _module_of_file(Path(where)) if where.endswith(".py") else _module_named(where)
        found = module
        for part in name.split("."):
            found = getattr(found, part)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:  # the user's file may raise anything
        reason = " ".join(str(error).split())[:200]
        raise BenchError(f"{text} cannot be loaded ({type(error).__name__}: {reason}); check the name") from None
    if not callable(found):
        raise BenchError(f"{text} is a {type(found).__name__}, not a function; name a function that fills masks")
    return found


def _module_named(name: str) -> Any:
    """Import a module, also from the current folder."""
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(here)


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
