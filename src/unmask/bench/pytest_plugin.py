"""pytest plugin: `pytest --unmask-sampler pkg.module:generate` runs every check as a test item.

In a test file: the fixture `unmask_model(name)`, and `@parametrize_with_checks(generate)`. Nothing of unmask besides
this file is imported until one of the three is used.
"""

from collections.abc import Callable, Iterator
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
        "--unmask-models", metavar="SET", default="quick", help="quick (default), full, or names of `unmask bench list`"
    )


@pytest.fixture(scope="session")
def unmask_model() -> Callable[[str], Any]:
    """name → the reference model of that name, with `module()`, `tokenizer` and `words`."""
    from unmask.bench.bench_folder import cached_model
    from unmask.bench.reference_models import reference_row

    loaded: dict[str, Any] = {}

    def model(name: str) -> Any:
        if name not in loaded:
            loaded[name] = cached_model(reference_row(name))
        return loaded[name]

    return model


def parametrize_with_checks(generate: Callable[..., Any] | str, models: str = "quick", **options: Any) -> Any:
    """Decorate `def test_sampler(unmask_check): unmask_check()`: one item for each check and model."""
    cases = list(_cases(generate, models, options))
    return pytest.mark.parametrize("unmask_check", [case for _, case in cases], ids=[name for name, _ in cases])


def _cases(
    generate: Callable[..., Any] | str, models: str, options: dict[str, Any]
) -> Iterator[tuple[str, Callable[[], None]]]:
    from unmask.bench.bench_folder import cached_model
    from unmask.bench.check_sampler import sampler_named
    from unmask.bench.reference_models import chosen_rows
    from unmask.bench.run_checks import FAILED, NOT_APPLICABLE, named_checks, outcome_of
    from unmask.bench.trial import Trial

    trials: dict[str, Trial] = {}

    def asked(check: Any, row: Any) -> None:
        if row.name not in trials:
            function = sampler_named(generate) if isinstance(generate, str) else generate
            trials[row.name] = Trial(function, cached_model(row), options)
        outcome = outcome_of(check, trials[row.name])
        if outcome.status == NOT_APPLICABLE:
            pytest.skip(outcome.message)
        if outcome.status == FAILED:
            pytest.fail(f"{check.name} on {row.name}: {outcome.message}\n{check.bugs}", pytrace=False)

    for row in chosen_rows(models):
        for check in named_checks(None):
            yield f"{check.name}[{row.name}]", lambda check=check, row=row: asked(check, row)


class CheckItem(pytest.Item):
    """One check on one model, from the command line."""

    case: Callable[[], None]

    def runtest(self) -> None:
        self.case()

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name


class CheckCollector(pytest.Collector):
    """All checks of the sampler that the command line names."""

    def collect(self) -> Iterator[pytest.Item]:
        chosen = self.config.getoption("--unmask-sampler")
        for name, case in _cases(chosen, self.config.getoption("--unmask-models"), {}):
            item = CheckItem.from_parent(self, name=name)
            item.case = case
            yield item


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Put the checks behind what pytest collects itself."""
    yield
    if session.config.getoption("--unmask-sampler"):
        collector = CheckCollector.from_parent(session, name="unmask", nodeid="unmask")
        items = list(collector.collect())
        session.items.extend(item for item in items if isinstance(item, pytest.Item))
        session.testscollected = len(session.items)
