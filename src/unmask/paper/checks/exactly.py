"""F_p and a transformer layer by their definitions, in fractions: slow, and shares nothing with the engines but exp."""

from collections.abc import Sequence
from fractions import Fraction

from unmask.numerics.exponential import exp_table
from unmask.numerics.precision import Precision
from unmask.weights.matrix import Matrix
from unmask.weights.transformer import Head, Mlp, Transformer

Row = list[Fraction]


def field(precision: Precision) -> list[Fraction]:
    """{ ±a·2^-p : 0 <= a <= 4^p - 1 }, in order."""
    numbers = {sign * Fraction(a, 2**precision.p) for sign in (1, -1) for a in range(4**precision.p)}
    return sorted(numbers)


def rounded(x: Fraction, precision: Precision) -> Fraction:
    """The closest number of F_p; of two that are as close, the one nearer to 0."""
    unit = Fraction(1, 2**precision.p)
    low = x // unit * unit
    largest = Fraction(4**precision.p - 1, 2**precision.p)
    candidates = [max(-largest, min(largest, c)) for c in (low, low + unit)]
    return min(candidates, key=lambda c: (abs(c - x), abs(c)))


def iterated_sum(terms: Sequence[Fraction], precision: Precision) -> Fraction:
    """[… [[x1 + x2] + x3] … + xN]."""
    result = Fraction(0)
    for term in terms:
        result = rounded(result + term, precision)
    return result


def inner(x: Sequence[Fraction], y: Sequence[Fraction], precision: Precision) -> Fraction:
    return iterated_sum([rounded(a * b, precision) for a, b in zip(x, y, strict=True)], precision)


def times(rows: list[Row], matrix: Matrix, precision: Precision) -> list[Row]:
    columns = [[precision.meaning(v) for v in column] for column in matrix.dense().T]
    return [[inner(row, column, precision) for column in columns] for row in rows]


def mlp(row: Row, given: Mlp, precision: Precision) -> Row:
    """ReLU(W2·ReLU(W1·x + b1) + b2)."""
    for matrix, bias in ((given.w1, given.b1), (given.w2, given.b2)):
        (row,) = times([row], matrix, precision)
        row = [max(Fraction(0), rounded(a + precision.meaning(b), precision)) for a, b in zip(row, bias, strict=True)]
    return row


def head(rows: list[Row], given: Head, precision: Precision, *, causal: bool) -> list[Row]:
    """softmax(mask(Q·Kᵀ))·V; a sum of 0 is a ZeroDivisionError."""
    Q, K, V = (times(rows, w, precision) for w in (given.wq, given.wk, given.wv))
    table = exp_table(precision)
    result = []
    for i, query in enumerate(Q):
        exps = [
            Fraction(0)
            if causal and j > i
            else precision.meaning(table[precision.bound + int(inner(query, key, precision) * precision.one)])
            for j, key in enumerate(K)
        ]
        Z = iterated_sum(exps, precision)
        weights = [rounded(e / Z, precision) for e in exps]
        result.append([inner(weights, [row[d] for row in V], precision) for d in range(len(rows[0]))])
    return result


def layer(rows: list[Row], transformer: Transformer, number: int) -> list[Row]:
    """G = (sum of the heads) + H, and then G + MLP(G)."""
    precision, given = transformer.precision, transformer.layers[number]
    heads = [head(rows, h, precision, causal=transformer.attention == "causal") for h in given.heads]
    after = []
    for i, row in enumerate(rows):
        attended = [iterated_sum([h[i][d] for h in heads], precision) for d in range(len(row))]
        G = [rounded(a + b, precision) for a, b in zip(attended, row, strict=True)]
        after.append([rounded(a + b, precision) for a, b in zip(G, mlp(G, given.mlp, precision), strict=True)])
    return after
