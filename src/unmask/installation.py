"""Report what is installed, what each extra adds, and whether the two engines agree on this machine."""

import platform
import re
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from unmask.errors import UnmaskError

ADDS = {
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
        for extra, made in zip(document["extras"], self.extras, strict=True):
            extra["installed"] = made.installed
        return {**document, "healthy": self.healthy}


def examine() -> Installation:
    """Return what is installed, with the result of the self-test."""
    import unmask

    needed, extras = requirements(_declared())
    return Installation(
        unmask.__version__,
        platform.python_version(),
        f"{sys.platform} {platform.machine()}",
        needed,
        extras,
        programs(),
        self_test(),
    )


def _declared() -> list[str]:
    try:
        return metadata.requires("unmask") or []
    except metadata.PackageNotFoundError:
        raise UnmaskError(
            "unmask is not installed: it runs from its source; run `pip install -e .` in its folder"
        ) from None


@dataclass(frozen=True)
class _Requirement:
    """One requirement of a distribution: `torch>=2.4; extra == 'lab'` → ("torch", ">=2.4", "lab")."""

    name: str
    versions: str
    extra: str | None

    @classmethod
    def parse(cls, line: str) -> "_Requirement":
        found = _REQUIREMENT.fullmatch(line)
        if found is None:
            raise UnmaskError(
                f"the metadata of unmask has a requirement that cannot be read, {line!r}; install it again"
            )
        return cls(found["name"], found["versions"].strip(), found["extra"])


_EXTRA = r"""; \s* extra \s* == \s* ['"](?P<extra>[\w-]+)['"]"""
_REQUIREMENT = re.compile(rf"(?P<name>[\w.-]+) \s* (?:\[[^]]*\])? \s* (?P<versions>[^;]*) (?:{_EXTRA})?", re.VERBOSE)
"""What this project's own metadata may contain: no markers other than the name of an extra."""


def requirements(declared: list[str]) -> tuple[list[Package], list[Extra]]:
    """Requirement lines of a wheel's metadata → (packages that are always needed, extras)."""
    parsed = [requirement for line in declared if (requirement := _Requirement.parse(line)).name != "unmask"]
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
    from unmask.pipeline import compile_problem, run_both
    from unmask.weights.kinds import KINDS

    start, runs, problem = time.perf_counter(), 0, None
    try:
        abb = compile_problem("(a|b)*abb", "mdm", length=4)
        for word, right in (("aabb", True), ("abba", False)):
            runs += 1
            if run_both(abb, word).accepted is not right:
                problem = f"the model of (a|b)*abb gives the wrong answer for {word}; reinstall unmask and numpy"
        for seed, kind in enumerate(KINDS):
            runs += 1
            run_both(compile_problem(f"random:{seed}", kind, length=2), "ab")
    except UnmaskError as error:
        problem = str(error)
    return SelfTest(runs, time.perf_counter() - start, problem)
