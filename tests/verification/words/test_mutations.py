"""One change in a compiled model: refuted by a word that differs, or proved only if no word does.

Every verdict is compared with runs of the reference engine on all words, and with what is right in Python.
"""

import random
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from unmask.api import compile_problem, verify_model
from unmask.engines.reference import ReferenceEngine
from unmask.verification.model_outcomes import outcomes
from unmask.weights.kinds import KINDS
from verification.mutation import mutated, with_tensor


def abb(word):
    return re.fullmatch("(a|b)*abb", word)


def parity(word):
    return word.count("1") % 2


def turns(word):
    """Z3, the sum of `+1` and `+2`."""
    return sum(map(int, word.split())) % 3 == 0


SUBJECTS = [("regex:(a|b)*abb", 4, "ab!", abb), ("group:Z3", 3, None, turns), ("family:parity", 4, "01", parity)]


def subjects(kind):
    """Circuits are compiled to three kinds; converted to the others they are large."""
    return SUBJECTS if kind in ("mdm", "plt", "cot") else SUBJECTS[:2]


@cache
def compiled(problem, kind, length):
    return compile_problem(problem, kind, length=length)


def differing(model, length, letters, oracle):
    """{word: what the model says} of all words that it gets wrong."""
    if letters is None:
        words = [" ".join(word) for word in product(model.input_symbols, repeat=length)]
    else:
        words = ["".join(word) for word in product(letters, repeat=length)]
    outcomes_of_words = [str(outcome) for outcome in outcomes(model, words, ReferenceEngine())]
    return {
        w: s for w, s in zip(words, outcomes_of_words, strict=True) if s != ("accepted" if oracle(w) else "rejected")
    }


def attack(kind, seeds):
    """How often each verdict came, for one mutation per seed."""
    counts = Counter()
    for seed in seeds:
        problem, length, letters, oracle = subjects(kind)[seed % len(subjects(kind))]
        change, model = mutated(compiled(problem, kind, length), random.Random(seed))
        verdict = verify_model(model, against=problem, method="prove")
        wrong = differing(model, length, letters, oracle)
        description = f"{kind} of {problem}, seed {seed}, {change}: {verdict}"
        if verdict.status == "proved":
            assert not wrong, description
        elif verdict.status == "refuted":
            assert wrong[verdict.counterexample] == verdict.got, description
            assert verdict.expected in ("accepted", "rejected"), description
        counts[verdict.status] += 1
        counts["fails on a word"] += any(said.startswith("error") for said in wrong.values())
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_a_dozen_mutations_of_every_kind(kind):
    counts = attack(kind, range(12))
    assert counts["refuted"] >= 3, counts
    assert counts["unknown"] <= 3, counts


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_mutations_of_every_kind(kind, capsys):
    counts = attack(kind, range(100, 200))
    with capsys.disabled():
        print(f"\n{kind}: {dict(counts)}")
    assert counts["refuted"] >= 20, counts
    assert counts["unknown"] <= 10, counts


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
def test_a_model_without_mutation_is_proved(kind):
    for problem, length, letters, oracle in SUBJECTS:
        model = compiled(problem, kind, length)
        assert verify_model(model, method="prove").status == "proved"
        assert differing(model, length, letters, oracle) == {}


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
def test_a_model_that_divides_by_zero_on_some_word_is_not_proved(kind):
    """No row can attend to a letter b: the verdict names a word for which a run fails."""
    model = compiled("regex:(a|b)*abb", kind, 4)
    failing = 0
    for name, transformer in model.transformers.items():
        bound = transformer.precision.bound
        for tensor, column in product(["embed"], range(transformer.width)):
            dense = dict(transformer.tensors())[tensor].dense()
            dense[model.token["b"], column] = bound if dense[model.token["b"], column] <= 0 else -bound
            broken = {**model.transformers, name: with_tensor(transformer, tensor, dense)}
            other = replace(model, transformers=broken)
            wrong = differing(other, 4, "ab!", abb)
            errors = [word for word, outcome in wrong.items() if outcome.startswith("error")]
            if not errors:
                continue
            verdict = verify_model(other, method="prove")
            assert verdict.status == "refuted"
            assert wrong[verdict.counterexample] == verdict.got
            if len(errors) == len(wrong):
                assert "attends to nothing" in verdict.got
                assert "b" in verdict.counterexample
                failing += 1
            if failing >= 2:
                return
    pytest.skip("no column of this kind makes a row attend to nothing")


def test_mutations_change_something():
    """Most of them change the weights, and they come from every tensor."""
    model = compiled("regex:(a|b)*abb", "mdm", 4)
    kinds = Counter()
    for seed in range(60):
        change, other = mutated(model, random.Random(seed))
        name = change.split(":")[0]
        transformer, changed = model.transformers[name], other.transformers[name]
        kinds["pos" if "pos" in change else "weights"] += 1
        same = np.array_equal(transformer.positions, changed.positions) and all(
            np.array_equal(a.dense() if hasattr(a, "dense") else a, b.dense() if hasattr(b, "dense") else b)
            for (_, a), (_, b) in zip(transformer.tensors(), changed.tensors(), strict=True)
        )
        kinds["same"] += same
    assert kinds["same"] <= 20
    assert min(kinds["pos"], kinds["weights"]) >= 10
