"""pytest plugin: `pytest --unmask-sampler pkg.module:generate` runs every check as a test item.

In a test file: the fixture `unmask_model(name)`, and `@parametrize_with_checks(generate)`. No other module of unmask is
imported until one of the three is used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("unmask", "test bench of unmask")
    group.addoption(
        "--unmask-sampler",
        metavar="NAME",
        help="check this sampler: FILE.py:NAME, package.module:NAME, or a name of `unmask samplers`",
    )
    group.addoption(
        "--unmask-models",
        metavar="SET",
        default="quick",
        help="quick (default), full, names of `unmask bench list` separated by commas, or a bench folder",
    )


@pytest.fixture(scope="session")
def unmask_model() -> Callable[[str], Any]:
    """Return a function from a name to its reference model, with `module()`, `tokenizer` and `words`."""
    from unmask.bench.bench_folder import cached_models

    loaded: dict[str, Any] = {}

    def model(name: str) -> Any:
        if name not in loaded:
            (loaded[name],) = cached_models(name)
        return loaded[name]

    return model


def parametrize_with_checks(
    generate: Callable[..., Any] | str,
    models: str = "quick",
    *,
    effects: Mapping[str, tuple[Any, Any]] | None = None,
    equal: Mapping[str, Sequence[Any]] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """Decorate `def test_sampler(unmask_check): unmask_check()` to get one test item for each check and model.

    `expected_failures` maps checks to reasons; these items are reported as xfailed. `options` are passed to every call.
    `effects` and `equal` are those of `check_sampler`.
    """
    cases = list(_cases(generate, models, expected_failures or {}, options, effects or {}, equal or {}))
    return pytest.mark.parametrize("unmask_check", [case for _, case in cases], ids=[name for name, _ in cases])


def _cases(
    generate: Callable[..., Any] | str,
    models: str,
    expected: Mapping[str, str],
    options: dict[str, Any],
    effects: Mapping[str, tuple[Any, Any]],
    equal: Mapping[str, Sequence[Any]],
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Return (id, function that runs one check on one model); a model is built when its first item runs."""
    from unmask.bench.adapters import sampler_named
    from unmask.bench.bench_folder import cached_models, model_names
    from unmask.bench.run_checks import EXPECTED, FAILED, NOT_APPLICABLE, named_checks, outcome_of
    from unmask.bench.trial import Trial, check_call, check_values
    from unmask.errors import UnmaskError

    function = sampler_named(generate) if isinstance(generate, str) else generate
    named_checks(expected)
    check_call(function, options)
    check_values(function, options, effects, equal)
    trials: dict[str, Trial] = {}

    def run_check(check: Any, name: str) -> None:
        try:
            if name not in trials:
                (model,) = cached_models(name)
                trials[name] = Trial(function, model, options, effects, equal)
            outcome = outcome_of(check, trials[name], expected.get(check.name))
        except UnmaskError as error:
            pytest.fail(str(error), pytrace=False)
        if outcome.status == NOT_APPLICABLE:
            pytest.skip(outcome.message)
        if outcome.status == EXPECTED:
            pytest.xfail(outcome.message)
        if outcome.status == FAILED:
            pytest.fail(
                f"{check.name} on {outcome.model}: {outcome.message}\nbugs of this class: {check.bugs}", pytrace=False
            )

    for name in model_names(models):
        for check in named_checks(None):
            yield f"{check.name}[{name}]", lambda check=check, name=name: run_check(check, name)


class CheckItem(pytest.Item):
    """A test item that was requested on the command line: one check on one model."""

    case: Callable[[], None]

    def runtest(self) -> None:
        self.case()

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name


class CheckCollector(pytest.Collector):
    """Collector of all checks for the sampler that the command line names."""

    cases: list[tuple[str, Callable[[], None]]]

    def collect(self) -> Iterator[pytest.Item]:
        for name, case in self.cases:
            item = CheckItem.from_parent(self, name=name)
            item.case = case
            yield item


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Append the checks to the items that pytest collects, before -k and -m select."""
    sampler, models = (session.config.getoption(f"--unmask-{option}") for option in ("sampler", "models"))
    if not sampler:
        return
    from unmask.errors import UnmaskError

    collector = CheckCollector.from_parent(session, name="unmask", nodeid="unmask")
    try:
        collector.cases = list(_cases(sampler, models, {}, {}, {}, {}))
    except UnmaskError as error:
        raise pytest.UsageError(str(error)) from None
    report = session.ihook.pytest_make_collect_report(collector=collector)
    session.ihook.pytest_collectreport(report=report)  # counts the items
    items.extend(item for item in report.result if isinstance(item, pytest.Item))
