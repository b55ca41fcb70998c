"""Masked diffusion models → circuits that a metered machine prints: nested counters, nothing is pruned.

Behind cor:mdms-with-constant-steps and cor:mdms-with-polylog-steps: L-uniform MDM[O(log^d N), poly(N)] is within
L-uniform AC^d.

Statement:    from an oracle for the weights and positions of a family, one metered function prints, for every N, a
              circuit that accepts what the model accepts. If the oracle is computable in logarithmic space, so is the
              circuit. Its depth is at most `printed_depth`, in which N does not occur but through T.
Construction: every number of F_p is a *cell* of m gates, one per value. The equations of a layer are printed cell by
              cell. A cell is found by its address: those of a matrix are at equal distances, and the machine counts
              the gates that it has printed. Sums are the cascade of flip-flops of `one_hot`, level by level, with all
              its gates; a gate that can never be true is printed as an empty OR.
Exactness:    for models that never divide by zero, whose words have two letters, whose attention is unmasked, and whose
              vocabulary has at most m symbols.
Difference:   `constant_depth` folds constants and leaves out gates that nothing reads, which takes memory. Here the
              circuits are larger by far, and no cell is ever looked at twice.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from unmask.errors import UnmaskError
from unmask.numerics import arithmetic
from unmask.numerics.arithmetic import Precision, exp_table
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.circuits.metered import Machine, Oracle, RegisterBound, metered
from unmask.problems.circuits.printed_circuits import AND, OR, printed_circuit
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

# What the oracles are asked for.
TIMES, PLUS, QUOTIENT, EXP, RECTIFIED = 0, 1, 2, 3, 4
"""Functions of one or two numbers of F_p: finite tables."""
EMBED, QUERY, KEY, VALUE, HIDDEN, HIDDEN_BIAS, OUTPUT, OUTPUT_BIAS, LOGITS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Tensors; EMBED has the embedding of a symbol and the positional encoding of a row together."""
LAYERS, HEADS, QUERY_WIDTH, UNITS, OUTCOMES, WIDTH = 0, 1, 2, 3, 4, 5
PLANNER, PREDICTOR = 0, 1
"""Sizes of a transformer, and which of the two it is."""


@metered
def print_unary(value: Machine, m: int, operation: int, b: int, x: int) -> Iterator[int]:
    """The cell of f(x, b), b a constant."""
    for v in range(m):
        for a in range(m):
            if value(operation, a, b) == v:
                yield 2 * (x + a)
        yield OR


@metered
def print_binary(value: Machine, m: int, operation: int, at: int, x: int, y: int) -> Iterator[int]:
    """m² ANDs of a pair, then the cell of f(x, y)."""
    for a in range(m):
        for b in range(m):
            yield 2 * (x + a)
            yield 2 * (y + b)
            yield AND
    for v in range(m):
        for a in range(m):
            for b in range(m):
                if value(operation, a, b - m // 2) == v:
                    yield 2 * (at + m * a + b)
        yield OR


@metered
def sum_size(m: int, terms: int) -> int:
    """How many gates a sum has."""
    return 2 * (m - 1) * terms + m + (m - 1) * (terms + 1) * (5 * m + terms + 4)


@metered
def print_sum(m: int, at: int, first: int, stride: int, terms: int) -> Iterator[int]:  # noqa: C901
    """The cascade of flip-flops over cells at equal distances; the last m gates are the cell of the sum."""
    for k in range(terms):  # [x >= t], then [x <= -t], for t = 1 … m - 1
        for t in range(1, m):
            for v in range(m // 2 + t, m):
                yield 2 * (first + stride * k + v)
            yield OR
        for t in range(1, m):
            for v in range(m // 2 - t + 1):
                yield 2 * (first + stride * k + v)
            yield OR
    before = at + 2 * (m - 1) * terms  # where the interval of the level above starts, one-hot
    distance = 0
    yield AND
    for _ in range(1, m):
        yield OR
    size = 5 * m + terms + 4
    low = 0
    for level in range(1, m):
        block = at + 2 * (m - 1) * terms + m + (level - 1) * (terms + 1) * size
        initially = 1 if m // 2 == low + m - level else 0
        low += initially
        for i in range(terms + 1):
            own = block + i * size
            start = before + i * distance
            for side in range(2):  # the top is clipped; the bottom is
                for a in range(m):
                    if a < level and i < terms:
                        yield 2 * (start + a)
                        yield 2 * (at + 2 * (m - 1) * i + (m - 1 + a if side == 1 else level - a - 1))
                        yield AND
                    else:
                        yield OR
            for side in range(2):
                for a in range(m):
                    yield 2 * (own + side * m + a)
                yield OR
            for j in range(terms):
                if j < i:
                    yield 2 * (block + j * size + 2 * m)
                    for k in range(j + 1, i):
                        yield 2 * (block + k * size + 2 * m + 1) + 1
                    yield AND
                else:
                    yield OR
            if initially == 1:
                for k in range(i):
                    yield 2 * (block + k * size + 2 * m + 1) + 1
                yield AND
            else:
                yield OR
            for j in range(terms + 1):
                yield 2 * (own + 2 * m + 2 + j)
            yield OR
            bit = own + 2 * m + 3 + terms
            for a in range(m):
                yield 2 * (start + a)
                yield 2 * bit + 1
                yield AND
            for a in range(m):
                if a > 0:
                    yield 2 * (start + a - 1)
                    yield 2 * bit
                    yield AND
                else:
                    yield OR
            for a in range(m):
                yield 2 * (bit + 1 + a)
                yield 2 * (bit + 1 + m + a)
                yield OR
        before = block + size - m
        distance = size


@metered
def product_size(m: int, terms: int) -> int:
    """How many gates one entry of a product of matrices has."""
    return m * terms + sum_size(m, terms)


@metered
def print_product(
    value: Machine,
    entry: Machine,
    m: int,
    which: int,
    tensor: int,
    layer: int,
    head: int,
    at: int,
    x: int,
    stride: int,
    rows: int,
    terms: int,
    columns: int,
) -> Iterator[int]:
    """x·W, the cells of x at equal distances."""
    for i in range(rows):
        for c in range(columns):
            own = at + (i * columns + c) * product_size(m, terms)
            for k in range(terms):
                weight = entry(which, tensor, layer, head, k, c)
                yield from print_unary(value, m, TIMES, weight, x + stride * (i * terms + k))
            yield from print_sum(m, own + m * terms, own, m, terms)


@metered
def print_argmax(  # noqa: C901
    m: int, at: int, scores: int, stride: int, symbols: int, without: int
) -> Iterator[int]:
    """The cell of the largest score, the lowest where there are several; `without` is left out."""
    for s in range(symbols):
        for v in range(m):
            for w in range(v + 1):
                yield 2 * (scores + stride * s + w)
            yield OR
    for s in range(symbols):
        for v in range(m):
            if s != without:
                yield 2 * (scores + stride * s + v)
                for other in range(symbols):
                    if other != without and other > s:
                        yield 2 * (at + other * m + v)
                    if other != without and other < s:
                        yield 2 * (at + other * m + v - 1) if v > 0 else 2 * (scores + stride * s) + 1
                yield AND
            else:
                yield OR
    for s in range(m):
        if s < symbols:
            for v in range(m):
                yield 2 * (at + (symbols + s) * m + v)
        yield OR


@metered
def print_head(
    value: Machine,
    entry: Machine,
    size: Machine,
    m: int,
    which: int,
    layer: int,
    head: int,
    at: int,
    x: int,
    stride: int,
    rows: int,
    width: int,
) -> Iterator[int]:
    """Queries, keys and values; exp of the scores; Z; the weights; the average."""
    pair = m * m + m
    queries = size(which, QUERY_WIDTH, layer)
    free = at
    for tensor in range(QUERY, VALUE + 1):
        columns = width if tensor == VALUE else queries
        for printed_item in print_product(
            value, entry, m, which, tensor, layer, head, free, x, stride, rows, width, columns
        ):
            free += 1 if printed_item < 0 else 0
            yield printed_item
    far = product_size(m, width)
    query = at + far - m
    key = query + far * rows * queries
    values = key + far * rows * queries
    score = queries * pair + sum_size(m, queries) + m
    for i in range(rows):
        for j in range(rows):
            own = free + (i * rows + j) * score
            for c in range(queries):
                yield from print_binary(
                    value, m, TIMES, own + pair * c, query + far * (i * queries + c), key + far * (j * queries + c)
                )
            yield from print_sum(m, own + pair * queries, own + m * m, pair, queries)
            yield from print_unary(value, m, EXP, 0, own + score - 2 * m)
    exps = free + score - m
    total = free + rows * rows * score
    for i in range(rows):
        yield from print_sum(m, total + i * sum_size(m, rows), exps + score * i * rows, score, rows)
    share = total + rows * sum_size(m, rows)
    for i in range(rows):
        for j in range(rows):
            yield from print_binary(
                value,
                m,
                QUOTIENT,
                share + pair * (i * rows + j),
                exps + score * (i * rows + j),
                total + (i + 1) * sum_size(m, rows) - m,
            )
    average = share + pair * rows * rows
    for i in range(rows):
        for c in range(width):
            own = average + (i * width + c) * (pair * rows + sum_size(m, rows))
            for j in range(rows):
                yield from print_binary(
                    value,
                    m,
                    TIMES,
                    own + pair * j,
                    share + pair * (i * rows + j) + m * m,
                    values + far * (j * width + c),
                )
            yield from print_sum(m, own + pair * rows, own + m * m, pair, rows)


@metered
def print_layer(
    value: Machine,
    entry: Machine,
    size: Machine,
    m: int,
    which: int,
    layer: int,
    at: int,
    x: int,
    stride: int,
    rows: int,
    width: int,
) -> Iterator[int]:
    """The heads, their sum, the residual stream, and the MLP; the last blocks of m² + m gates are the new stream."""
    pair = m * m + m
    heads = size(which, HEADS, layer)
    units = size(which, UNITS, layer)
    free = at
    for head in range(heads):
        for printed_item in print_head(value, entry, size, m, which, layer, head, free, x, stride, rows, width):
            free += 1 if printed_item < 0 else 0
            yield printed_item
    averaged = pair * rows + sum_size(m, rows)
    apart = (free - at) // heads if heads > 0 else 0
    first = at + apart - averaged * rows * width + averaged - m
    both = sum_size(m, heads) + pair
    for q in range(rows * width):
        own = free + q * both
        yield from print_sum(m, own, first + averaged * q, apart, heads)
        yield from print_binary(value, m, PLUS, own + both - pair, own + both - pair - m, x + stride * q)
    stream = free + both - m
    free += rows * width * both
    hidden = free
    bigger = product_size(m, width)
    for printed_item in print_product(
        value, entry, m, which, HIDDEN, layer, 0, hidden, stream, both, rows, width, units
    ):
        free += 1 if printed_item < 0 else 0
        yield printed_item
    rectified = free
    for q in range(rows * units):
        bias = entry(which, HIDDEN_BIAS, layer, 0, q % units, 0)
        yield from print_unary(value, m, RECTIFIED, bias, hidden + bigger * q + bigger - m)
    free += rows * units * m
    output = free
    larger = product_size(m, units)
    for printed_item in print_product(
        value, entry, m, which, OUTPUT, layer, 0, output, rectified, m, rows, units, width
    ):
        free += 1 if printed_item < 0 else 0
        yield printed_item
    for q in range(rows * width):
        own = free + q * (m + pair)
        bias = entry(which, OUTPUT_BIAS, layer, 0, q % width, 0)
        yield from print_unary(value, m, RECTIFIED, bias, output + larger * q + larger - m)
        yield from print_binary(value, m, PLUS, own + m, stream + both * q, own)


@metered
def print_pass(
    value: Machine,
    entry: Machine,
    size: Machine,
    m: int,
    which: int,
    at: int,
    tokens: int,
    stride: int,
    rows: int,
    width: int,
    without: int,
) -> Iterator[int]:
    """From the cells of the symbols to the symbol that every row decodes to: the last cell of every last block."""
    pair = m * m + m
    symbols = size(which, OUTCOMES, 0)
    for i in range(rows):
        for c in range(width):
            for v in range(m):
                for t in range(m):
                    if entry(which, EMBED, i, 0, t, c) == v - m // 2:
                        yield 2 * (tokens + stride * i + t)
                yield OR
    x = at
    apart = m
    free = at + rows * width * m
    for layer in range(size(which, LAYERS, 0)):
        for printed_item in print_layer(value, entry, size, m, which, layer, free, x, apart, rows, width):
            free += 1 if printed_item < 0 else 0
            yield printed_item
        apart = m + pair
        x = free - rows * width * apart + apart - m
    scores = free + product_size(m, width) - m
    for printed_item in print_product(value, entry, m, which, LOGITS, 0, 0, free, x, apart, rows, width, symbols):
        free += 1 if printed_item < 0 else 0
        yield printed_item
    far = product_size(m, width)
    for i in range(rows):
        own = free + i * (2 * symbols + 1) * m
        yield from print_argmax(m, own, scores + far * symbols * i, far, symbols, without)


@metered
def print_model(  # noqa: C901
    value: Machine,
    entry: Machine,
    size: Machine,
    N: int,
    padding: int,
    steps: int,
    m: int,
    mask: int,
    accept: int,
) -> Iterator[int]:
    """All steps of a masked diffusion model; the last gate says whether the last slot accepts. Letters are 0 and 1."""
    rows = N + padding
    for i in range(rows):
        for t in range(m):
            if i < N and t < 2:
                yield 2 * (i + 1) + 1 - t
                yield AND
            elif i >= N and t == mask:
                yield AND
            else:
                yield OR
    tokens = N + 1
    stride = m
    free = N + 1 + rows * m
    for _ in range(steps):
        chosen = 0
        planned = (2 * size(PLANNER, OUTCOMES, 0) + 1) * m
        for which in range(2):
            without = mask if which == PREDICTOR else -1
            for printed_item in print_pass(
                value, entry, size, m, which, free, tokens, stride, rows, size(which, WIDTH, 0), without
            ):
                free += 1 if printed_item < 0 else 0
                yield printed_item
            if which == PLANNER:
                chosen = free - rows * planned + planned - m
        predicted = (2 * size(PREDICTOR, OUTCOMES, 0) + 1) * m
        symbol = free - rows * predicted + predicted - m
        for i in range(rows):
            for t in range(m):
                if i >= N:
                    yield 2 * (chosen + planned * i + 1)
                    yield 2 * (symbol + predicted * i + t)
                    yield AND
                else:
                    yield OR
            for t in range(m):
                if i >= N:
                    yield 2 * (chosen + planned * i + 1) + 1
                yield 2 * (tokens + stride * i + t)
                yield AND
            for t in range(m):
                yield 2 * (free + 3 * m * i + t)
                yield 2 * (free + 3 * m * i + m + t)
                yield OR
        tokens = free + 2 * m
        stride = 3 * m
        free += 3 * m * rows
    yield 2 * (tokens + stride * (rows - 1) + accept)
    yield AND


REGISTER_BOUND = RegisterBound(degree=5, coefficient=1 << 14)
"""Of families with N + O(1) rows and constantly many columns."""


def printed_extraction(model: Model, bound: RegisterBound = REGISTER_BOUND) -> Circuit:
    """Return the circuit that the machine prints, given the weights of a model; its output says: accepted."""
    planner, predictor = (model.transformers.get(name) for name in ("planner", "predictor"))
    if model.kind != "mdm" or planner is None or predictor is None:
        raise UnmaskError(f"circuits are printed for models of the kind mdm, not {model.kind}; convert it first")
    precision = model.precision
    if len(model.input_symbols) != 2 or len(model.vocabulary) > precision.size:
        raise UnmaskError(f"circuits are printed for words of two letters and at most {precision.size} symbols")
    both = (planner, predictor)
    frame = (model.padding, model.steps, precision.size, model.token[model.mask or ""], model.token[model.accept])
    values, entries, sizes = _values(precision), _entries(both), _sizes(both)
    oracles = (Oracle("value", values), Oracle("entry", entries), Oracle("size", sizes))
    return printed_circuit(model.length, print_model(bound.at(model.length), *oracles, model.length, *frame))


def _values(precision: Precision) -> Callable[..., int]:
    """The arithmetic of F_p: the number of a value and an integer → the number of a value."""
    bound, exponential = precision.bound, exp_table(precision).tolist()
    operations: dict[int, Callable[[int, int], int]] = {
        TIMES: lambda a, b: int(arithmetic.multiply(a, b, precision)),
        PLUS: lambda a, b: int(arithmetic.add(a, b, precision)),
        QUOTIENT: lambda a, b: int(arithmetic.divide(a, b, precision)) if b else 0,
        EXP: lambda a, _: exponential[a + bound],
        RECTIFIED: lambda a, b: max(0, int(arithmetic.add(a, b, precision))),
    }

    @cache
    def value(operation: int, a: int, b: int) -> int:
        return operations[operation](a - bound, b) + bound

    return value


def _entries(both: tuple[Transformer, ...]) -> Callable[..., int]:
    """The weights, and the embedding of a symbol in row `layer`; an entry beyond a tensor is 0."""

    @cache
    def tensor(which: int, name: int, layer: int, head: int) -> np.ndarray:
        transformer = both[which]
        if name == EMBED:
            row = np.asarray(transformer.positions[layer : layer + 1])
            return np.asarray(arithmetic.add(transformer.embed.dense(), row, transformer.precision))
        if name == LOGITS:
            return transformer.out.dense().T
        mlp, heads = transformer.layers[layer].mlp, transformer.layers[layer].heads
        if name in (QUERY, KEY, VALUE):
            return {QUERY: heads[head].wq, KEY: heads[head].wk, VALUE: heads[head].wv}[name].dense()
        if name in (HIDDEN_BIAS, OUTPUT_BIAS):
            return (mlp.b1 if name == HIDDEN_BIAS else mlp.b2)[:, None]
        return (mlp.w1 if name == HIDDEN else mlp.w2).dense()

    def entry(which: int, name: int, layer: int, head: int, row: int, column: int) -> int:
        found = tensor(which, name, layer, head)
        inside = row < found.shape[0] and column < found.shape[1]
        return int(found[row, column]) if inside else 0

    return entry


def _sizes(both: tuple[Transformer, ...]) -> Callable[..., int]:
    def size(which: int, what: int, layer: int) -> int:
        transformer = both[which]
        if what in (LAYERS, OUTCOMES, WIDTH):
            return {LAYERS: len(transformer.layers), OUTCOMES: transformer.out.shape[0], WIDTH: transformer.width}[what]
        weights = transformer.layers[layer]
        widths = [head.wq.shape[1] for head in weights.heads]
        return {HEADS: len(weights.heads), QUERY_WIDTH: max([0, *widths]), UNITS: weights.mlp.w1.shape[1]}[what]

    return size


def printed_depth(model: Model) -> int:
    """What the depth of the printed circuit never exceeds: a formula in T, p and the number of layers."""
    total = 1 + 6 * (model.precision.size - 1)
    layer = 7 * total + 16  # queries, scores, Z, average, heads, hidden units, outputs, and their tables
    layers = max(len(transformer.layers) for transformer in model.transformers.values())
    return 1 + model.steps * (1 + layers * layer + 1 + total + 3 + 2) + 1
