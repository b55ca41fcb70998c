"""Laws against brute force: every string summed up one by one, every path of a sampler followed one by one."""

import json
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pytest

from unmask.samplers.law_comparison import (
    SHARPNESS,
    Bench,
    CannotEnumerate,
    Scripted,
    _EndOfScript,
    compare_samplers,
    exact_distance,
    exact_law,
    law_budgets,
    sampled_distance,
    scripted_law,
)
from unmask.samplers.remasking_rules import P2, Remdm
from unmask.samplers.sampler_names import DEFAULT_SAMPLERS, named_samplers
from unmask.samplers.string_law import LawPredictor, law_from_json, read_law
from unmask.samplers.write_once_rules import Dream, Llada

NGRAM = {
    "kind": "ngram",
    "alphabet": ["a", "b", "c"],
    "order": 3,
    "contexts": {
        "": {"a": "1/2", "b": "1/3", "c": "1/6"},
        "a": {"a": 0.9, "b": 0.1},
        "b": {"b": 0.25, "c": 0.75},
        "c": {"c": 1},
        "a a": {"a": 0.1, "c": 0.9},
        "a b": {"c": 1},
        "b b": {"a": 1},
        "b c": {"a": 0.5, "b": 0.5},
        "c c": {"a": 0.3, "b": 0.3, "c": 0.4},
        "a c": {"a": 0.2, "b": 0.8},
        "c a": {"c": 1},
        "c b": {"b": 1},
        "b a": {"a": 0.5, "b": 0.5},
    },
}
HMM = {
    "kind": "hmm",
    "alphabet": ["x", "y"],
    "states": ["s", "t"],
    "initial": {"s": 0.75, "t": 0.25},
    "transitions": {"s": {"s": 0.9, "t": 0.1}, "t": {"s": 0.5, "t": 0.5}},
    "emissions": {"s": {"x": 0.8, "y": 0.2}, "t": {"y": 1}},
}
AUTOMATON = {
    "kind": "automaton",
    "alphabet": ["x", "y"],
    "states": ["even", "odd"],
    "initial": {"even": 1},
    "transitions": {"even": {"x": {"odd": 0.5}, "y": {"even": 0.25}}, "odd": {"x": {"even": 0.5, "odd": 0.25}}},
    "final": {"even": 0.25, "odd": 0.25},
}
DOCUMENTS = {"ngram": NGRAM, "hmm": HMM, "automaton": AUTOMATON}


def number(value):
    return Fraction(str(value))


def by_hand(document, string):
    """The weight of a string, summed over all paths of states with fractions."""
    if document["kind"] == "ngram":
        weight, order = Fraction(1), document["order"]
        for i, symbol in enumerate(string):
            row = document["contexts"].get(" ".join(string[max(0, i - order + 1) : i]), {})
            weight *= number(row.get(symbol, 0))
        return weight
    total = Fraction(0)
    for path in product(document["states"], repeat=len(string) + 1):
        weight = number(document["initial"].get(path[0], 0))
        for (here, there), symbol in zip(pairwise(path), string, strict=True):
            if document["kind"] == "hmm":
                weight *= number(document["transitions"][here].get(there, 0))
                weight *= number(document["emissions"][here].get(symbol, 0))
            else:
                weight *= number(document["transitions"].get(here, {}).get(symbol, {}).get(there, 0))
        if document["kind"] == "automaton":
            weight *= number(document["final"].get(path[-1], 0))
        total += weight
    return total


def truth_by_hand(document, length):
    weights = [by_hand(document, string) for string in product(document["alphabet"], repeat=length)]
    return [float(w / sum(weights)) for w in weights]


def conditionals_by_hand(document, canvas, mask):
    """p(x_i | what is written), by summing over all strings that agree with it."""
    alphabet = document["alphabet"]
    sums = [[Fraction(0)] * len(alphabet) for _ in canvas]
    for string in product(range(len(alphabet)), repeat=len(canvas)):
        if all(c in (mask, s) for c, s in zip(canvas, string, strict=True)):
            weight = by_hand(document, [alphabet[s] for s in string])
            for i, s in enumerate(string):
                sums[i][s] += weight
    return [[float(w / sum(row)) if sum(row) else None for w in row] for row in sums]


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_law_is_that_of_all_paths(kind, length):
    law = law_from_json(DOCUMENTS[kind])
    actual = law.probabilities(law.strings(length))
    assert actual == pytest.approx(truth_by_hand(DOCUMENTS[kind], length), abs=1e-12)
    assert actual.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_conditionals_are_those_of_all_strings(kind):
    document = DOCUMENTS[kind]
    predictor = LawPredictor(law_from_json(document))
    canvases = np.array(list(product(range(predictor.mask_id + 1), repeat=3)))
    actual = predictor.conditionals(canvases)
    for canvas, rows in zip(canvases.tolist(), actual.tolist(), strict=True):
        expected = conditionals_by_hand(document, canvas, predictor.mask_id)
        for cell, row, wanted in zip(canvas, rows, expected, strict=True):
            if wanted[0] is None:  # nothing is conditional on what cannot be
                assert sum(row) == pytest.approx(1)
                assert cell == predictor.mask_id or row[cell] == 1
            else:
                assert row == pytest.approx(wanted, abs=1e-12)


def test_a_wrong_conditional_is_seen():
    """The comparison can fail: a law with one probability moved is another law."""
    moved = {**HMM, "initial": {"s": 0.74, "t": 0.26}}
    law = law_from_json(moved)
    assert law.probabilities(law.strings(3)) != pytest.approx(truth_by_hand(HMM, 3), abs=1e-6)


# ------------------------------------------------------------------------------------------------- laws of samplers


def random_quota_by_hand(document, length, sizes):
    """The law of writing random subsets of these sizes, each slot drawn by itself: all orders, all symbols."""
    mask = len(document["alphabet"])
    law = {}

    def go(canvas, weight, left):
        if not left:
            law[canvas] = law.get(canvas, 0) + weight
            return
        rows = conditionals_by_hand(document, canvas, mask)
        open_slots = [i for i, c in enumerate(canvas) if c == mask]
        chosen = list(combinations(open_slots, left[0]))
        for slots in chosen:
            for symbols in product(range(mask), repeat=len(slots)):
                p = 1 / len(chosen)
                after = list(canvas)
                for slot, symbol in zip(slots, symbols, strict=True):
                    p *= rows[slot][symbol] if rows[slot][symbol] is not None else 1 / mask
                    after[slot] = symbol
                if p:
                    go(tuple(after), weight * p, left[1:])

    go((mask,) * length, 1.0, sizes)
    return law


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize(("steps", "sizes"), [(3, (1, 1, 1)), (2, (2, 1)), (1, (3,))])
def test_the_law_of_random_remasking_by_hand(kind, steps, sizes):
    bench = Bench(law_from_json(DOCUMENTS[kind]), 3)
    expected = random_quota_by_hand(DOCUMENTS[kind], 3, sizes)
    sampler_law = exact_law(bench.predictor, Llada(steps, temperature=1.0, remasking="random"), 3)
    law = {tuple(canvas): p for canvas, p in zip(sampler_law.canvases.tolist(), sampler_law.probabilities, strict=True)}
    assert set(law) == set(expected)
    assert law == {canvas: pytest.approx(p, abs=1e-12) for canvas, p in expected.items()}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_one_slot_per_pass_in_an_order_that_the_draw_does_not_touch_is_exact(kind):
    bench = Bench(law_from_json(DOCUMENTS[kind]), 4)
    for name in ("llada:remasking=random", "llada:block_length=1", "dream:alg=entropy,scheduler=linear"):
        (result,) = compare_samplers(bench, named_samplers(4, (name,)), (4,))
        assert result.runs[0].distance.exact
        assert result.runs[0].distance.kl == pytest.approx(0, abs=1e-9), name
        assert result.runs[0].distance.tv == pytest.approx(0, abs=1e-9), name


def test_a_confidence_that_looks_at_the_draw_is_biased_even_then():
    """p(x0) is larger for likelier draws, so that these are written first: not the law, though one per pass."""
    bench = Bench(law_from_json(HMM), 3)
    (result,) = compare_samplers(bench, named_samplers(3, ("llada:remasking=low_confidence",)), (3,))
    assert result.runs[0].distance.tv > 0.05


def test_everything_at_once_is_the_product_of_marginals():
    bench = Bench(law_from_json(HMM), 3)
    marginals = bench.predictor.conditionals(np.full((1, 3), bench.predictor.mask_id))[0]
    expected = [np.prod([marginals[i, s] for i, s in enumerate(string)]) for string in product(range(2), repeat=3)]
    for name in ("llada:remasking=low_confidence", "llada:remasking=random", "dream:alg=origin"):
        (result,) = compare_samplers(bench, named_samplers(3, (name,)), (1,))
        assert result.runs[0].distance.tv == pytest.approx(np.abs(bench.truth - expected).sum() / 2, abs=1e-12)


@pytest.mark.parametrize(
    "name", [n for n in DEFAULT_SAMPLERS if not n.startswith("p2") and "scheduler=linear" not in n]
)
def test_a_law_that_is_computed_is_the_law_that_is_sampled(name):
    """Enumerated against draws of the same rule, within their bars."""
    bench = Bench(law_from_json(HMM), 3)
    entry = named_samplers(3, (name,))[0]
    sampler = entry.make(2, **SHARPNESS)
    law = exact_law(bench.predictor, sampler, 3)
    assert law.probabilities.sum() == pytest.approx(1)
    exact = bench.run(sampler, 2, runs=2, seed=0)
    drawn = bench.sampled(sampler, 2, runs=1200, seed=1)
    assert exact.distance.exact
    assert not drawn.distance.exact
    assert drawn.passes == pytest.approx(exact.passes, abs=0.1)
    assert abs(drawn.distance.tv - exact.distance.tv) < drawn.distance.tv_error * 2
    assert abs(drawn.distance.kl - exact.distance.kl) < 5 * drawn.distance.kl_error + 1e-3


@pytest.mark.parametrize("sampler", [Dream(3, temperature=1.0), Dream(2), Remdm(3, eta=0.4), Remdm(3, "rescale", 0.5)])
def test_slots_moved_at_once_are_slots_moved_one_by_one(sampler):
    predictor = LawPredictor(law_from_json(HMM))
    at_once, by_scripts = exact_law(predictor, sampler, 3), scripted_law(predictor, sampler, 3)
    assert dict(zip(map(tuple, at_once.canvases.tolist()), at_once.probabilities, strict=True)) == {
        key: pytest.approx(p, abs=1e-12)
        for key, p in zip(map(tuple, by_scripts.canvases.tolist()), by_scripts.probabilities, strict=True)
    }
    assert at_once.passes == pytest.approx(by_scripts.passes)


def test_an_enumeration_that_weighs_wrongly_is_seen(monkeypatch):
    """Subsets weighed by their first slot instead of alike: no longer what is computed by hand."""
    honest = Scripted.subset

    def crooked(self, slots, count):
        try:
            return honest(self, slots, count)
        except _EndOfScript as asked:
            weights = [1 + outcome[0] for _, outcome in asked.outcomes]
            pairs = zip(weights, asked.outcomes, strict=True)
            raise _EndOfScript([(w / sum(weights), outcome) for w, (_, outcome) in pairs]) from None

    monkeypatch.setattr(Scripted, "subset", crooked)
    bench = Bench(law_from_json(NGRAM), 3)
    expected = random_quota_by_hand(NGRAM, 3, (2, 1))
    sampler_law = exact_law(bench.predictor, Llada(2, temperature=1.0, remasking="random"), 3)
    law = {tuple(canvas): p for canvas, p in zip(sampler_law.canvases.tolist(), sampler_law.probabilities, strict=True)}
    assert max(abs(law[canvas] - p) for canvas, p in expected.items()) > 1e-3


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "examples" / "laws").iterdir()), ids=lambda p: p.stem
)
def test_the_laws_among_the_examples(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    law = read_law(path)
    assert law.probabilities(law.strings(4)) == pytest.approx(truth_by_hand(document, 4), abs=1e-12)


def test_all_at_once_misses_what_parity_asks():
    """Only strings with an even number of a are possible, and no slot alone says which: half of the draws are odd."""
    bench = Bench(read_law(Path(__file__).parents[2] / "examples" / "laws" / "even.json"), 3)
    runs = {
        run.steps: run
        for (result,) in [compare_samplers(bench, named_samplers(3, ("llada:remasking=random",)), (3, 1))]
        for run in result.runs
    }
    assert runs[1].distance.impossible == pytest.approx(0.5, abs=0.2)
    assert runs[3].distance.impossible == pytest.approx(0, abs=1e-12)


def test_what_draws_from_a_continuum_or_too_often_is_sampled():
    bench = Bench(law_from_json(HMM), 3)
    with pytest.raises(CannotEnumerate):
        exact_law(bench.predictor, P2(3, tau=1.0), 3)
    run = bench.run(P2(3, tau=1.0), 3, runs=500, seed=0)
    assert (run.distance.exact, run.distance.runs) == (False, 500)
    assert run.distance.tv_error > 0
    long = Bench(law_from_json(HMM), 12)
    with pytest.raises(CannotEnumerate):
        exact_law(long.predictor, Llada(6, temperature=1.0, remasking="random"), 12)


def test_drawn_slots_at_a_temperature_are_enumerated():
    bench = Bench(law_from_json(HMM), 3)
    sampler = Dream(3, "entropy", alg_temp=0.5, temperature=1.0, scheduler="linear")
    assert bench.run(sampler, 3, runs=2, seed=0).distance.tv == pytest.approx(0, abs=1e-12)


# ------------------------------------------------------------------------------------------------- distances


def test_distances_by_hand():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25])
    distance = exact_distance(p, q)
    assert (distance.kl, distance.tv, distance.impossible) == (pytest.approx(0.5 * np.log(2)), 0.25, 0.25)
    assert exact_distance(p, p).to_json()["kl"] == 0
    infinite = exact_distance(p, np.array([1.0, 0.0, 0.0]))
    assert infinite.kl == np.inf
    assert infinite.to_json()["kl"] is None


def test_bars_shrink_and_cover():
    rng = np.random.default_rng(0)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3])
    exact, bars = exact_distance(p, q), []
    for runs in (100, 10_000):
        distances = [sampled_distance(p, rng.multinomial(runs, q)) for _ in range(200)]
        errors = [abs(d.tv - exact.tv) for d in distances]
        assert np.mean(errors) <= np.mean([d.tv_error for d in distances])
        covered = [abs(d.kl - exact.kl) <= 2 * d.kl_error for d in distances]
        assert np.mean(covered) > 0.85
        bars.append(np.mean([d.tv_error for d in distances]))
    assert bars[1] < bars[0] / 5


def test_budgets_of_a_law():
    assert law_budgets(6) == (6, 3, 2, 1)
    assert law_budgets(1) == (1,)
