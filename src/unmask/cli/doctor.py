"""`unmask doctor`: what is installed, what each extra adds, and whether the two engines agree on this machine."""

import platform
import re
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import typer

from unmask.cli.options import Json
from unmask.cli.terminal import console, literal, print_document, working
from unmask.errors import UnmaskError

ADDS = {
    "bench": "the pytest plugin of the test bench, and its checks of samplers: `unmask bench run`",
    "lab": "training: `unmask lab train`, `unmask lab table`",
    "torch": "the torch engine, and running exported BERT, GPT-2, ALBERT and torch models",
    "onnx": "running models exported with `unmask export --to onnx`",
    "gguf": "writing GGUF files: `unmask export --to gguf`",
    "diffusers": "running exported models in pipelines of diffusers",
    "lens": "the TransformerLens example",
    "verify": "proofs by a SAT solver, where `unmask verify --method prove` needs one",
    "prove": "proofs for every length: `unmask prove`",
    "serve": "the playground: `unmask serve`",
    "docs": "building the documentation site: `make docs`",
    "dev": "the tests, the linter and the type checker: `make test`",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONAL_PROGRAMS = {"chromium": "the tests of the viewer in a browser", "make": "`make test`, `make docs`"}


@dataclass(frozen=True)
class Package:
    """A required distribution, and the installed version, if any."""

    name: str
    needs: str
    version: str | None


@dataclass(frozen=True)
class Extra:
    """`unmask[NAME]`: what it adds, and the packages that it requires."""

    name: str
    adds: str
    packages: list[Package]

    @property
    def installed(self) -> bool:
        return all(package.version is not None for package in self.packages)


@dataclass(frozen=True)
class SelfTest:
    """Number of runs in which the engines were compared; `problem` says what went wrong, if anything."""

    runs: int
    seconds: float
    problem: str | None


@dataclass(frozen=True)
class Installation:
    """The report of `unmask doctor`."""

    version: str
    python: str
    platform: str
    packages: list[Package]
    extras: list[Extra]
    programs: dict[str, str | None]
    self_test: SelfTest

    @property
    def healthy(self) -> bool:
        return self.self_test.problem is None and all(package.version is not None for package in self.packages)

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        for extra, extra_record in zip(document["extras"], self.extras, strict=True):
            extra["installed"] = extra_record.installed
        return {**document, "healthy": self.healthy}


def examine_installation() -> Installation:
    """Return what is installed, with the result of the self-test."""
    import unmask

    needed, extras = requirements(_declared_requirements())
    return Installation(
        unmask.__version__,
        platform.python_version(),
        f"{sys.platform} {platform.machine()}",
        needed,
        extras,
        programs(),
        self_test(),
    )


def _declared_requirements() -> list[str]:
    try:
        return metadata.requires("unmask") or []
    except metadata.PackageNotFoundError:
        raise UnmaskError(
            "unmask is not installed: it runs from its source; run `pip install -e .` in its folder"
        ) from None


@dataclass(frozen=True)
class _Requirement:
    """One requirement of a distribution: `torch>=2.4; extra == 'lab'` → ("torch", ">=2.4", "lab", True)."""

    name: str
    versions: str
    extra: str | None
    this_platform: bool

    @classmethod
    def parse(cls, line: str) -> "_Requirement":
        requirement, _, marker = line.partition(";")
        match = _REQUIREMENT.fullmatch(requirement.strip())
        clauses = [_CLAUSE.fullmatch(clause.strip(" ()")) for clause in marker.split(" and ") if clause.strip()]
        if match is None or None in clauses:
            raise UnmaskError(
                f"the metadata of unmask has a requirement that cannot be read, {line!r}; install it again"
            )
        values = {clause["key"]: clause["value"] for clause in clauses if clause}
        platform_values = {"sys_platform": sys.platform, "platform_machine": platform.machine()}
        applies = all(values.get(key, value) == value for key, value in platform_values.items())
        return cls(match["name"], match["versions"].strip(), values.get("extra"), applies)


_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+) \s* (?:\[[^]]*\])? \s* (?P<versions>.*)", re.VERBOSE)
_CLAUSE = re.compile(
    r"""(?P<key>extra|sys_platform|platform_machine) \s* == \s* ['"](?P<value>[\w-]+)['"]""", re.VERBOSE
)
"""What this project's own metadata may contain: markers that name an extra or a platform."""


def requirements(declared: list[str]) -> tuple[list[Package], list[Extra]]:
    """Requirement lines of a wheel's metadata → (packages that are always needed, extras)."""
    every = [_Requirement.parse(line) for line in declared]
    parsed = [requirement for requirement in every if requirement.this_platform and requirement.name != "unmask"]
    extras = []
    for name in sorted(ADDS):
        packages = [_package(r) for r in parsed if r.extra == name]
        if packages:
            extras.append(Extra(name, ADDS[name], packages))
    return [_package(r) for r in parsed if r.extra is None], extras


def _package(requirement: _Requirement) -> Package:
    return Package(requirement.name, requirement.versions, _version(requirement.name))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def programs() -> dict[str, str | None]:
    """Return the paths of the programs that some Makefile targets use."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name)) is not None), None)
    return {"chromium": browser, "make": shutil.which("make")}


def self_test() -> SelfTest:
    """Run both engines on a compiled model and on random weights of every kind, and compare all activations."""
    from unmask.api import compile_problem, run_both
    from unmask.weights.kinds import KINDS

    start, runs, problem = time.perf_counter(), 0, None
    try:
        abb = compile_problem("(a|b)*abb", "mdm", length=4)
        for word, is_accepted in (("aabb", True), ("abba", False)):
            runs += 1
            if run_both(abb, word).accepted is not is_accepted:
                problem = f"the model of (a|b)*abb gives the wrong answer for {word}; reinstall unmask and numpy"
        for seed, kind in enumerate(KINDS):
            runs += 1
            run_both(compile_problem(f"random:{seed}", kind, length=2), "ab")
    except UnmaskError as error:
        problem = str(error)
    return SelfTest(runs, time.perf_counter() - start, problem)


# `unmask doctor`: what is installed, what each extra adds, and a self-test.


def doctor(as_json: Json = False) -> None:
    """Show what is installed and what each extra adds, and run a self-test.

    Exit code: 0 everything works, 1 something is missing or wrong.

    Example: [bold]unmask doctor --json[/bold]
    """
    with working("examining"):
        installation = examine_installation()
    if as_json:
        print_document(installation.to_json())
    else:
        show_installation(installation)
    raise typer.Exit(0 if installation.healthy else 1)


def show_installation(installation: "Installation") -> None:
    """Print what is installed, what could be, and whether the engines agree."""
    out = console()
    out.print(f"unmask {installation.version}, Python {installation.python}, {installation.platform}")
    out.print(", ".join(f"{p.name} {p.version or '[red]MISSING[/red]'}" for p in installation.packages))
    test = installation.self_test
    if test.problem is None:
        out.print(f"[green]the engines agree[/green] on {test.runs} runs ({test.seconds:.3f} s)")
    else:
        out.print(f"[bold red]the self-test failed:[/bold red] {literal(test.problem)}")
    for extra in installation.extras:
        lacking = [p.name for p in extra.packages if p.version is None]
        state = "[green]installed[/green]" if extra.installed else f"lacks {', '.join(lacking)}"
        hint = "" if extra.installed else f"; pip install 'unmask\\[{extra.name}]'"
        out.print(f"[bold]{extra.name}[/bold] ({state}): {literal(extra.adds)}{hint}")
    for name, path in installation.programs.items():
        out.print(f"{name}: {path or 'not found'} [dim](only for {literal(OPTIONAL_PROGRAMS[name])})[/dim]")
