"""A folder is the family's, entry by entry; one number more or less is seen."""

import random
from dataclasses import replace

import numpy as np
import pytest

from unmask.numerics.precision import Precision
from unmask.pipeline import compiler_of
from unmask.programs.language.positions import N, both, choose, log2_above, n, power_of_two_below
from unmask.programs.recurrences.formulas import formula
from unmask.recurrences.expressions import N as M
from unmask.recurrences.expressions import choose as choose_index
from unmask.recurrences.expressions import constant as indexed
from unmask.recurrences.expressions import indices
from unmask.recurrences.expressions import log2_above as log_above
from unmask.recurrences.expressions import power_of_two_below as power_below
from unmask.verification.families.bridge import compare, values_at
from unmask.verification.families.obligations.ledger import Open
from unmask.weights.kinds import KINDS
from unmask.weights.matrix import Matrix

P = Precision(2)
(i,) = indices("i")


@pytest.mark.parametrize("kind", KINDS)
def test_the_folder_is_the_family(kind):
    compiler = compiler_of("group:S3")
    family = compiler.family(kind)
    for length in (family.least, 3, 6, 33):
        assert compare(family, compiler.compile(kind, length, Precision(3))) > length


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_lengths(kind):
    compiler = compiler_of("(a|b)*abb")
    for length in random.Random(kind).sample(range(2, 5000), 100):
        assert compare(compiler.family(kind), compiler.compile(kind, length, P)) > length


def changed(model, part, **fields):
    return replace(model, transformers={**model.transformers, part: replace(model.transformers[part], **fields)})


def one_more(matrix):
    dense = matrix.dense()
    dense[0, 0] = 1 - dense[0, 0]
    return Matrix.of(dense)


def test_a_changed_entry_is_seen():
    compiler = compiler_of("(a|b)*abb")
    family, model = compiler.family("mdm"), compiler.compile("mdm", 9, P)
    predictor = model.transformers["predictor"]
    positions = np.array(predictor.positions[np.arange(len(predictor.positions))])
    positions[4, 5] *= -1
    layer = predictor.layers[0]
    head = replace(layer.heads[0], wq=one_more(layer.heads[0].wq))
    layers = (replace(layer, heads=(head, *layer.heads[1:])), *predictor.layers[1:])
    for wrong, where in (
        (changed(model, "predictor", embed=one_more(predictor.embed)), "embed"),
        (changed(model, "predictor", positions=positions), "row 4 of the positions"),
        (changed(model, "planner", out=one_more(model.transformers["planner"].out)), "planner, out"),
        (changed(model, "predictor", layers=layers), "wq"),
        (replace(model, steps=5), "steps"),
        (replace(model, aliases={"a": "b"}), "aliases"),
    ):  # fmt: skip
        with pytest.raises(Open, match=where):
            compare(family, wrong)


def test_a_folder_of_another_length_is_not_the_family():
    compiler = compiler_of("(a|b)*abb")
    model = compiler.compile("mdm", 9, P)
    with pytest.raises(Open):
        compare(compiler.family("mdm"), replace(model, length=10, padding=7))


def test_trees_and_arrays_of_expressions_agree():
    rows = np.arange(40)
    for expression in (
        (2 * n + 1 - 2 * (N - power_of_two_below(N))) % N,
        choose(both(n < N, 2 * n < N), 2 * n, N),
        (n - N) // ((N + 1) // 2),
        log2_above(N) * n + (n - 7).positive_part(),
        (n >= N).equals(n > N),
    ):
        for length in (1, 2, 3, 7, 8, 9, 31):
            assert (values_at(expression, rows, length) == expression.evaluate(length, rows)).all()


def drawn(rng, depth):
    """An index expression, which may divide by 0 and ask for the logarithm of what is not above it."""
    if not depth:
        return rng.choice([i, M, i - 3, M - 5, *map(indexed, (0, 1, 2, 5, -2))])
    a, b, c = (drawn(rng, depth - 1) for _ in range(3))
    made = [a + b, a - b, a * b, a // b, a % b, a < b, a.equals(b), a.differs(b), choose_index(a, b, c)]
    return rng.choice([*made, power_below(a), log_above(a)])


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_an_expression_is_one_number():
    """For one slot, for all slots at once, in the folder, and for the bridge."""
    rng = random.Random(17)
    for _ in range(400):
        expression, length = drawn(rng, rng.randrange(1, 4)), rng.randrange(14)
        values = np.arange(-2, length + 3)
        rows, formula_ = np.arange(values.size), formula(expression, {"N": N, "i": n - 2})
        arrays = {"N": np.full(values.size, length), "i": values}
        by_slot = [int(expression.evaluate({"N": length, "i": int(value)})) for value in values]
        assert np.broadcast_to(expression.evaluate(arrays), values.shape).tolist() == by_slot, expression
        assert formula_.evaluate(length, rows).tolist() == by_slot, expression
        assert values_at(formula_, rows, length).tolist() == by_slot, expression
