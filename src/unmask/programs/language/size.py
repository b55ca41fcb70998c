"""The size of a program's weights, known before any of them is made: what `load` would refuse is refused here."""

from collections.abc import Iterator, Sequence

from unmask.programs.language.builders import Edges
from unmask.programs.language.program import Program
from unmask.weights.limits import check_cells, check_file, check_table, check_units

LARGEST_ENTRY = 12  # bytes of a stored entry: row, column and value
LARGEST_NUMBER = 4
LARGEST_NAME = 1000  # of a tensor and its parts in the header, and what rounding up to a dense tensor adds


def check_size(program: Program) -> None:
    """Refuse a table of positions, a score, an MLP or a file that `load` would not read."""
    check_table(program.rows, program.width, placed_columns(program))
    check_cells(program.rows, 1, "the rows of the model")
    check_cells(1, program.width, "the residual of a row")
    for i, layer in enumerate(program.layers):
        check_units(layer.mlp.size, f"layer {i}")
        check_cells(1, layer.mlp.size, f"the hidden units of layer {i}")
        for j, head in enumerate(layer.heads):
            check_cells(program.rows, head.width, f"head {j} of layer {i} with {program.rows} rows")
    for entries in _entries(program):
        check_cells(entries, 1, "the entries of a matrix")
    tensors = 3 + sum(4 + 3 * len(layer.heads) for layer in program.layers)
    check_file(4 * tensors, _bytes(program) + LARGEST_NAME * tensors)


def placed_columns(program: Program) -> int:
    """How many columns the table of positions may write."""
    return sum(len(program.columns(name)) for name in program.positions)


def _bytes(program: Program) -> int:
    """At most so many bytes for the numbers: of vectors, and of the entries of positions and matrices.

    A table that is stored dense takes no more than its entries would.
    """
    dense = sum(layer.mlp.size + program.width for layer in program.layers)
    sparse = program.rows * placed_columns(program) + sum(_entries(program))
    return LARGEST_NUMBER * dense + LARGEST_ENTRY * sparse


def _entries(program: Program) -> Iterator[int]:
    """The number of entries of every matrix."""
    for edges in _matrices(program):
        yield sum(part.source.size for part in edges)


def _matrices(program: Program) -> Iterator[Sequence[Edges]]:
    yield from (program.embedding, program.readout)
    for layer in program.layers:
        yield from (layer.mlp.inputs, layer.mlp.outputs)
        for head in layer.heads:
            yield from (head.query, head.key, head.value)
