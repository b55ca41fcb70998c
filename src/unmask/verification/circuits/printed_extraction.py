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
              circuits are much larger, and nothing that was printed is read again.
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

# Arguments of the oracles.
TIMES, PLUS, QUOTIENT, EXP, RECTIFIED = 0, 1, 2, 3, 4
"""Functions of one or two numbers of F_p: finite tables."""
EMBED, QUERY, KEY, VALUE, HIDDEN, HIDDEN_BIAS, OUTPUT, OUTPUT_BIAS, LOGITS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Tensors; EMBED has the embedding of a symbol and the positional encoding of a row together."""
LAYERS, HEADS, QUERY_WIDTH, UNITS, OUTCOMES, WIDTH = 0, 1, 2, 3, 4, 5
PLANNER, PREDICTOR = 0, 1
"""Sizes of a transformer, and the numbers of the two transformers."""


@metered
def print_unary(value: Machine, m: int, operation: int, b: int, x: int) -> Iterator[int]:
    """Print the cell of f(x, b) for a constant b."""
    for v in range(m):
        for a in range(m):
            if value(operation, a, b) == v:
                yield 2 * (x + a)
        yield OR


@metered
def print_binary(value: Machine, m: int, operation: int, address: int, x: int, y: int) -> Iterator[int]:
    """Print m² ANDs of pairs, then the cell of f(x, y)."""
    for a in range(m):
        for b in range(m):
            yield 2 * (x + a)
            yield 2 * (y + b)
            yield AND
    for v in range(m):
        for a in range(m):
            for b in range(m):
                if value(operation, a, b - m // 2) == v:
                    yield 2 * (address + m * a + b)
        yield OR


@metered
def sum_size(m: int, terms: int) -> int:
    """Return the number of gates of a sum."""
    return 2 * (m - 1) * terms + m + (m - 1) * (terms + 1) * (5 * m + terms + 4)


@metered
def print_comparisons(m: int, first: int, stride: int, terms: int) -> Iterator[int]:
    """Print [x >= t], then [x <= -t], for t = 1 … m - 1, of every term x."""
    for k in range(terms):
        for t in range(1, m):
            for v in range(m // 2 + t, m):
                yield 2 * (first + stride * k + v)
            yield OR
        for t in range(1, m):
            for v in range(m // 2 - t + 1):
                yield 2 * (first + stride * k + v)
            yield OR


@metered
def print_flip_flop(m: int, block: int, size: int, i: int, terms: int, initially: int) -> Iterator[int]:
    """Print the bit of a level after i terms: 1 if some set (or the initial value 1) has no reset after it."""
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
        yield 2 * (block + i * size + 2 * m + 2 + j)
    yield OR


@metered
def print_level(
    m: int, address: int, block: int, before: int, distance: int, level: int, initially: int, terms: int
) -> Iterator[int]:
    """Print one level of the cascade: after every number of terms, the start of its interval, one-hot.

    The starts of the level above are at `before`, at equal distances.
    """
    size = 5 * m + terms + 4
    for i in range(terms + 1):
        cell = block + i * size
        start = before + i * distance
        for side in range(2):  # the top is clipped; the bottom is
            for a in range(m):
                if a < level and i < terms:
                    yield 2 * (start + a)
                    yield 2 * (address + 2 * (m - 1) * i + (m - 1 + a if side == 1 else level - a - 1))
                    yield AND
                else:
                    yield OR
        for side in range(2):
            for a in range(m):
                yield 2 * (cell + side * m + a)
            yield OR
        yield from print_flip_flop(m, block, size, i, terms, initially)
        bit = cell + 2 * m + 3 + terms
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


@metered
def print_sum(m: int, address: int, first: int, stride: int, terms: int) -> Iterator[int]:
    """Print the cascade of flip-flops over cells at equal distances; the last m gates are the cell of the sum."""
    yield from print_comparisons(m, first, stride, terms)
    before = address + 2 * (m - 1) * terms  # where the interval of the level above starts, one-hot
    distance = 0
    yield AND
    for _ in range(1, m):
        yield OR
    size = 5 * m + terms + 4
    low = 0
    for level in range(1, m):
        block = address + 2 * (m - 1) * terms + m + (level - 1) * (terms + 1) * size
        initially = 1 if m // 2 == low + m - level else 0
        low += initially
        yield from print_level(m, address, block, before, distance, level, initially, terms)
        before = block + size - m
        distance = size


@metered
def product_size(m: int, terms: int) -> int:
    """Return the number of gates of one entry of a product of matrices."""
    return m * terms + sum_size(m, terms)


@metered
def print_product(
    value: Machine,
    entry: Machine,
    m: int,
    transformer: int,
    tensor: int,
    layer: int,
    head: int,
    address: int,
    x: int,
    stride: int,
    rows: int,
    terms: int,
    columns: int,
) -> Iterator[int]:
    """Print x·W; the cells of x are at equal distances."""
    for i in range(rows):
        for c in range(columns):
            cell = address + (i * columns + c) * product_size(m, terms)
            for k in range(terms):
                weight = entry(transformer, tensor, layer, head, k, c)
                yield from print_unary(value, m, TIMES, weight, x + stride * (i * terms + k))
            yield from print_sum(m, cell + m * terms, cell, m, terms)


@metered
def print_argmax(  # noqa: C901
    m: int, address: int, scores: int, stride: int, symbols: int, without: int
) -> Iterator[int]:
    """Print the cell of the index of the largest score, the lowest if there are several; `without` is left out."""
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
                        yield 2 * (address + other * m + v)
                    if other != without and other < s:
                        yield 2 * (address + other * m + v - 1) if v > 0 else 2 * (scores + stride * s) + 1
                yield AND
            else:
                yield OR
    for s in range(m):
        if s < symbols:
            for v in range(m):
                yield 2 * (address + (symbols + s) * m + v)
        yield OR


@metered
def print_averages(
    value: Machine, m: int, address: int, shares: int, values: int, stride: int, rows: int, width: int
) -> Iterator[int]:
    """Print the averages of the values, weighted by the shares of the rows."""
    pair = m * m + m
    for i in range(rows):
        for c in range(width):
            cell = address + (i * width + c) * (pair * rows + sum_size(m, rows))
            for j in range(rows):
                weight = shares + pair * (i * rows + j) + m * m
                yield from print_binary(value, m, TIMES, cell + pair * j, weight, values + stride * (j * width + c))
            yield from print_sum(m, cell + pair * rows, cell + m * m, pair, rows)


@metered
def print_head(
    value: Machine,
    entry: Machine,
    size: Machine,
    m: int,
    transformer: int,
    layer: int,
    head: int,
    address: int,
    x: int,
    stride: int,
    rows: int,
    width: int,
) -> Iterator[int]:
    """Print queries, keys and values, exp of the scores, Z, the weights, and the average."""
    pair = m * m + m
    queries = size(transformer, QUERY_WIDTH, layer)
    free = address
    for tensor in range(QUERY, VALUE + 1):
        columns = width if tensor == VALUE else queries
        for printed_item in print_product(
            value, entry, m, transformer, tensor, layer, head, free, x, stride, rows, width, columns
        ):
            free += 1 if printed_item < 0 else 0
            yield printed_item
    far = product_size(m, width)
    query = address + far - m
    key = query + far * rows * queries
    values = key + far * rows * queries
    score = queries * pair + sum_size(m, queries) + m
    for i in range(rows):
        for j in range(rows):
            cell = free + (i * rows + j) * score
            for c in range(queries):
                yield from print_binary(
                    value, m, TIMES, cell + pair * c, query + far * (i * queries + c), key + far * (j * queries + c)
                )
            yield from print_sum(m, cell + pair * queries, cell + m * m, pair, queries)
            yield from print_unary(value, m, EXP, 0, cell + score - 2 * m)
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
    yield from print_averages(value, m, share + pair * rows * rows, share, values, far, rows, width)


@metered
def print_layer(
    value: Machine,
    entry: Machine,
    size: Machine,
    m: int,
    transformer: int,
    layer: int,
    address: int,
    x: int,
    stride: int,
    rows: int,
    width: int,
) -> Iterator[int]:
    """Print the heads, their sum, the residual stream and the MLP; the last blocks of m² + m gates are the stream."""
    pair = m * m + m
    heads = size(transformer, HEADS, layer)
    units = size(transformer, UNITS, layer)
    free = address
    for head in range(heads):
        for printed_item in print_head(value, entry, size, m, transformer, layer, head, free, x, stride, rows, width):
            free += 1 if printed_item < 0 else 0
            yield printed_item
    averaged = pair * rows + sum_size(m, rows)
    head_distance = (free - address) // heads if heads > 0 else 0
    first = address + head_distance - averaged * rows * width + averaged - m
    both = sum_size(m, heads) + pair
    for q in range(rows * width):
        cell = free + q * both
        yield from print_sum(m, cell, first + averaged * q, head_distance, heads)
        yield from print_binary(value, m, PLUS, cell + both - pair, cell + both - pair - m, x + stride * q)
    stream = free + both - m
    free += rows * width * both
    hidden = free
    bigger = product_size(m, width)
    for printed_item in print_product(
        value, entry, m, transformer, HIDDEN, layer, 0, hidden, stream, both, rows, width, units
    ):
        free += 1 if printed_item < 0 else 0
        yield printed_item
    rectified = free
    for q in range(rows * units):
        bias = entry(transformer, HIDDEN_BIAS, layer, 0, q % units, 0)
        yield from print_unary(value, m, RECTIFIED, bias, hidden + bigger * q + bigger - m)
    free += rows * units * m
    output = free
    larger = product_size(m, units)
    for printed_item in print_product(
        value, entry, m, transformer, OUTPUT, layer, 0, output, rectified, m, rows, units, width
    ):
        free += 1 if printed_item < 0 else 0
        yield printed_item
    for q in range(rows * width):
        cell = free + q * (m + pair)
        bias = entry(transformer, OUTPUT_BIAS, layer, 0, q % width, 0)
        yield from print_unary(value, m, RECTIFIED, bias, output + larger * q + larger - m)
        yield from print_binary(value, m, PLUS, cell + m, stream + both * q, cell)


@metered
def print_pass(
    value: Machine,
    entry: Machine,
    size: Machine,
    m: int,
    transformer: int,
    address: int,
    tokens: int,
    stride: int,
    rows: int,
    width: int,
    without: int,
) -> Iterator[int]:
    """Print a pass, from the cells of the symbols to the decoded symbols: the last cell of each of the last blocks."""
    pair = m * m + m
    symbols = size(transformer, OUTCOMES, 0)
    for i in range(rows):
        for c in range(width):
            for v in range(m):
                for t in range(m):
                    if entry(transformer, EMBED, i, 0, t, c) == v - m // 2:
                        yield 2 * (tokens + stride * i + t)
                yield OR
    x = address
    distance = m
    free = address + rows * width * m
    for layer in range(size(transformer, LAYERS, 0)):
        for printed_item in print_layer(value, entry, size, m, transformer, layer, free, x, distance, rows, width):
            free += 1 if printed_item < 0 else 0
            yield printed_item
        distance = m + pair
        x = free - rows * width * distance + distance - m
    scores = free + product_size(m, width) - m
    for printed_item in print_product(
        value, entry, m, transformer, LOGITS, 0, 0, free, x, distance, rows, width, symbols
    ):
        free += 1 if printed_item < 0 else 0
        yield printed_item
    far = product_size(m, width)
    for i in range(rows):
        cell = free + i * (2 * symbols + 1) * m
        yield from print_argmax(m, cell, scores + far * symbols * i, far, symbols, without)


@metered
def print_overwrite(
    m: int,
    N: int,
    rows: int,
    address: int,
    chosen: int,
    planned: int,
    symbol: int,
    predicted: int,
    tokens: int,
    stride: int,
) -> Iterator[int]:
    """Print the cells of the symbols after a step: of the predicted symbol in a chosen slot, else of the old symbol."""
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
            yield 2 * (address + 3 * m * i + t)
            yield 2 * (address + 3 * m * i + m + t)
            yield OR


@metered
def print_model(
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
    """Print all steps of a masked diffusion model on letters 0 and 1; the last gate is "the last slot accepts"."""
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
        for transformer in range(2):
            without = mask if transformer == PREDICTOR else -1
            for printed_item in print_pass(
                value, entry, size, m, transformer, free, tokens, stride, rows, size(transformer, WIDTH, 0), without
            ):
                free += 1 if printed_item < 0 else 0
                yield printed_item
            if transformer == PLANNER:
                chosen = free - rows * planned + planned - m
        predicted = (2 * size(PREDICTOR, OUTCOMES, 0) + 1) * m
        symbol = free - rows * predicted + predicted - m
        yield from print_overwrite(m, N, rows, free, chosen, planned, symbol, predicted, tokens, stride)
        tokens = free + 2 * m
        stride = 3 * m
        free += 3 * m * rows
    yield 2 * (tokens + stride * (rows - 1) + accept)
    yield AND


REGISTER_BOUND = RegisterBound(degree=5, coefficient=1 << 14)
"""A bound for families with N + O(1) rows and constantly many columns."""


def printed_extraction(model: Model, bound: RegisterBound = REGISTER_BOUND) -> Circuit:
    """Return the circuit that the machine prints from the weights of a model; its output is "accepted"."""
    planner, predictor = (model.transformers.get(name) for name in ("planner", "predictor"))
    if model.kind != "mdm" or planner is None or predictor is None:
        raise UnmaskError(f"circuits are printed for models of the kind mdm, not {model.kind}; convert it first")
    precision = model.precision
    if len(model.input_symbols) != 2 or len(model.vocabulary) > precision.size:
        raise UnmaskError(f"circuits are printed for words of two letters and at most {precision.size} symbols")
    transformers = (planner, predictor)
    frame = (model.padding, model.steps, precision.size, model.token[model.mask or ""], model.token[model.accept])
    values, entries, sizes = _values(precision), _entries(transformers), _sizes(transformers)
    oracles = (Oracle("value", values), Oracle("entry", entries), Oracle("size", sizes))
    return printed_circuit(model.length, print_model(bound.at(model.length), *oracles, model.length, *frame))


def _values(precision: Precision) -> Callable[..., int]:
    """Return the arithmetic of F_p as a function: (operation, number of a value, integer) → number of a value."""
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


def _entries(transformers: tuple[Transformer, ...]) -> Callable[..., int]:
    """Return the function from indices to weights, 0 beyond a tensor; for EMBED, `layer` is the index of the row."""

    @cache
    def tensor(index: int, name: int, layer: int, head: int) -> np.ndarray:
        transformer = transformers[index]
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

    def entry(index: int, name: int, layer: int, head: int, row: int, column: int) -> int:
        matrix = tensor(index, name, layer, head)
        inside = row < matrix.shape[0] and column < matrix.shape[1]
        return int(matrix[row, column]) if inside else 0

    return entry


def _sizes(transformers: tuple[Transformer, ...]) -> Callable[..., int]:
    def size(index: int, name: int, layer: int) -> int:
        transformer = transformers[index]
        if name in (LAYERS, OUTCOMES, WIDTH):
            return {LAYERS: len(transformer.layers), OUTCOMES: transformer.out.shape[0], WIDTH: transformer.width}[name]
        weights = transformer.layers[layer]
        widths = [head.wq.shape[1] for head in weights.heads]
        return {HEADS: len(weights.heads), QUERY_WIDTH: max([0, *widths]), UNITS: weights.mlp.w1.shape[1]}[name]

    return size


def printed_depth(model: Model) -> int:
    """Return an upper bound on the depth of the printed circuit: a formula in T, p and the number of layers."""
    total = 1 + 6 * (model.precision.size - 1)
    layer = 7 * total + 16  # queries, scores, Z, average, heads, hidden units, outputs, and their tables
    layers = max(len(transformer.layers) for transformer in model.transformers.values())
    return 1 + model.steps * (1 + layers * layer + 1 + total + 3 + 2) + 1
