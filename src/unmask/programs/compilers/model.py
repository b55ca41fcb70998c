"""Programs × vocabulary × frame → Model: what every compiler does once its programs are written."""

from typing import Any

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.programs.language.assemble import assemble_all
from unmask.programs.language.program import Program
from unmask.programs.language.vocabulary import Vocabulary
from unmask.weights.limits import check_steps
from unmask.weights.model import Kind, Model


def model_of(
    kind: Kind, programs: dict[str, Program], precision: Precision, vocabulary: Vocabulary, *, steps: int, **frame: Any
) -> Model:
    """The model whose transformers are these programs; `frame` holds the other fields of `Model`."""
    check_steps(steps)
    transformers = assemble_all(programs, precision)
    return Model(kind=kind, steps=steps, transformers=transformers, **vocabulary.fields(), **frame)


def stated_outputs(kind: Kind, answers: int) -> int | None:
    """What a compiled folder states as `outputs`: a looped model with several answers says how many rows it decodes.

    Other kinds write all their slots, and the problem says how many of the last ones are answers.
    """
    return answers if kind == "plt" and answers > 1 else None


def check_precision(precision: Precision, least: int) -> None:
    """Refuse a precision at which the gadgets of a program are not exact."""
    if precision.p < least:
        raise ProblemError(f"a compiled model needs a precision of at least {least}, not {precision.p}")
