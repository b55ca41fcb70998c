"""What is installed, what each extra would add, and whether the two engines agree here."""

import platform
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from packaging.requirements import Requirement

from unmask.errors import UnmaskError

ADDS = {
    "lab": "the lab: `unmask lab train`, `unmask lab table`",
    "torch": "the torch engine, and running what `unmask export` writes",
    "onnx": "running what `unmask export --to onnx` writes",
    "lens": "the example in TransformerLens",
    "verify": "proofs: `unmask verify --method prove`",
    "prove": "proofs for every length: `unmask prove --every-length`",
    "serve": "the playground: `unmask serve`",
    "docs": "the documentation site: `make docs`",
    "dev": "the tests, the linter and the type checker: `make test`",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONAL_PROGRAMS = {"chromium": "the tests of the viewer in a browser", "make": "`make test`, `make docs`"}


@dataclass(frozen=True)
class Package:
    """A distribution that is asked for, and the version found, if any."""

    name: str
    needs: str
    version: str | None


@dataclass(frozen=True)
class Extra:
    """`unmask[NAME]`: what it adds, and the packages it asks for."""

    name: str
    adds: str
    packages: list[Package]

    @property
    def installed(self) -> bool:
        return all(package.version is not None for package in self.packages)


@dataclass(frozen=True)
class SelfTest:
    """Runs in which the engines were compared in full; `problem` is what went wrong."""

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
    """Look around, and run the self-test."""
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
            "unmask runs from its source and is not installed; run `pip install -e .` in its folder"
        ) from None


def requirements(declared: list[str]) -> tuple[list[Package], list[Extra]]:
    """Lines of a wheel's metadata, such as `torch==2.13.0; extra == 'lab'` → what is needed, and the extras."""
    asked = [requirement for line in declared if (requirement := Requirement(line)).name != "unmask"]
    always = [requirement for requirement in asked if _applies(requirement, extra="")]
    extras = []
    for name in sorted(ADDS):
        beside = [_package(r) for r in asked if r not in always and _applies(r, extra=name)]
        if beside:
            extras.append(Extra(name, ADDS[name], beside))
    return [_package(requirement) for requirement in always], extras


def _applies(requirement: Requirement, *, extra: str) -> bool:
    """Whether it is asked for here, with this extra or with none ("")."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _package(requirement: Requirement) -> Package:
    return Package(requirement.name, str(requirement.specifier), _version(requirement.name))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def programs() -> dict[str, str | None]:
    """Where the programs are that some targets of the Makefile use."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name)) is not None), None)
    return {"chromium": browser, "make": shutil.which("make")}


def self_test() -> SelfTest:
    """Both engines on a compiled model and on random weights of every kind, all activations compared."""
    from unmask.pipeline import compile_problem, run_both
    from unmask.weights.kinds import KINDS

    start, runs, problem = time.perf_counter(), 0, None
    try:
        abb = compile_problem("(a|b)*abb", "mdm", length=4)
        for word, right in (("aabb", True), ("abba", False)):
            runs += 1
            if run_both(abb, word).accepted is not right:
                problem = f"the model of (a|b)*abb is wrong about {word}; reinstall unmask and numpy"
        for seed, kind in enumerate(KINDS):
            runs += 1
            run_both(compile_problem(f"random:{seed}", kind, length=2), "ab")
    except UnmaskError as error:
        problem = str(error)
    return SelfTest(runs, time.perf_counter() - start, problem)
