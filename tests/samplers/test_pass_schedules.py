"""Schedules: every formula against brute-force enumeration over strings, sets and orders."""

import json
import random
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import ceil, comb, log, log2
from pathlib import Path

import numpy as np
import pytest

from unmask.errors import ProblemError, TooLarge, UnmaskError
from unmask.samplers import exact_passes, masked_information
from unmask.samplers.exact_passes import bisection_passes, is_linked, least_passes
from unmask.samplers.law_comparison import Bench
from unmask.samplers.masked_information import information_curve
from unmask.samplers.pass_schedules import expected_kl, optimal_schedule, published_schedules
from unmask.samplers.string_law import LawPredictor, law_from_json, read_law
from unmask.samplers.write_once_rules import Bisection

from .test_law_comparison import DOCUMENTS


def chain(matrix, initial=None, symbols="abcd"):
    """A first-order chain with these rows."""
    letters = list(symbols[: len(matrix)])
    row = lambda weights: dict(zip(letters, weights, strict=True))  # noqa: E731
    first = initial or [f"1/{len(letters)}"] * len(letters)
    contexts = {"": row(first), **{a: row(weights) for a, weights in zip(letters, matrix, strict=True)}}
    return law_from_json({"kind": "ngram", "alphabet": letters, "order": 2, "contexts": contexts}, "chain")


STICKY = chain([["9/10", "1/10"], ["1/5", "4/5"]])
FOUR_STATES = law_from_json(
    {
        "kind": "ngram",
        "alphabet": ["a", "b"],
        "order": 3,
        "contexts": {"": {"a": "1/2", "b": "1/2"}}
        | {c: {"a": f"{n}/9", "b": f"{9 - n}/9"} for n, c in enumerate(["a", "b", "a a", "a b", "b a", "b b"], 2)},
    },
    "trigram",
)
LAWS = {
    "sticky": STICKY,
    "trigram": FOUR_STATES,
    **{name: law_from_json(document, name) for name, document in DOCUMENTS.items()},
}


def entropies_of_sets(law, length):
    """g by definition: the entropy of every set of positions, from the table of all strings."""
    strings = law.strings(length)
    truth = law.probabilities(strings)
    means = []
    for size in range(length + 1):
        total = 0.0
        for chosen in combinations(range(length), size):
            _, label = np.unique(strings[:, list(chosen)], axis=0, return_inverse=True)
            p = np.bincount(label.ravel(), weights=truth)
            total -= float(sum(x * log(x) for x in p if x > 0))
        means.append(total / comb(length, size))
    return np.array(means)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("length", [1, 2, 6])
def test_the_curve_is_that_of_its_definition(name, length):
    curve = information_curve(LAWS[name], length)
    assert curve.exact
    assert curve.error < 1e-10
    np.testing.assert_allclose(curve.entropy_of_sets, entropies_of_sets(LAWS[name], length), atol=1e-10)
    assert (np.diff(curve.per_position) <= 1e-10).all()


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("most", [3, 14, 40])
def test_merged_beliefs_bound_the_truth_from_both_sides(monkeypatch, name, most):
    law, length = LAWS[name], 6
    truth = entropies_of_sets(law, length)
    initial, steps = masked_information.normalised_transitions(law, length)
    for limit in ("MOST_NUMBERS", "MOST_MERGED"):
        monkeypatch.setattr(masked_information, limit, most * (length + 1) * len(initial))
    upper, lost = masked_information._entropies(initial, steps, may_merge=True)
    assert lost.any() == (abs(upper - truth) > 1e-12).any()
    assert (upper - lost <= truth + 1e-12).all()
    assert (truth <= upper + 1e-12).all()


def test_prices_of_long_strings_have_the_error_that_is_stated():
    """A one-state law has no correlations; the price of a schedule is 0 up to rounding."""
    coin = law_from_json(
        {"kind": "ngram", "alphabet": ["h", "t"], "order": 1, "contexts": {"": {"h": "1/3", "t": "2/3"}}}
    )
    curve = information_curve(coin, 400)
    assert curve.exact
    for found in (optimal_schedule(curve, 3), *published_schedules(curve, 3)):
        assert found.kl <= found.error < 1e-7
        assert found.kl < 1e-10
    hmm = information_curve(LAWS["hmm"], 64)
    assert not hmm.exact
    assert optimal_schedule(hmm, 8).error < 1e-4


@pytest.mark.parametrize("name", LAWS)
def test_too_many_beliefs_of_short_strings_are_enumerated(monkeypatch, name):
    followed = information_curve(LAWS[name], 7)
    monkeypatch.setattr(masked_information, "MOST_NUMBERS", 1)
    enumerated = information_curve(LAWS[name], 7)
    assert followed.exact
    assert enumerated.exact
    np.testing.assert_allclose(enumerated.entropy_of_sets, followed.entropy_of_sets, atol=1e-12)


@pytest.mark.parametrize("name", ["hmm", "trigram"])
def test_too_many_beliefs_give_a_curve_with_an_error_that_holds(monkeypatch, name):
    law, length = LAWS[name], 10
    exact = information_curve(law, length)
    monkeypatch.setattr(masked_information, "MOST_NUMBERS", 100)
    monkeypatch.setattr(masked_information, "MOST_CANVASES", 0)
    monkeypatch.setattr(masked_information, "MOST_MERGED", 16 * len(law.initial) * (length + 1))
    rough = information_curve(law, length)
    assert exact.exact
    assert not rough.exact
    assert (abs(rough.entropy_of_sets - exact.entropy_of_sets) <= rough.error + 1e-12).all()
    lower, upper = rough.bounds_per_position
    assert (lower - 1e-12 <= exact.per_position).all()
    assert (exact.per_position <= upper + 1e-12).all()
    known, bounded = (optimal_schedule(curve, 3) for curve in (exact, rough))
    assert abs(expected_kl(exact, bounded.cuts) - bounded.kl) <= bounded.error + 1e-12
    assert known.kl <= bounded.kl + bounded.error + 1e-12


def test_the_curve_of_a_long_chain_by_pairs_of_positions():
    """H(X_j | X_l, X_r) = H(l, j) + H(j, r) − H(j) − H(l, r) in a chain, summed over gaps: another way to f."""
    length = 40
    matrix = np.array([[0.9, 0.1], [0.2, 0.8]])
    marginals = [np.array([0.5, 0.5])]
    for _ in range(length - 1):
        marginals.append(marginals[-1] @ matrix)
    entropy = lambda p: float(-sum(x * log(x) for x in np.ravel(p) if x > 0))  # noqa: E731
    powers = [np.linalg.matrix_power(matrix, d) for d in range(length)]
    pair = {(i, j): entropy(marginals[i][:, None] * powers[j - i]) for i in range(length) for j in range(i, length)}
    single = [entropy(m) for m in marginals]

    def hidden(left, j, right):
        if left < 0 and right >= length:
            return single[j]
        if left < 0:
            return pair[j, right] - single[right]
        if right >= length:
            return pair[left, j] - single[left]
        return pair[left, j] + pair[j, right] - single[j] - pair[left, right]

    f = np.zeros(length)
    for left in range(-1, length):
        for right in range(left + 2, length + 1):
            ends = (left >= 0) + (right < length)
            outside = length - (right - left - 1) - ends
            total = sum(hidden(left, j, right) for j in range(left + 1, right))
            for i in range(ends, outside + ends + 1):
                f[i] += comb(outside, i - ends) * total / (comb(length, i) * (length - i)) if i < length else 0
    np.testing.assert_allclose(information_curve(STICKY, length).per_position, f, atol=1e-10)


def mean_kl(law, length, cuts):
    """By definition: KL(p ‖ q_order) for every order of the positions, from the exact conditionals."""
    strings = law.strings(length)
    truth = law.probabilities(strings)
    possible = truth > 0
    predictor, total, orders = LawPredictor(law), 0.0, list(permutations(range(length)))
    for order in orders:
        q = np.ones(len(strings))
        for a, b in pairwise(cuts):
            canvas = np.full_like(strings, predictor.mask_id)
            canvas[:, order[:a]] = strings[:, order[:a]]
            conditionals = predictor.conditionals(canvas)
            for j in order[a:b]:
                q *= conditionals[np.arange(len(strings)), j, strings[:, j]]
        total += float((truth[possible] * np.log(truth[possible] / q[possible])).sum())
    return total / len(orders)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("cuts", [(0, 5), (0, 1, 5), (0, 2, 3, 5), (0, 1, 2, 3, 4, 5)])
def test_the_price_of_a_schedule_is_the_mean_over_all_orders(name, cuts):
    curve = information_curve(LAWS[name], 5)
    assert expected_kl(curve, cuts) == pytest.approx(mean_kl(LAWS[name], 5, cuts), abs=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_no_schedule_is_cheaper_than_the_optimal_one(name):
    length = 9
    curve = information_curve(LAWS[name], length)
    for passes in range(1, length + 1):
        every = [(0, *middle, length) for middle in combinations(range(1, length), passes - 1)]
        best = min(expected_kl(curve, cuts) for cuts in every)
        optimal = optimal_schedule(curve, passes)
        assert optimal.passes == passes
        assert optimal.kl == pytest.approx(max(0, best), abs=1e-10)
        assert all(optimal.kl <= one.kl + 1e-10 for one in published_schedules(curve, passes) if one.passes == passes)


@pytest.mark.parametrize("length", range(1, 8))
def test_a_linked_chain_needs_the_passes_of_bisection(length):
    assert is_linked(STICKY, length)
    assert least_passes(STICKY, length) == bisection_passes(length) == ceil(log2(length + 1))


def test_a_chain_of_three_letters():
    law = chain([["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], ["1/10", "1/5", "7/10"]])
    assert all(is_linked(law, n) and least_passes(law, n) == bisection_passes(n) for n in range(1, 6))


def test_laws_that_are_not_linked():
    independent = chain([["1/3", "2/3"], ["1/3", "2/3"]])
    assert not is_linked(independent, 4)
    assert least_passes(independent, 4) == 1
    copies = chain([[1, 0], [0, 1]])
    assert least_passes(copies, 5) == 2  # one letter decides all others
    # a nilpotent part: what a letter says about the next is forgotten after two steps
    forgets = chain([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/2", "1/4"]])
    squared = chain([["1/3", "1/3", "1/3"], ["1/2", "1/4", "1/4"], ["1/6", "5/12", "5/12"]])
    assert is_linked(forgets, 2)
    assert not is_linked(squared, 3)
    assert least_passes(LAWS["hmm"], 5) == 5  # in general an HMM allows one position per pass


def test_a_chain_with_a_certain_first_letter_is_not_linked():
    certain = chain([["9/10", "1/10"], ["1/5", "4/5"]], initial=[1, 0])
    assert not is_linked(certain, 2)
    assert (least_passes(certain, 2), bisection_passes(2)) == (1, 2)
    assert (least_passes(certain, 4), bisection_passes(4)) == (2, 3)


def random_chain(rng):
    """A chain with many zeros as an ngram, an HMM whose states write one letter each, or an automaton that ends."""
    letters = "abc"[: rng.choice([2, 3])]

    def distribution():
        weights = [rng.choice([0, 0, 1, 2]) for _ in letters]
        weights[rng.randrange(len(letters))] += 1
        return {a: f"{x}/{sum(weights)}" for a, x in zip(letters, weights, strict=True) if x}

    rows = {a: distribution() for a in letters}
    if rng.random() < 0.3:
        rows["b"] = rows["a"]
    shared = {"alphabet": list(letters), "states": list(letters), "initial": distribution()}
    kind = rng.choice(["ngram", "hmm", "automaton"])
    if kind == "ngram":
        document = {"alphabet": list(letters), "order": 2, "contexts": {"": distribution(), **rows}}
    elif kind == "hmm":
        document = shared | {"transitions": rows, "emissions": {a: {a: 1} for a in letters}}
    else:
        half = lambda x: str(Fraction(x) / 2)  # noqa: E731
        moves = {a: {b: {b: half(x) if a == "a" else x} for b, x in row.items()} for a, row in rows.items()}
        document = shared | {"transitions": moves, "final": {"a": "1/2"}}
    return law_from_json({"kind": kind, **document}, kind)


@pytest.mark.parametrize("seed", range(60))
def test_the_search_over_gaps_agrees_with_the_search_over_canvases(monkeypatch, seed):
    rng = random.Random(seed)
    law = random_chain(rng)
    length = rng.randrange(2, 7 if len(law.alphabet) == 2 else 5)
    assert exact_passes.chain_of(law) is not None
    if not law.total(length):
        with pytest.raises(ProblemError, match="gives no string of length"):
            least_passes(law, length)
        return
    by_gaps = least_passes(law, length)
    monkeypatch.setattr(exact_passes, "MOST_GAPS", 0)
    assert by_gaps == least_passes(law, length)
    assert not is_linked(law, length) or by_gaps == bisection_passes(length)


LAW_FILES = Path(__file__).parents[2] / "examples" / "laws"


def test_numbers_of_the_page():
    """The numbers of docs/background/passes.md that no command prints."""
    even = information_curve(read_law(LAW_FILES / "even.json"), 32)
    best = optimal_schedule(even, 4)
    assert best.writes == (27, 3, 1, 1)
    assert (round(best.kl, 2), round(expected_kl(even, (0, 8, 16, 24, 32)), 2)) == (0.25, 1.04)
    assert least_passes(read_law(LAW_FILES / "bursts.json"), 8) == 7
    assert all(is_linked(read_law(LAW_FILES / name), 64) for name in ("chain.json", "runs.json"))


def test_the_search_over_gaps_reaches_long_strings():
    independent = chain([["1/3", "2/3"], ["1/3", "2/3"]])
    alternating = chain([[0, 1], [1, 0]], initial=["1/3", "2/3"])
    no_repeated_b = chain([["1/2", "1/2"], [1, 0]])
    certain_start = chain([["9/10", "1/10"], ["1/5", "4/5"]], initial=[1, 0])
    laws = (independent, alternating, no_repeated_b, certain_start)
    assert [least_passes(law, 64) for law in laws] == [1, 2, 7, 6]
    with pytest.raises(TooLarge, match=r"3\^300 canvases"):
        least_passes(no_repeated_b, 300)
    assert exact_passes.chain_of(LAWS["hmm"]) is None
    assert exact_passes.chain_of(FOUR_STATES) is None


def test_rows_that_are_multiples_of_each_other_have_rank_one():
    """Sums may miss 1 by rounding; the letters are independent although the rows differ."""
    nearly = chain([[0.5, 0.5], [0.4999999999, 0.4999999999]])
    assert not is_linked(nearly, 3)
    assert least_passes(nearly, 3) == 1


def test_bisection_samples_a_chain_exactly_and_others_not():
    run = Bench(STICKY, 6).run(Bisection(temperature=1.0), None, runs=2, seed=0)
    assert run.passes == pytest.approx(3)
    assert run.distance.exact
    assert run.distance.kl == pytest.approx(0, abs=1e-12)
    assert Bench(LAWS["hmm"], 6).run(Bisection(temperature=1.0), None, runs=2, seed=0).distance.kl > 1e-4


@pytest.fixture
def chain_file(tmp_path):
    path = tmp_path / "chain.json"
    path.write_text(
        '{"kind": "ngram", "alphabet": ["a", "b"], "order": 2, "contexts": {"": {"a": "1/2", "b": "1/2"}, '
        '"a": {"a": 0.9, "b": 0.1}, "b": {"a": 0.2, "b": 0.8}}}'
    )
    return f"law:{path}"


def test_the_command(unmask, chain_file, tmp_path):
    out = tmp_path / "page.html"
    code, text, err = unmask("schedule", chain_file, "--length", 64, "--passes", 6, "--out", out)
    assert (code, err) == (0, "")
    assert "7 8 10 11 13 15" in text
    assert "least number of passes of an exact sampler: 7 = ⌈log2(N + 1)⌉" in text
    assert "<svg" in out.read_text()
    code, text, _ = unmask("schedule", chain_file, "--length", 5, "--passes", 2, "--json")
    document = json.loads(text)
    assert (code, document["least_exact_passes"], document["least_exact_method"]) == (0, 3, "formula")
    assert sum(document["information"]) == pytest.approx(document["entropy"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--length", 8, "--passes", 9), "--passes is 9 and the strings have 8 positions"),
        (("--length", 8, "--passes", 0), "choose 1 to 8"),
        (("--length", 0, "--passes", 1), "the length of a schedule is 0"),
        (("--length", 5000, "--passes", 3), "choose 1 to 1,024"),
    ],
)
def test_what_is_out_of_reach_is_refused(unmask, chain_file, arguments, message):
    code, out, err = unmask("schedule", chain_file, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_problem_is_no_law(unmask):
    code, _, err = unmask("schedule", "group:A5", "--length", 8, "--passes", 2)
    assert code == 2
    assert "write law:FILE" in err


def test_cuts_are_checked():
    with pytest.raises(UnmaskError, match="cuts 0 < … < 4"):
        expected_kl(information_curve(STICKY, 4), (0, 3, 3, 4))
