"""How large a compiled model may become; beyond, it is refused before memory is taken, with the estimate."""

from unmask.errors import TooLarge
from unmask.programs.program import Program

MOST_CELLS = 1 << 27  # of the table of positions, rows times columns: what a folder may hold
MOST_UNITS = 20_000_000  # hidden units of one MLP


def check_table(program: Program) -> None:
    """Refuse a table of positions that no folder may hold."""
    cells = program.rows * program.width
    if cells > MOST_CELLS:
        raise TooLarge(
            f"the model would have {program.rows:,} rows of width {program.width:,}, that is {cells:,} numbers, "
            f"beyond the limit of {MOST_CELLS:,}; take a shorter length or a smaller automaton"
        )


def check_units(units: int, what: str) -> None:
    """Refuse an MLP with too many hidden units."""
    if units > MOST_UNITS:
        raise TooLarge(
            f"{what} would need {units:,} hidden units, beyond the limit of {MOST_UNITS:,}; "
            "compile to another kind or take a smaller automaton"
        )
