"""Checks of the paper's statements about numbers, layers and decoding."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.numerics import number_lemmas
from unmask.numerics.arithmetic import LARGEST_PRECISION, Precision, add, divide, exp_table, multiply, total
from unmask.numerics.noise import DRAWS, gumbel_law, noise_counts
from unmask.paper.checks.evidence import Check, Effort, Evidence, Refuted, require
from unmask.reasoners.decoding import decode
from unmask.testing.draws import Draws
from unmask.theorems.conversion_checks import random_saturating_transformer
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Mlp, Transformer

# F_p and a transformer layer by their definitions, in fractions. This is slow, and shares only exp with the engines.


Row = list[Fraction]


def field(precision: Precision) -> list[Fraction]:
    """Return { ±a·2^-p : 0 <= a <= 4^p - 1 }, in order."""
    numbers = {sign * Fraction(a, 2**precision.p) for sign in (1, -1) for a in range(4**precision.p)}
    return sorted(numbers)


def rounded(x: Fraction, precision: Precision) -> Fraction:
    """Return the closest number of F_p; of two equally close ones, the one nearer to 0."""
    unit = Fraction(1, 2**precision.p)
    low = x // unit * unit
    largest = Fraction(4**precision.p - 1, 2**precision.p)
    candidates = [max(-largest, min(largest, c)) for c in (low, low + unit)]
    return min(candidates, key=lambda c: (abs(c - x), abs(c)))


def iterated_sum(terms: Sequence[Fraction], precision: Precision) -> Fraction:
    """Return [… [[x1 + x2] + x3] … + xN]."""
    result = Fraction(0)
    for term in terms:
        result = rounded(result + term, precision)
    return result


def inner(x: Sequence[Fraction], y: Sequence[Fraction], precision: Precision) -> Fraction:
    return iterated_sum([rounded(a * b, precision) for a, b in zip(x, y, strict=True)], precision)


def rows_times_matrix(rows: list[Row], matrix: Matrix, precision: Precision) -> list[Row]:
    columns = [[precision.meaning(v) for v in column] for column in matrix.dense().T]
    return [[inner(row, column, precision) for column in columns] for row in rows]


def mlp(row: Row, weights: Mlp, precision: Precision) -> Row:
    """Return ReLU(W2·ReLU(W1·x + b1) + b2)."""
    for matrix, bias in ((weights.w1, weights.b1), (weights.w2, weights.b2)):
        (row,) = rows_times_matrix([row], matrix, precision)
        row = [max(Fraction(0), rounded(a + precision.meaning(b), precision)) for a, b in zip(row, bias, strict=True)]
    return row


def head(rows: list[Row], weights: Head, precision: Precision, *, causal: bool) -> list[Row]:
    """Return softmax(mask(Q·Kᵀ))·V; raise ZeroDivisionError if the sum of exponentials is 0."""
    Q, K, V = (rows_times_matrix(rows, w, precision) for w in (weights.wq, weights.wk, weights.wv))
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
        attention = [rounded(e / Z, precision) for e in exps]
        result.append([inner(attention, [row[d] for row in V], precision) for d in range(len(rows[0]))])
    return result


def layer(rows: list[Row], transformer: Transformer, number: int) -> list[Row]:
    """Return G + MLP(G), where G = (sum of the heads) + H."""
    precision, weights = transformer.precision, transformer.layers[number]
    heads = [head(rows, h, precision, causal=transformer.attention == "causal") for h in weights.heads]
    after = []
    for i, row in enumerate(rows):
        attended = [iterated_sum([h[i][d] for h in heads], precision) for d in range(len(row))]
        G = [rounded(a + b, precision) for a, b in zip(attended, row, strict=True)]
        after.append([rounded(a + b, precision) for a, b in zip(G, mlp(G, weights.mlp, precision), strict=True)])
    return after


ALL_PRECISIONS = tuple(Precision(p) for p in range(1, LARGEST_PRECISION + 1))


def about_numbers(lemma: Callable[[Precision], int], cases: str) -> Check:
    """Return the check of a lemma of `numerics.number_lemmas` for p = 1 … 8; `cases` describes its cases."""

    def check(_: Effort) -> Evidence:
        return Evidence(
            f"every {cases}, p = 1 … {LARGEST_PRECISION}", sum(lemma(precision) for precision in ALL_PRECISIONS)
        )

    return check


def codes(effort: Effort) -> Evidence:
    most = 4 if effort.percent >= 100 else 2
    cases = sum(number_lemmas.interleaved_codes(p, bits) for p in ALL_PRECISIONS for bits in range(1, most + 1))
    return Evidence(f"every pair of codes of at most {most} bits, p = 1 … {LARGEST_PRECISION}", cases)


def scaled_codes(effort: Effort) -> Evidence:
    """Check the exact score, and that the printed bound fails for m = 2, as the erratum says."""
    most = 3 if effort.percent >= 100 else 2
    cases = sum(
        number_lemmas.scaled_codes(p, bits, m)
        for p in ALL_PRECISIONS
        for bits in range(1, most + 1)
        for m in (1, 2, 3, 4)
        if m < p.one
    )
    for precision in ALL_PRECISIONS[1:]:
        try:
            number_lemmas.scaled_codes(precision, 1, 2, printed=True)
        except number_lemmas.LemmaFails:
            continue
        raise Refuted(f"the printed bound holds for m = 2 at p = {precision.p}, though it should not")
    return Evidence(f"every pair of codes of at most {most} bits, m = 1 … 4, p = 1 … {LARGEST_PRECISION}", cases)


def fixed_point(_: Effort) -> Evidence:
    cases = 0
    for precision in ALL_PRECISIONS[:4]:
        numbers = [precision.meaning(a) for a in precision.numbers()]
        require(numbers == field(precision), f"F_{precision.p} is not the set of the definition")
        require(numbers[-1] == 2**precision.p - Fraction(1, 2**precision.p), f"B is wrong for p = {precision.p}")
        cases += len(numbers)
    return Evidence("every number, p = 1 … 4", cases)


def rounding(_: Effort) -> Evidence:
    """Compare products, quotients and sums of all pairs with the definition in fractions."""
    cases = 0
    for precision in ALL_PRECISIONS[:2]:
        for a, b in product(precision.numbers(), repeat=2):
            x, y = precision.meaning(a), precision.meaning(b)
            results = [multiply(a, b, precision), add(a, b, precision)]
            expected = [x * y, x + y]
            if b > 0:
                results.append(divide(a, b, precision))
                expected.append(x / y)
            for result, exact in zip(results, expected, strict=True):
                require(precision.meaning(result) == rounded(exact, precision), f"{x} and {y} round wrongly")
                cases += 1
    return Evidence("products, sums and quotients of all pairs against fractions, p = 1, 2", cases)


def summation(effort: Effort) -> Evidence:
    draws, rng = effort.of(200), Draws(3, 1)
    cases = sum(_compare_sum(terms, Precision(1)) for terms in product(Precision(1).numbers(), repeat=3))
    for precision in ALL_PRECISIONS:
        B = precision.bound
        sums = total(np.array([B, B, -B]), precision), total(np.array([B, -B, B]), precision)
        require(sums == (0, B), "the order of the terms makes no difference")
    for precision in ALL_PRECISIONS[1:4]:
        vectors = rng.integers(-precision.bound, precision.bound, (draws, 7))
        cases += sum(_compare_sum(terms, precision) for terms in vectors)
    return Evidence("all triples of F_1 and random vectors of F_2 … F_4 against fractions", cases)


def _compare_sum(terms: Sequence[int], precision: Precision) -> int:
    """Compare a sum with the definition; return 1, the number of cases."""
    meaning = [precision.meaning(a) for a in terms]
    result = precision.meaning(total(np.array(terms), precision))
    require(result == iterated_sum(meaning, precision), f"the sum of {meaning} is {result}")
    return 1


def layers(effort: Effort) -> Evidence:
    """Compare random layers of the reference engine with the equations in fractions."""
    cases = sum(_compare_layer(seed, heads=True) for seed in range(effort.of(40)))
    return Evidence("random layers, causal and unmasked, against the equations in fractions, p = 1 … 3", cases)


def mlps(effort: Effort) -> Evidence:
    """Compare random MLPs with the equations in fractions; check that an MLP never lowers a column."""
    cases = sum(_compare_layer(seed, heads=False) for seed in range(effort.of(60)))
    return Evidence("random MLPs on random rows against fractions, p = 1 … 3", cases)


def _compare_layer(seed: int, *, heads: bool) -> int:
    """Compare a layer with its definition; return the number of rows compared."""
    source = random_saturating_transformer(seed, "causal" if seed % 2 else "unmasked", precision=1 + seed % 3)
    first = source.layers[0] if heads else replace(source.layers[0], heads=())
    transformer = replace(source, layers=(first,))
    precision = transformer.precision
    shape = (1, len(transformer.positions), transformer.width)
    residual = Draws(seed, 5).integers(-precision.bound, precision.bound, shape)
    before = [[precision.meaning(a) for a in row] for row in residual[0]]
    try:
        expected = layer(before, transformer, 0)
    except ZeroDivisionError:
        expected = None
    try:
        after = ReferenceEngine().session(transformer).layers(residual, 0, 1)[0]
        actual = [[precision.meaning(a) for a in row] for row in after]
    except AttendsToNothing:
        actual = None
    require(actual == expected, f"the layer of random transformer {seed} differs from its definition")
    if not heads:
        assert expected is not None
        require(
            all(b >= a for x, y in zip(before, expected, strict=True) for a, b in zip(x, y, strict=True)), "lowered"
        )
    return len(before)


def decoding(_: Effort) -> Evidence:
    """Check that the lowest index wins a tie, and that different logits may have the same softmax in F_p."""
    precision, cases = Precision(1), 0
    for logits in product(precision.numbers(), repeat=3):
        expected = max(range(3), key=lambda i: (logits[i], -i))
        require(int(decode(np.array([logits]), precision)[0]) == expected, f"{logits} decodes to another symbol")
        cases += 1
    ties = [p for p in ALL_PRECISIONS if softmax_ties(p)]
    require(ties == list(ALL_PRECISIONS), "the softmax of F_p separates all logits, though it should not")
    return Evidence("all logits of three symbols, p = 1", cases)


def softmax_ties(precision: Precision) -> bool:
    """Return whether the softmax turns the logits B and B - 2^-p into a tie."""
    table = number_lemmas.exp_table(precision)
    return bool(table[2 * precision.bound] == table[2 * precision.bound - 1])


def gumbel(_: Effort) -> Evidence:
    """Compare the exact law of Gumbel-max with an enumeration of all pairs and triples of noise, p = 1."""
    precision, cases = Precision(1), 0
    counts = noise_counts(precision)
    for size in (2, 3):
        for logits in product((-precision.bound, -1, 0, 2), repeat=size):
            chances = [0] * size
            for noise in product(counts, repeat=size):
                weight = 1
                for n in noise:
                    weight *= counts[n]
                symbols = decode(np.array([logits]), precision, noise=np.array([noise]))
                chances[int(symbols[0])] += weight
            law = [Fraction(chance, DRAWS**size) for chance in chances]
            require(law == gumbel_law(list(logits), precision), f"the law of the logits {logits} is another")
            require(sum(law) == 1, "the probabilities do not sum to 1")
            cases += 1
    return Evidence("the exact law for logits of two and three symbols against all noises, p = 1", cases)
