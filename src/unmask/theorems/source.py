"""Source: what a positional construction is given. Its programs are those of every N: only sizes and weights differ.

    Model  ──Source.of──▶  Source  ──Theorem.programs──▶  programs of every N  ──program_at──▶  the converted model's

A proof about every source gives the same construction a source whose sizes and weights have names and no values
(`verification/conversions`), so that what is proved is what `convert` instantiates.
"""

from dataclasses import dataclass

from unmask.programs.language.instance import program_at
from unmask.programs.language.program import Program, Size
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Source:
    """Transformers and symbols; [is there a begin symbol?], steps T and slots P as numbers or expressions."""

    transformers: dict[str, Transformer]
    symbols: tuple[str, ...]
    begin: Size
    steps: Size
    slots: Size
    mask: int | None = None
    rows: int | None = None
    """Of one model, how many rows it has; None where it is every N's."""

    @classmethod
    def of(cls, model: Model) -> "Source":
        return cls(
            model.transformers,
            model.vocabulary,
            int(model.begin is not None),
            model.steps,
            model.padding,
            None if model.mask is None else model.token[model.mask],
            model.rows,
        )


def programs_at(programs: dict[str, Program], length: int) -> dict[str, Program]:
    """The programs of one length."""
    return {name: program_at(program, length) for name, program in programs.items()}
