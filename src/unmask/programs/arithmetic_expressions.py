"""Arithmetic expressions by masked diffusion, by a looped transformer and by chains of thought (fig:expression-tree).

    (a+b)*(c+d)-e=            the input, N = 14 rows
    s*t-e=  u-e=  v           figure layout: the remaining expression after every step, P = 6 + 4 + 1
    s t u v                   compact layout: one slot per operator, by height, P = 4

Statement:    an expression with + - * over finitely many values is evaluated by a masked diffusion model in as many
              steps as the height of its tree, with one slot per operator, or with one slot for every symbol of the
              remaining expression after each step; by a chain of thought in as many steps as there are slots; by a
              parallel chain of thought and by a looped transformer in as many steps as masked diffusion.
Construction: numbers are single symbols. A slot reads three rows (left operand, operator, right operand), or copies one
              row, named three times. One MLP holds the table of all operations:
                  layer 1   heads: left operand, operator and right operand of a row, by address
                            MLP:   result_(x∘y) = ReLU(left_x + operator_∘ + right_y - 2)
                                   result_s     = ReLU(left_s - no copy)
                                   strange      = Σ_c ReLU(is_c - expected_c)         c: a number, or + - * ( ) =
                  layer 2   head:  the average of `strange` over the input (lem:detection)
                            MLP:   misshapen = [last row] ∧ [average > 0]
              Rows that neither compute nor copy read themselves three times; no symbol is both a number and an
              operator. The planner chooses a masked slot once nothing that it reads is masked. In a chain, the row
              before a symbol computes it. In a loop, every row is computed again in every loop. The last slot holds the
              value; if the word has another shape, it holds the reject symbol.
Bounds:       T = depth, P = operators (compact) or symbols written (figure); chain of thought T = P; parallel chain
              P' = the most symbols that a step writes. 2 layers, 4 heads; width O(log(N + P) + values).
Exactness:    for every shape and range, p >= 2.
Deviations:   the figure does not consider words of another shape.
"""

from dataclasses import dataclass, replace

import numpy as np

from unmask.expressions import constant, n
from unmask.problems.expression_problems import ExpressionProblem
from unmask.problems.expression_shapes import PUNCTUATION, ExpressionShape, apply_operator
from unmask.programs.gadgets.attention import clear, hide, itself, lookup
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.gadgets.whole_layers import everywhere
from unmask.programs.planner_programs import readiness_planner
from unmask.programs.program import (
    ONE,
    TOP,
    ULP,
    B,
    Columns,
    LayerBuilder,
    MlpBuilder,
    Program,
    Vocabulary,
    vocabulary_of,
    whole,
)
from unmask.weights.transformer import Attention


@dataclass(frozen=True, eq=False)
class ExpressionPlan:
    """Per slot: the rows it reads, whether it copies, whether it is empty, and the step that writes it."""

    length: int
    sources: np.ndarray  # [slots, 3]
    copies: np.ndarray
    fills: np.ndarray
    step: np.ndarray

    @property
    def slots(self) -> int:
        return len(self.sources)

    @property
    def rows(self) -> int:
        return self.length + self.slots

    @property
    def steps(self) -> int:
        return int(self.step[-1]) + 1

    @property
    def writes(self) -> tuple[int, ...]:
        """The number of slots that each step writes."""
        return tuple(np.bincount(self.step).tolist())

    def in_blocks(self) -> "ExpressionPlan":
        """The same plan with equally many slots for every step; a step uses the last slots of its block."""
        widest = max(self.writes)
        ends = np.cumsum(self.writes)[self.step]
        block_slots = widest * (self.step + 1) - (ends - np.arange(self.slots))
        rows = np.concatenate([np.arange(self.length), self.length + block_slots])
        slot_count = widest * self.steps
        sources = self.length + np.repeat(np.arange(slot_count)[:, None], 3, axis=1)
        sources[block_slots] = rows[self.sources]
        copies, fills = np.zeros(slot_count, dtype=bool), np.ones(slot_count, dtype=bool)
        copies[block_slots], fills[block_slots] = self.copies, False
        return replace(self, sources=sources, copies=copies, fills=fills, step=np.arange(slot_count) // widest)


def _plan(length: int, sources: list[tuple[int, int, int]], step: list[int]) -> ExpressionPlan:
    table = np.array(sources, dtype=np.int64)
    copies = table[:, 0] == table[:, 1]
    return ExpressionPlan(length, table, copies, np.zeros(len(table), dtype=bool), np.array(step))


def compact_plan(shape: ExpressionShape) -> ExpressionPlan:
    """Return the plan with one slot per operation, in order of height."""
    length = len(shape.symbols)
    row_of = dict(enumerate(shape.operands))
    order = sorted(range(len(shape.operations)), key=lambda k: (shape.operations[k].height, k))
    row_of |= {len(shape.operands) + k: length + index for index, k in enumerate(order)}
    operations = [shape.operations[k] for k in order]
    sources = [(row_of[x.left], x.index, row_of[x.right]) for x in operations]
    return _plan(length, sources, [x.height - 1 for x in operations])


@dataclass(frozen=True)
class _Written:
    """A symbol of a partly evaluated expression, the row that holds it, and the three rows that this row reads."""

    symbol: str | None  # None for a number
    operator_index: int  # the position in the input; -1 for a result
    row: int
    reads: tuple[int, int, int]


def figure_plan(shape: ExpressionShape) -> ExpressionPlan:
    """Return the plan in which every step writes the whole remaining expression."""
    height_at = {operation.index: operation.height for operation in shape.operations}
    text = [_Written(symbol, i, i, (i, i, i)) for i, symbol in enumerate(shape.symbols)]
    sources: list[tuple[int, int, int]] = []
    steps: list[int] = []
    for height in range(1, shape.depth + 1):
        reduced = _reduced(_without_parentheses(text), height_at, height)
        if height == shape.depth:
            reduced = reduced[:1]  # the value, without its =
        first = len(shape.symbols) + len(sources)
        text = [replace(item, row=first + i) for i, item in enumerate(reduced)]
        sources += [item.reads for item in reduced]
        steps += [height - 1] * len(reduced)
    return _plan(len(shape.symbols), sources, steps)


def _reduced(text: list[_Written], height_at: dict[int, int], height: int) -> list[_Written]:
    """The text with a number for every operation of this height, and copies of all other symbols."""
    reduced: list[_Written] = []
    rest = iter(text)
    for item in rest:
        if height_at.get(item.operator_index) == height:
            left, right = reduced.pop(), next(rest)
            assert left.symbol is None is right.symbol, "an operation of the next height is between numbers"
            reduced.append(_Written(None, -1, -1, (left.row, item.row, right.row)))
        else:
            reduced.append(replace(item, reads=(item.row,) * 3))
    return _without_parentheses(reduced)


def _without_parentheses(text: list[_Written]) -> list[_Written]:
    """The text without parentheses around a single number."""
    remaining: list[_Written] = []
    for item in text:
        remaining.append(item)
        while [x.symbol for x in remaining[-3:]] == ["(", None, ")"]:
            remaining[-3:] = [remaining[-2]]
    return remaining


@dataclass(frozen=True, eq=False)
class Operations:
    """Every operation that can occur, once: left[i] operator[i] right[i] = result[i], as tokens."""

    left: np.ndarray
    operator: np.ndarray
    right: np.ndarray
    result: np.ndarray


@dataclass(frozen=True, eq=False)
class ExpressionSymbols:
    """Tokens: `fetched` may be read from a slot or the input, `written` may be written, each in increasing order."""

    vocabulary: Vocabulary
    operations: Operations
    fetched: np.ndarray
    written: np.ndarray

    @property
    def classes(self) -> list[np.ndarray]:
        """The classes of input tokens that a position of the word may expect: numbers, then each other symbol."""
        numbers = self.vocabulary.letters - len(PUNCTUATION)
        return [np.arange(numbers), *np.arange(numbers, self.vocabulary.letters)[:, None]]

    def register(self, program: Program, name: str, tokens: np.ndarray) -> "SymbolColumns":
        """A register with a column for each of these tokens."""
        tokens = np.unique(tokens)
        return SymbolColumns(tokens, program.register(name, [self.vocabulary.symbols[t] for t in tokens]))


@dataclass(frozen=True, eq=False)
class SymbolColumns:
    """One-hot code of a symbol."""

    tokens: np.ndarray
    columns: Columns

    def of(self, tokens: np.ndarray) -> Columns:
        """The columns of these tokens."""
        return self.columns[np.searchsorted(self.tokens, tokens)]


def expression_symbols(problem: ExpressionProblem, roles: tuple[str, ...], *, copies: bool) -> ExpressionSymbols:
    """The numbers of the range, + - * ( ) =, the other values, and the special symbols.

    The final value is written and never fetched. If slots copy, everything else that is fetched is also written.
    """
    values = np.unique(np.concatenate(problem.values))
    numbers = np.arange(problem.operands[0], problem.operands[1] + 1)
    further_values = np.setdiff1d(values, numbers)
    vocabulary = vocabulary_of(
        (*problem.letters, *map(str, further_values)), len(problem.letters), (*roles, "reject", "accept")
    )
    marks = {symbol: numbers.size + i for i, symbol in enumerate(PUNCTUATION)}
    token = np.empty(values.size, dtype=np.int64)
    token[np.isin(values, numbers)] = np.arange(numbers.size)
    token[np.isin(values, further_values)] = vocabulary.letters + np.arange(further_values.size)

    def tokens_of(which: np.ndarray) -> np.ndarray:
        return token[np.searchsorted(values, which)]

    parts = []
    for symbol, left, right in _operations(problem):
        x, y = left.repeat(right.size), np.tile(right, left.size)
        operator = np.full(x.size, marks[symbol])
        parts.append(np.stack([tokens_of(x), operator, tokens_of(y), tokens_of(apply_operator(symbol, x, y))]))
    operations = Operations(*np.unique(np.concatenate(parts, axis=1), axis=1))
    marked = np.array(sorted(marks.values()) if copies else np.unique(operations.operator))
    fetched = np.unique(np.concatenate([marked, *map(tokens_of, problem.values[:-1])]))
    written = np.unique(np.concatenate([operations.result, fetched] if copies else [operations.result]))
    return ExpressionSymbols(vocabulary, operations, fetched, written)


def _operations(problem: ExpressionProblem) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(operator, values of its left operand, of its right) of every operation."""
    sets = problem.values
    return [(x.symbol, sets[x.left], sets[x.right]) for x in problem.shape.operations]


LEAST_PRECISION = 2
CLASSES = ("number", *PUNCTUATION)
SOURCES = ("left", "operator", "right")


@dataclass(frozen=True, eq=False)
class ExpressionRegisters:
    """Codes and flags of the rows, and the symbols that they fetch."""

    row_code: Columns
    addresses: list[Columns]
    no_copy: Columns
    fills: Columns
    last: Columns
    no_input: Columns
    symbol_class: Columns
    expected_class: Columns
    strange: Columns
    share: Columns
    left: SymbolColumns
    operator: SymbolColumns
    right: SymbolColumns


def expression_registers(
    program: Program, plan: ExpressionPlan, symbols: ExpressionSymbols, shape: tuple[str | None, ...], *, ahead: int = 0
) -> ExpressionRegisters:
    """Add the registers. Row n computes the slot in row n + `ahead`; `ahead` is 1 in a chain of thought, else 0."""
    rows, length = plan.rows, plan.length
    emitting = np.arange(plan.slots) + length - ahead
    sources = np.repeat(np.arange(rows)[:, None], 3, axis=1)
    sources[emitting] = plan.sources
    no_copy, fills = np.ones(rows, dtype=bool), np.zeros(rows, dtype=bool)
    no_copy[emitting], fills[emitting] = ~plan.copies, plan.fills
    expected = np.zeros((rows, len(CLASSES)), dtype=bool)
    expected[np.arange(length), [0 if s is None else CLASSES.index(s) for s in shape]] = True
    table = symbols.operations
    return ExpressionRegisters(
        row_code=program.code("here", np.arange(rows)),
        addresses=[program.code(f"{name} address", sources[:, i]) for i, name in enumerate(SOURCES)],
        no_copy=program.flag("no copy", no_copy),
        fills=np.array([program.flag(f"fills, copy {i}", fills)[0] for i in (1, 2) if fills.any()], dtype=np.int64),
        last=program.flag("last row", n.equals(rows - 1 - ahead)),
        no_input=program.flag("no input", n >= length),
        symbol_class=program.register("own", CLASSES),
        expected_class=np.concatenate(
            [program.flag(f"expected {name}", expected[:, c]) for c, name in enumerate(CLASSES)]
        ),
        strange=program.register("strange"),
        share=program.register("share of strange symbols"),
        left=symbols.register(program, "left", symbols.fetched if plan.copies.any() else table.left),
        operator=symbols.register(program, "operator", table.operator),
        right=symbols.register(program, "right", table.right),
    )


def embed_symbols(
    program: Program, registers: ExpressionRegisters, symbols: ExpressionSymbols, contents: SymbolColumns
) -> None:
    """Embed every symbol that may be fetched, and the class of every input symbol."""
    program.embed(contents.tokens, contents.columns)
    for tokens, column in zip(symbols.classes, registers.symbol_class, strict=True):
        program.embed(tokens, column)


def copy_addressed_symbols(layer: LayerBuilder, registers: ExpressionRegisters, *contents: SymbolColumns) -> None:
    """Add three heads that copy the symbols of the addressed rows."""
    targets = (registers.left, registers.operator, registers.right)
    for address, target in zip(registers.addresses, targets, strict=True):
        head = lookup(layer, address, registers.row_code)
        for source in contents:
            tokens = np.intersect1d(source.tokens, target.tokens)
            head.copy(source.of(tokens), target.of(tokens))


def compute_or_copy(
    mlp: MlpBuilder,
    registers: ExpressionRegisters,
    symbols: ExpressionSymbols,
    results: list[SymbolColumns],
    *,
    decided: Columns | None = None,
    blocks: tuple[Columns, ...] = (),
) -> None:
    """Write to `results` the value of a row's operation or the symbol that it copies, to `decided` if there is one."""
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
    strange = conjunction(mlp, registers.symbol_class, registers.expected_class[:, None])
    mlp.write(strange, registers.strange)


def detect_misshapen(
    layer: LayerBuilder, registers: ExpressionRegisters, misshapen: Columns, blocks: tuple[Columns, ...] = ()
) -> None:
    """misshapen = 1 in the last row, unless blocked, if the class of an input symbol is not the expected one."""
    head = everywhere(layer)
    hide(head, registers.no_input, copies=1)
    head.copy(registers.strange, registers.share)
    mlp = layer.mlp
    unit = conjunction(mlp, registers.last, [list(np.concatenate([[], *blocks]).astype(np.int64))])
    for column in misshapen:
        mlp.write(unit, column)
    # a share is 0 or at least 2^-p: if it is not 0, twice 2^(p-1)·2^-p outweighs the unit above
    for _ in range(2):
        nothing = mlp.units(1, bias=ULP)
        mlp.read(nothing, registers.share, -ONE)
        for column in misshapen:
            mlp.write(nothing, column, -TOP)


def expression_planner(plan: ExpressionPlan, symbols: ExpressionSymbols) -> Program:
    """Return the planner: u = masked ∧ (no row of the three that it reads is masked)."""
    inputs = np.arange(plan.length)
    sources = tuple(np.concatenate([inputs, plan.sources[:, side]]) for side in range(3))
    return readiness_planner(symbols.vocabulary, constant(plan.rows), sources)


def expression_node(
    plan: ExpressionPlan,
    symbols: ExpressionSymbols,
    shape: tuple[str | None, ...],
    *,
    ahead: int = 0,
    own_slot: bool = False,
    attention: Attention = "unmasked",
) -> Program:
    """Return the program of every row of a masked diffusion model or of a chain.

    The logit of the chosen symbol is B, those of the others -B. While a row waits, the symbols that may be written tie
    at 0.

    With `own_slot` (a topk model), a row that waits or is already written gives every symbol -B.
    """
    vocabulary = symbols.vocabulary
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows, attention)
    registers = expression_registers(program, plan, symbols, shape, ahead=ahead)
    contents = symbols.register(program, "held", symbols.fetched)
    unmasked = program.register("unmasked")
    decided = program.register("decided")
    results = [symbols.register(program, f"result, copy {i}", symbols.written) for i in (1, 2)]
    misshapen = program.register("misshapen", 2)
    embed_symbols(program, registers, symbols, contents)
    blocks = (unmasked,) if own_slot else ()
    if own_slot:
        program.embed(np.delete(vocabulary.all_tokens, vocabulary["mask"]), unmasked)

    first, second = program.layer(), program.layer()
    copy_addressed_symbols(first, registers, contents)
    compute_or_copy(first.mlp, registers, symbols, results, decided=decided, blocks=blocks)
    detect_misshapen(second, registers, misshapen, blocks)

    # in the order of the columns: -B, then B twice for the choice, then -B twice if the word has another shape
    never = np.setdiff1d(vocabulary.all_tokens, symbols.written)
    program.read_out(vocabulary.all_tokens if own_slot else never, program.one, -B)
    if not own_slot:
        program.read_out(symbols.written, decided, -B)
    for column in registers.fills:
        program.read_out(vocabulary["pad"], column, B)
    for result in results:
        program.read_out(result.tokens, result.columns, B)
    for column in misshapen:
        program.read_out(symbols.written, column, -B)
        program.read_out(vocabulary["reject"], column, B)
    return program


def expression_loop(plan: ExpressionPlan, symbols: ExpressionSymbols, shape: tuple[str | None, ...]) -> Program:
    """Return the looped transformer: one looped layer, then one that checks the shape. The last row has the value."""
    vocabulary = symbols.vocabulary
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows)
    registers = expression_registers(program, plan, symbols, shape)
    input_symbols = symbols.register(program, "given", symbols.fetched)
    computed = symbols.register(program, "computed", symbols.written)
    misshapen = program.register("misshapen", 2)
    embed_symbols(program, registers, symbols, input_symbols)

    loop = program.layer()
    copy_addressed_symbols(loop, registers, input_symbols, computed)
    gathered = (registers.left, registers.operator, registers.right)
    stale = [register.columns for register in (*gathered, computed)]
    clear(itself(loop, registers.row_code), *stale, registers.strange)
    compute_or_copy(loop.mlp, registers, symbols, [computed])
    program.loop = 0, len(program.layers)
    detect_misshapen(program.layer(), registers, misshapen)

    program.read_out(vocabulary.all_tokens, program.one, -B)
    program.read_out(computed.tokens, computed.columns, B)
    for column in misshapen:
        program.read_out(symbols.written, column, -B)
        program.read_out(vocabulary["reject"], column, B)
    return program
