"""The logits of a planner, keep and take, by a flag in one column or in two; a tie is for keep."""

from unmask.programs.language.builders import Columns
from unmask.programs.language.coefficients import B
from unmask.programs.language.program import Program


def planner_logits(program: Program, chosen: Columns) -> None:
    """(B, 0) where a row is not chosen, (0, B) where it is: keep B·one - B·chosen, take B·chosen."""
    program.read_out(0, program.one, B)
    program.read_out(0, chosen, -B)
    program.read_out(1, chosen, B)


def symmetric_planner_logits(program: Program, chosen_twice: Columns) -> None:
    """(B, -B) where a row is not chosen, (-B, B) where it is: ±(B·chosen + B·chosen - B·one), two columns."""
    for output, sign in ((1, B), (0, -B)):
        program.read_out(output, program.one, -sign)
        program.read_out(output, chosen_twice, sign)
