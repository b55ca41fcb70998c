"""The logits of a planner: keep B·one - B·chosen, take B·chosen; a tie is for keep."""

from unmask.programs.language.builders import Columns
from unmask.programs.language.coefficients import B
from unmask.programs.language.program import Program


def planner_logits(program: Program, chosen: Columns) -> None:
    """(B, 0) where a row is not chosen, (0, B) where it is."""
    program.read_out(0, program.one, B)
    program.read_out(0, chosen, -B)
    program.read_out(1, chosen, B)
