"""Request → Question: what the page asks, checked before any work is done.

A PROBLEM is written as on the command line, except that nothing may name a file: a circuit is pasted as ASCII AIGER.
"""

from dataclasses import asdict, dataclass
from typing import Any

from unmask.errors import UnmaskError, shortened
from unmask.playground import limits
from unmask.weights.kinds import DIFFUSION, KINDS, Kind

PLANNERS = ("own", "uniform", "confidence", "left-to-right")
READ_FILES = ("dfa", "aiger", "blif")


class BadQuestion(UnmaskError):
    """A request that cannot be understood, or asks for too much."""


@dataclass(frozen=True)
class Question:
    """`planner` is the model's own, or one that takes k slots in each step."""

    problem: str
    word: str
    kind: Kind = "mdm"
    planner: str = "own"
    k: int = 1
    seed: int = 0

    @classmethod
    def of(cls, document: Any) -> "Question":
        """A JSON object with these fields, the problem and the word at least."""
        if not isinstance(document, dict):
            raise BadQuestion('a question is a JSON object such as {"problem": "(a|b)*abb", "word": "aabb"}')
        unknown = set(document) - set(cls.__dataclass_fields__)
        if unknown:
            raise BadQuestion(f"a question has no field {shortened(min(unknown))!r}; use {_listed(cls)}")
        for name in ("problem", "word"):
            if name not in document:
                raise BadQuestion(f"the question has no {name}; a string is needed")
        question = cls(
            problem=_text(document, "problem"),
            word=_text(document, "word"),
            kind=next(kind for kind in KINDS if kind == _one_of(document, "kind", KINDS, "mdm")),
            planner=_one_of(document, "planner", PLANNERS, "own"),
            k=_whole(document, "k", 1, limits.LARGEST_K, 1),
            seed=_whole(document, "seed", 0, limits.LARGEST_SEED, 0),
        )
        question.check_sizes()
        question.check_files()
        return question

    def check_sizes(self) -> None:
        for name, text, most in (
            ("problem", self.problem, limits.CIRCUIT if self.is_circuit else limits.PROBLEM),
            ("word", self.word, limits.WORD),
        ):
            if len(text) > most:
                raise BadQuestion(f"the {name} has {len(text):,} characters, more than {most:,}; take a shorter one")

    def check_files(self) -> None:
        """A problem that names a file is refused: the playground reads none."""
        prefix, colon, _ = self.problem.partition(":")
        if colon and prefix in READ_FILES:
            raise BadQuestion(
                f"the playground reads no files, so {prefix}: is refused; paste a circuit as ASCII AIGER (aag …), "
                "or use `unmask compile`"
            )

    @property
    def is_circuit(self) -> bool:
        """Whether the problem is a circuit pasted as ASCII AIGER, whose first word is `aag`."""
        return self.problem.startswith("aag ")

    @property
    def planner_name(self) -> str | None:
        """As `--planner` takes it; None for the model's own, and where there is none to replace."""
        return None if self.planner == "own" or self.kind not in DIFFUSION else f"{self.planner}:{self.k}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _listed(cls: type[Question]) -> str:
    return ", ".join(cls.__dataclass_fields__)


def _text(document: dict[str, Any], name: str) -> str:
    text = document[name]
    if not isinstance(text, str):
        raise BadQuestion(f"the {name} must be a string")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadQuestion(f"the {name} holds half of a surrogate pair, which is no character; leave it out") from None
    return text


def _one_of(document: dict[str, Any], name: str, allowed: tuple[str, ...], default: str) -> str:
    value = document.get(name, default)
    if not isinstance(value, str) or value not in allowed:
        raise BadQuestion(f"the {name} must be one of {', '.join(allowed)}, not {shortened(repr(value))}")
    return value


def _whole(document: dict[str, Any], name: str, least: int, most: int, default: int) -> int:
    value = document.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise BadQuestion(f"{name} must be an integer from {least} to {most:,}, not {shortened(repr(value), most=24)}")
    return value
