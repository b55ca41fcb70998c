"""Program × Precision → Transformer, without a dense matrix in between."""

from collections.abc import Sequence

import numpy as np

from unmask.numerics.precision import Precision
from unmask.programs.coefficients import Coefficient
from unmask.programs.program import (
    AllBut,
    Declaration,
    Edges,
    Flag,
    HeadBuilder,
    MlpBuilder,
    OneHot,
    Program,
    SignedBits,
    TableBits,
    TableFlag,
    TableRows,
    Thermometer,
    Weight,
)
from unmask.weights.matrix import Matrix
from unmask.weights.registers import Registers
from unmask.weights.transformer import Attention, Head, Layer, Mlp, Noise, Transformer


def assemble(
    program: Program,
    precision: Precision,
    *,
    attention: Attention = "unmasked",
    loop: tuple[int, int] | None = None,
    noise: Noise | None = None,
) -> Transformer:
    """The weights of a program."""
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
        attention=attention,
        loop=loop,
        noise=noise,
        registers=Registers.of(program.registers),
    )


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
    if not edges:
        return Matrix.zeros(shape)
    return Matrix.from_entries(
        shape,
        np.concatenate([e.source for e in edges]),
        np.concatenate([e.target for e in edges]),
        np.concatenate([np.broadcast_to(_integers(e.weight, precision), e.source.shape) for e in edges]),
    )


def _vector(size: int, entries: Sequence[tuple[np.ndarray, Weight]], precision: Precision) -> np.ndarray:
    if not entries:
        return np.zeros(size, dtype=np.int64)
    columns = np.concatenate([columns for columns, _ in entries])
    assert np.unique(columns).size == columns.size, "two gadgets set the bias of one column"
    vector = np.zeros(size, dtype=np.int64)
    vector[columns] = np.concatenate([np.broadcast_to(_integers(weight, precision), c.shape) for c, weight in entries])
    return vector


def _integers(weight: Weight, precision: Precision) -> np.ndarray | int:
    return weight.integer(precision) if isinstance(weight, Coefficient) else weight


def _positions(program: Program, precision: Precision) -> np.ndarray:
    kind = np.int8 if precision.bound < 128 else np.int16 if precision.bound < 1 << 15 else np.int32
    table = np.zeros((program.rows, program.width), dtype=kind)
    positions = np.arange(program.rows)
    for name, declaration in program.positions.items():
        columns = program.columns(name)
        table[:, columns[0] : columns[-1] + 1] = _declared(declaration, len(columns), program, positions, precision)
    return table


def _declared(
    declaration: Declaration, width: int, program: Program, positions: np.ndarray, precision: Precision
) -> np.ndarray:
    """The block of the table that one register declares."""
    if isinstance(declaration, Flag):
        values = declaration.expression.evaluate(program.length, positions)
        return np.where(values != 0, precision.one, 0)[:, None].repeat(width, axis=1)
    if isinstance(declaration, Thermometer):
        values = declaration.expression.evaluate(program.length, positions)[:, None]
        return np.where(np.arange(width) > values, precision.one, 0)
    if isinstance(declaration, AllBut):
        values = declaration.expression.evaluate(program.length, positions)[:, None]
        return np.where(np.arange(width) != values, precision.one, 0)
    if isinstance(declaration, TableFlag | TableBits):
        listed = declaration.table[declaration.row.evaluate(program.length, positions)][:, None]
        if isinstance(declaration, TableFlag):
            return np.where(listed, precision.one, 0)
        return np.where(listed >> np.arange(width - 1, -1, -1) & 1, precision.one, -precision.one)
    if isinstance(declaration, TableRows):
        block = declaration.table[declaration.row.evaluate(program.length, positions)]
    else:
        values = declaration.expression.evaluate(program.length, positions)[:, None]
        if isinstance(declaration, SignedBits):
            assert not np.any(values >> width), "a code is negative or needs more bits"
            block = np.where(values >> np.arange(width - 1, -1, -1) & 1, precision.one, -precision.one)
        else:
            assert isinstance(declaration, OneHot)
            block = np.where(values == np.arange(width), precision.one, 0)
    if declaration.only is None:
        return block
    return np.where(declaration.only.evaluate(program.length, positions)[:, None] != 0, block, 0)
