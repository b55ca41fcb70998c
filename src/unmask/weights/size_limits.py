"""Limits on the size of a model. They are the same in `assemble`, `save` and `load`.

A model beyond a limit is refused before memory is allocated. The error message contains its size.
"""

from unmask.errors import TooLarge

LARGEST_TABLE = 1 << 28  # cells of one stored table, rows times columns: 256 MB in bytes, which p <= 3 takes
LARGEST_ACTIVATION = 1 << 30  # numbers of one matrix during a pass: 1 GB in bytes
LARGEST_STEPS = 1 << 20
LARGEST_FILE = 1 << 32  # bytes of one .safetensors
LARGEST_CONFIG = 1 << 26  # bytes of config.json
MOST_UNITS = 20_000_000  # hidden units of one compiled MLP
MOST_TENSORS = 100_000  # of one file: their names are in a header of at most 100 MB


def check_cells(rows: int, columns: int, name: str) -> None:
    """Raise TooLarge for more numbers than one table may have."""
    if rows * columns > LARGEST_TABLE:
        raise TooLarge(
            f"{name} would need {rows} × {columns} numbers, beyond the limit of {LARGEST_TABLE}; use a smaller model"
        )


def check_activations(rows: int, columns: int, name: str) -> None:
    """Raise TooLarge for more numbers than a pass may have in one matrix."""
    if rows * columns > LARGEST_ACTIVATION:
        raise TooLarge(
            f"{name} would need {rows} × {columns} numbers, beyond the limit of {LARGEST_ACTIVATION}; "
            "use a smaller model"
        )


def check_table(rows: int, width: int, used: int | None = None) -> None:
    """Refuse a table of positions that is too large for a folder; `used` columns of it are not 0 everywhere."""
    used = width if used is None else used
    if rows * used > LARGEST_TABLE or rows * width > LARGEST_ACTIVATION:
        raise TooLarge(
            f"the model would have {rows:,} rows of width {width:,}, that is {rows * width:,} numbers, "
            f"{rows * used:,} of them in its table of positions, beyond the limits of {LARGEST_ACTIVATION:,} and "
            f"{LARGEST_TABLE:,}; use a shorter length or a smaller problem"
        )


def check_length(length: int) -> None:
    """Refuse words with more rows than the limit, before any computation with machine integers."""
    if length > LARGEST_ACTIVATION:
        raise TooLarge(
            f"a word of length {length:,} has more rows than the limit of {LARGEST_ACTIVATION:,} numbers; "
            "take a shorter length"
        )


def check_units(units: int, name: str) -> None:
    """Refuse an MLP with too many hidden units."""
    if units > MOST_UNITS:
        raise TooLarge(
            f"{name} would need {units:,} hidden units, beyond the limit of {MOST_UNITS:,}; "
            "compile to another kind or use a smaller problem"
        )


def check_steps(steps: int) -> None:
    """Refuse a model that takes too many steps."""
    if steps > LARGEST_STEPS:
        raise TooLarge(
            f"the model would take {steps:,} steps, beyond the limit of {LARGEST_STEPS:,}; "
            "take a shorter length or another kind"
        )


def check_file_size(tensors: int, size: int) -> None:
    """Refuse a transformer whose file would have too many tensors or bytes."""
    if tensors > MOST_TENSORS or size > LARGEST_FILE:
        raise TooLarge(
            f"the file would hold {tensors:,} tensors and {size >> 20:,} MB, beyond the limits of "
            f"{MOST_TENSORS:,} tensors and {LARGEST_FILE >> 20:,} MB; use a shorter length or a smaller problem"
        )
