"""The parts that every program of an expression shares: fetching, rewriting, and seeing that the word has its shape.

    layer 1   heads: left operand, operator and right operand of a row, by address
              MLP:   result_(x∘y) = ReLU(left_x + operator_∘ + right_y - 2)     exclusive: a row reads one of each
                     result_s     = ReLU(left_s - no copy)                      a row that copies reads its source
                     strange      = Σ_c ReLU(own_c - expected_c)                c: a number, or + - * ( ) =
    layer 2   head:  the average of `strange` over the input (lem:detection)
              MLP:   misshapen = [last row] ∧ [average > 0]

Rows that neither compute nor copy read themselves three times: no symbol is a number and an operator. Least p: 2.
"""

from dataclasses import dataclass

import numpy as np

from unmask.problems.expressions.shape import PUNCTUATION
from unmask.programs.expressions.plan import ExpressionPlan
from unmask.programs.expressions.symbols import ExpressionSymbols, SymbolColumns
from unmask.programs.gadgets.detection import everywhere
from unmask.programs.gadgets.hide import hide
from unmask.programs.gadgets.logic import conjunction
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.builders import Columns, LayerBuilder, MlpBuilder
from unmask.programs.language.coefficients import ONE, TOP, ULP, whole
from unmask.programs.language.positions import n
from unmask.programs.language.program import Program

LEAST_PRECISION = 2
CLASSES = ("number", *PUNCTUATION)
SOURCES = ("left", "operator", "right")


@dataclass(frozen=True, eq=False)
class ExpressionRegisters:
    """Codes and flags of the rows, and what they fetch."""

    here: Columns
    addresses: list[Columns]
    no_copy: Columns
    fills: Columns
    last: Columns
    no_input: Columns
    own: Columns
    expected: Columns
    strange: Columns
    share: Columns
    left: SymbolColumns
    operator: SymbolColumns
    right: SymbolColumns


def expression_registers(
    program: Program, plan: ExpressionPlan, symbols: ExpressionSymbols, shape: tuple[str | None, ...], *, ahead: int = 0
) -> ExpressionRegisters:
    """Row n acts for the slot in row n + `ahead`: 1 where a symbol is emitted by the row before it."""
    rows, length = plan.rows, plan.length
    emitting = np.arange(plan.slots) + length - ahead
    sources = np.repeat(np.arange(rows)[:, None], 3, axis=1)
    sources[emitting] = plan.sources
    no_copy, fills = np.ones(rows, dtype=bool), np.zeros(rows, dtype=bool)
    no_copy[emitting], fills[emitting] = ~plan.copies, plan.fills
    asked = np.zeros((rows, len(CLASSES)), dtype=bool)
    asked[np.arange(length), [0 if s is None else CLASSES.index(s) for s in shape]] = True
    table = symbols.operations
    return ExpressionRegisters(
        here=program.code("here", np.arange(rows)),
        addresses=[program.code(f"{name} address", sources[:, i]) for i, name in enumerate(SOURCES)],
        no_copy=program.flag("no copy", no_copy),
        fills=np.array([program.flag(f"fills, copy {i}", fills)[0] for i in (1, 2) if fills.any()], dtype=np.int64),
        last=program.flag("last row", n.equals(rows - 1 - ahead)),
        no_input=program.flag("no input", n >= length),
        own=program.register("own", CLASSES),
        expected=np.concatenate([program.flag(f"expected {name}", asked[:, c]) for c, name in enumerate(CLASSES)]),
        strange=program.register("strange"),
        share=program.register("share of strange symbols"),
        left=symbols.register(program, "left", symbols.fetched if plan.copies.any() else table.left),
        operator=symbols.register(program, "operator", table.operator),
        right=symbols.register(program, "right", table.right),
    )


def embed_symbols(
    program: Program, registers: ExpressionRegisters, symbols: ExpressionSymbols, held: SymbolColumns
) -> None:
    """Every symbol that may be fetched, and the class of every input symbol."""
    program.embed(held.tokens, held.columns)
    for tokens, column in zip(symbols.classes, registers.own, strict=True):
        program.embed(tokens, column)


def fetch(layer: LayerBuilder, registers: ExpressionRegisters, *held: SymbolColumns) -> None:
    """Three heads bring what the addressed rows hold."""
    targets = (registers.left, registers.operator, registers.right)
    for address, target in zip(registers.addresses, targets, strict=True):
        head = lookup(layer, address, registers.here)
        for source in held:
            tokens = np.intersect1d(source.tokens, target.tokens)
            head.copy(source.of(tokens), target.of(tokens))


def rewrite(
    mlp: MlpBuilder,
    registers: ExpressionRegisters,
    symbols: ExpressionSymbols,
    results: list[SymbolColumns],
    *,
    decided: Columns | None = None,
    blocks: tuple[Columns, ...] = (),
) -> None:
    """`results` get the value of a row's operation, or what it copies; `decided` whether there is one."""
    table, copied = symbols.operations, np.intersect1d(registers.left.tokens, symbols.written)
    compute = mlp.units(table.result.size, bias=whole(-2))
    mlp.read(compute, registers.left.of(table.left))
    mlp.read(compute, registers.operator.of(table.operator))
    mlp.read(compute, registers.right.of(table.right))
    copy = conjunction(mlp, registers.left.of(copied), [registers.no_copy] * copied.size)
    for units, tokens in ((compute, table.result), (copy, copied)):
        for flag in blocks:
            mlp.read(units, flag, -ONE)
        for result in results:
            mlp.write(units, result.of(tokens))
        if decided is not None:
            mlp.write(units, decided)
    strange = conjunction(mlp, registers.own, registers.expected[:, None])
    mlp.write(strange, registers.strange)


def see_shape(
    layer: LayerBuilder, registers: ExpressionRegisters, misshapen: Columns, blocks: tuple[Columns, ...] = ()
) -> None:
    """misshapen = 1 in the last row, unless blocked, if an input symbol is not of the class that its place expects."""
    head = everywhere(layer)
    hide(head, registers.no_input, copies=1)
    head.copy(registers.strange, registers.share)
    mlp = layer.mlp
    unit = conjunction(mlp, registers.last, [list(np.concatenate([[], *blocks]).astype(np.int64))])
    for column in misshapen:
        mlp.write(unit, column)
    # a share is 0 or at least 2^-p: without one, twice 2^(p-1)·2^-p outweighs the unit above
    for _ in range(2):
        nothing = mlp.units(1, bias=ULP)
        mlp.read(nothing, registers.share, -ONE)
        for column in misshapen:
            mlp.write(nothing, column, -TOP)
