"""Program × Precision → Transformer, without a dense matrix in between."""

from collections.abc import Sequence

import numpy as np

from unmask.budget import check
from unmask.numerics.precision import Precision
from unmask.programs.language.builders import Edges, HeadBuilder, MlpBuilder, Weight
from unmask.programs.language.coefficients import integers
from unmask.programs.language.program import Program
from unmask.programs.language.recording import record
from unmask.programs.language.size import check_size
from unmask.weights.matrix import Matrix
from unmask.weights.positions import Positions, held
from unmask.weights.registers import Registers
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

AT_ONCE = 1 << 14  # rows


def assemble(program: Program, precision: Precision) -> Transformer:
    """The weights of a program; refused before memory is taken, if no folder may hold them."""
    assert program.every is None, "a program of every N has weights at one N: see program_at"
    check_size(program)
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
    """The transformers of a model; the widest first, so that no memory is taken if one of them is too large."""
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
    """The columns that some declaration writes, a part of the rows at a time."""
    kind = np.int8 if precision.bound < 128 else np.int16 if precision.bound < 1 << 15 else np.int32
    declared = {name: program.columns(name) for name in program.positions}
    columns = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *declared.values()]))
    table = np.zeros((program.rows, columns.size), dtype=kind)
    for first in range(0, program.rows, AT_ONCE):
        check()
        positions = np.arange(first, min(first + AT_ONCE, program.rows))
        for name, declaration in program.positions.items():
            block = declaration.block(len(declared[name]), program.length, positions, precision)
            start = np.searchsorted(columns, declared[name][0])
            table[first : first + AT_ONCE, start : start + len(declared[name])] = block
    return held(program.width, columns, table)
