"""Program × Precision → Transformer, without intermediate dense matrices.

The size of the weights is checked before any weight is computed, so that `load` can read every folder that is written.
`recorded_programs` lists the programs that were assembled, because weights do not show how positions were declared.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from unmask.limits import check
from unmask.numerics.arithmetic import Precision
from unmask.programs.program import Edges, HeadBuilder, MlpBuilder, Program, Weight, integers
from unmask.weights.matrices import Matrix, Positions, as_positions
from unmask.weights.size_limits import check_cells, check_file_size, check_table, check_units
from unmask.weights.transformer import Head, Layer, Mlp, Registers, Transformer

LARGEST_ENTRY = 12  # bytes per stored entry: row, column and value
LARGEST_NUMBER = 4  # bytes per number of a vector
LARGEST_NAME = 1000  # bytes per tensor: its fields in the header, and rounding up to a dense tensor


def check_program_size(program: Program) -> None:
    """Raise TooLarge for a table of positions, a score, an MLP or a file that `load` would not read."""
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
    check_file_size(4 * tensors, _bytes(program) + LARGEST_NAME * tensors)


def placed_columns(program: Program) -> int:
    """The number of columns that the table of positions may write."""
    return sum(len(program.columns(name)) for name in program.positions)


def _bytes(program: Program) -> int:
    """Return an upper bound of the bytes for the numbers of vectors, positions and matrices.

    A table that is stored in dense form takes at most as much as its entries would.
    """
    dense = sum(layer.mlp.size + program.width for layer in program.layers)
    sparse = program.rows * placed_columns(program) + sum(_entries(program))
    return LARGEST_NUMBER * dense + LARGEST_ENTRY * sparse


def _entries(program: Program) -> Iterator[int]:
    """The number of entries of every matrix."""
    for edges in _matrices(program):
        yield sum(e.source.size for e in edges)


def _matrices(program: Program) -> Iterator[Sequence[Edges]]:
    yield from (program.embedding, program.readout)
    for layer in program.layers:
        yield from (layer.mlp.inputs, layer.mlp.outputs)
        for head in layer.heads:
            yield from (head.query, head.key, head.value)


_RECORD: ContextVar[list[Program] | None] = ContextVar("programs", default=None)


@contextmanager
def recorded_programs() -> Generator[list[Program]]:
    """Context manager: every program that is assembled inside it is appended to the list."""
    programs: list[Program] = []
    token = _RECORD.set(programs)
    try:
        yield programs
    finally:
        _RECORD.reset(token)


def record(program: Program) -> None:
    """Record a program that `assemble` turns into weights."""
    programs = _RECORD.get()
    if programs is not None:
        programs.append(program)


ROWS_AT_ONCE = 1 << 14


def assemble(program: Program, precision: Precision) -> Transformer:
    """Return the weights of a program; raise TooLarge before memory is allocated if they are too large for a folder."""
    assert program.rows_in_length is None, "a program for every N has no weights; instantiate it with program_at"
    check_program_size(program)
    record(program)
    width = program.width
    return Transformer(
        precision=precision,
        embed=_matrix((len(program.symbols), width), program.embedding, precision),
        positions=_positions(program, precision),
        layers=tuple(
            Layer(
                tuple(_head(head, width, precision) for head in layer.heads),
                _mlp(layer.mlp, width, precision),
            )
            for layer in program.layers
        ),
        out=_matrix((program.outputs, width), program.readout, precision),
        attention=program.attention,
        loop=program.loop,
        noise=program.noise,
        registers=Registers.of(program.registers),
    )


def assemble_all(programs: dict[str, Program], precision: Precision) -> dict[str, Transformer]:
    """Return the transformers of a model. The widest is assembled first: a model that is too large fails early."""
    widest_first = sorted(programs, key=lambda name: programs[name].width, reverse=True)
    assembled = {name: assemble(programs[name], precision) for name in widest_first}
    return {name: assembled[name] for name in programs}


def _head(head: HeadBuilder, width: int, precision: Precision) -> Head:
    return Head(
        _matrix((width, head.width), head.query, precision),
        _matrix((width, head.width), head.key, precision),
        _matrix((width, width), head.value, precision),
    )


def _mlp(mlp: MlpBuilder, width: int, precision: Precision) -> Mlp:
    return Mlp(
        _matrix((width, mlp.size), mlp.inputs, precision),
        _vector(mlp.size, mlp.biases, precision),
        _matrix((mlp.size, width), mlp.outputs, precision),
        _vector(width, mlp.offsets, precision),
    )


def _matrix(shape: tuple[int, int], edges: Sequence[Edges], precision: Precision) -> Matrix:
    check()
    if not edges:
        return Matrix.zeros(shape)
    return Matrix.from_entries(
        shape,
        np.concatenate([e.source for e in edges]),
        np.concatenate([e.target for e in edges]),
        np.concatenate([np.broadcast_to(integers(e.weight, precision), e.source.shape) for e in edges]),
    )


def _vector(size: int, entries: Sequence[tuple[np.ndarray, Weight]], precision: Precision) -> np.ndarray:
    if not entries:
        return np.zeros(size, dtype=np.int64)
    columns = np.concatenate([columns for columns, _ in entries])
    assert np.unique(columns).size == columns.size, "two gadgets set the bias of one column"
    vector = np.zeros(size, dtype=np.int64)
    vector[columns] = np.concatenate([np.broadcast_to(integers(weight, precision), c.shape) for c, weight in entries])
    return vector


def _positions(program: Program, precision: Precision) -> Positions:
    """The columns that declarations write, computed for `ROWS_AT_ONCE` rows at a time."""
    kind = np.int8 if precision.bound < 128 else np.int16 if precision.bound < 1 << 15 else np.int32
    declared = {name: program.columns(name) for name in program.positions}
    columns = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *declared.values()]))
    table = np.zeros((program.rows, columns.size), dtype=kind)
    for first in range(0, program.rows, ROWS_AT_ONCE):
        check()
        positions = np.arange(first, min(first + ROWS_AT_ONCE, program.rows))
        for name, declaration in program.positions.items():
            block = declaration.block(len(declared[name]), program.length, positions, precision)
            start = np.searchsorted(columns, declared[name][0])
            table[first : first + ROWS_AT_ONCE, start : start + len(declared[name])] = block
    return as_positions(program.width, columns, table)
