"""Extraction against the reference engine: the same slots on every word, and a failure exactly where a run fails."""

import sys
from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from unmask.api import compile_problem, convert_model
from unmask.engines.fast import FastEngine
from unmask.errors import TooLarge, UnmaskError
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.problems.circuits.circuit_files import write_aiger
from unmask.reasoners.run_words import answers
from unmask.testing.random_model import all_words, random_model
from unmask.testing.random_transformer import random_diffusion
from unmask.verification.words import network
from unmask.verification.words import symbolic_heads as symbolic_head
from unmask.verification.words import symbolic_layers as symbolic_rows
from unmask.verification.words.extraction import SymbolicPass, extract, input_numbers
from unmask.verification.words.network import Network, TooManyCases
from unmask.verification.words.symbolic_heads import HeadView
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer
from verification.by_running import sampled, wrong_words


def small_models(kind, count, start=0):
    """Random models, p = 1, 2, 3 and N = 0 … 4."""
    for seed in range(start, start + count):
        length, layers = (0, 1, 2, 3, 1, 2, 1, 4)[seed % 8], 1 + seed % 5 // 4
        yield random_model(
            seed, kind, length, precision=1 + seed % 3, steps=2, padding=1 + seed % 3, layers=layers, width=3
        )


def harsh(model, factor=6):
    """Queries so large that exponentials underflow: some rows attend to nothing."""

    def louder(transformer):
        bound = transformer.precision.bound
        layers = tuple(
            Layer(
                tuple(
                    Head(Matrix.of(np.clip(head.wq.dense() * factor, -bound, bound)), head.wk, head.wv)
                    for head in layer.heads
                ),
                layer.mlp,
            )
            for layer in transformer.layers
        )
        return replace(transformer, layers=layers)

    return replace(model, transformers={name: louder(t) for name, t in model.transformers.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_random_models_on_all_words(kind):
    begins, fixed_counts = 0, 0
    for model in small_models(kind, 40):
        assert wrong_words(model) == (0, 0), (model.length, model.precision)
        begins += model.begin is not None
        fixed_counts += model.k is not None
    assert 3 <= begins <= 37
    assert (fixed_counts > 5) == (kind == "topk")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_models_on_all_words(kind):
    for seed in range(1000, 1200):
        model = random_model(seed, kind, seed % 6, precision=1 + seed % 3)
        assert wrong_words(model) == (0, 0), seed


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_attend_to_nothing(kind):
    """None, some or all of the words divide by zero; the extraction says which."""
    counts = Counter()
    for seed in range(14):
        model = harsh(random_model(seed, kind, 1 + seed % 2, precision=1 + seed % 3, steps=2))
        wrong, errors = wrong_words(model)
        assert wrong == 0, seed
        counts["none" if not errors else "some" if errors < 2**model.length else "all"] += 1
    assert counts["none"] >= 1
    assert counts["some"] + counts["all"] >= 1


def test_a_row_that_attends_to_nothing_after_a_step_in_which_it_did():
    """What was known of the row does not answer for it."""
    model = harsh(random_model(2, "smdm", 1, precision=3, steps=2, padding=2, layers=1))
    assert wrong_words(replace(model, steps=1)) == (0, 0)
    assert wrong_words(model) == (0, 2)


def test_planner_and_predictor_that_divide_by_zero():
    results = [wrong_words(random_diffusion(seed, 2)) for seed in (28, 29, 34, 54, 62, 68)]
    assert [wrong for wrong, _ in results] == [0] * 6
    assert all(1 <= errors < 4 for _, errors in results)


def test_planners_that_edit_written_slots():
    """An mdm may; run as an smdm, that is an error."""
    counts = Counter()
    for seed in range(12):
        model = replace(random_model(seed, "mdm", 2, precision=1 + seed % 3, steps=2, layers=1), kind="smdm")
        wrong, errors = wrong_words(model)
        assert wrong == 0, seed
        counts["none" if not errors else "some" if errors < 4 else "all"] += 1
    assert len(counts) == 3


def test_failures_name_what_fails():
    model = replace(random_model(0, "mdm", 2), kind="smdm")
    reasons = {failure.reason for m in (model, harsh(model)) for failure in extract(m).failures}
    assert any("attends to nothing" in reason for reason in reasons)
    assert any("the planner edits slot" in reason for reason in reasons)


CONVERSIONS = [
    ("mdm", "smdm"),
    ("mdm", "plt"),
    ("mdm", "pcot"),
    ("mdm", "topk"),
    ("smdm", "mdm"),
    ("pcot", "cot"),
    ("cot", "pcot"),
]


@pytest.mark.parametrize(("kind", "target"), CONVERSIONS)
def test_converted_random_models(kind, target):
    for seed in range(2):
        model = random_model(seed, kind, 2, steps=2, padding=2, layers=1, width=3)
        *_, (_, conversion) = convert_model(model, target)
        assert wrong_words(conversion.model) == (0, 0), seed


@pytest.mark.long
@pytest.mark.parametrize(("kind", "target"), [*CONVERSIONS, ("plt", "mdm"), ("pcot", "mdm")])
def test_more_converted_random_models(kind, target):
    for seed in range(8):
        model = random_model(seed, kind, 1 + seed % 2, steps=2, padding=2, layers=1, width=3)
        *_, (_, conversion) = convert_model(model, target)
        assert wrong_words(conversion.model) == (0, 0), seed


COMPILED = [
    ("regex:(a|b)*abb", 9),
    ("regex:(a|b)*a(a|b){3}", 7),
    ("group:S3", 5),
    ("family:addition", 8),
    ("family:parity", 6),
    ("family:reachability", 9),
    ("expr:(a+b)*c", None),
]


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
@pytest.mark.parametrize(("problem", "length"), COMPILED)
def test_compiled_models_on_sampled_words(problem, length, kind):
    model = compile_problem(problem, kind, length=length)
    words = sampled(model, 64)
    slots, fails = extract(model).outcomes(input_numbers(model, words))
    assert np.array_equal(slots, answers(model, words, engine=FastEngine()).slots)
    assert not fails.any()


@pytest.mark.parametrize("kind", KINDS)
def test_comments_are_not_read(kind):
    """Registers, problem and provenance deleted, or those of another model: the same network."""
    model = compile_problem("regex:(ab|b)*", kind, length=4)
    liar = compile_problem("regex:(ab|b)*", kind, length=4)

    def scrambled(transformer):
        return replace(transformer, registers=replace(transformer.registers, blocks=transformer.registers.blocks[::-1]))

    deleted = {name: replace(t, registers=None) for name, t in model.transformers.items()}
    mixed = {name: scrambled(t) for name, t in model.transformers.items()}
    words = input_numbers(model, all_words(model))
    expected = extract(model)
    for transformers, problem in ((deleted, {}), (mixed, {"kind": "family", "family": "parity"})):
        other = extract(replace(liar, transformers=transformers, problem=problem, provenance=[{"compiled": "no"}]))
        assert len(other.network.variables) == len(expected.network.variables)
        assert all(map(np.array_equal, other.outcomes(words), expected.outcomes(words)))


def test_answers_are_named_with_aliases_applied():
    model = compile_problem("regex:a*", "mdm", length=2)
    names = {model.accept: "yes"}
    vocabulary = (*(names.get(s, s) for s in model.vocabulary), "true")
    wider = {
        name: replace(
            t,
            embed=Matrix.from_entries((t.embed.shape[0] + 1, t.width), t.embed.row, t.embed.column, t.embed.value),
            out=t.out
            if name == "planner"
            else Matrix.from_entries((t.out.shape[0] + 1, t.width), t.out.row, t.out.column, t.out.value),
        )
        for name, t in model.transformers.items()
    }
    other = replace(model, vocabulary=vocabulary, accept="true", aliases={"yes": "true"}, transformers=wider)
    assert sorted(extract(model).answer()[1].tolist()) == ["accept", "reject"]
    assert sorted(extract(other).answer()[1].tolist()) == ["accept", "reject"]
    assert sorted(extract(replace(other, aliases={})).answer()[1].tolist()) == ["reject", "symbol yes"]


# every path: sums that are folded, bases that are not found, limits that are too low


def refuse_heads(monkeypatch):
    """Every sum over more than one row is folded key by key."""
    join, folds = Network.join, []

    def refusing(self, parts, **options):
        if sys._getframe(1).f_code.co_name == "_sum_of_keys" and len(parts) > 1:
            folds.append(len(parts))
            raise TooManyCases("for a test")
        return join(self, parts, **options)

    monkeypatch.setattr(Network, "join", refusing)
    return folds


@pytest.mark.parametrize("kind", KINDS)
def test_sums_that_are_folded(kind, monkeypatch):
    folds = refuse_heads(monkeypatch)
    monkeypatch.setattr(symbolic_head, "FOLDED_AT_ONCE", 2)
    for seed in range(3):
        model = harsh(random_model(seed, kind, 2, precision=1 + seed % 2, steps=2, width=3), 3)
        assert wrong_words(model)[0] == 0, seed
    assert len(folds) > 4


def choose_always(monkeypatch):
    """Every row whose query is not certain chooses among the rows that it reads, where their sums fall apart."""
    switch, switches = Network.switch, []

    def counted(self, selector, branches, size):
        switches.append(len(branches))
        return switch(self, selector, branches, size)

    monkeypatch.setattr(Network, "switch", counted)
    monkeypatch.setattr(Network, "disjoint", lambda *_: False)
    return switches


def choosing(seed, kind, **options):
    """Random models whose queries see few keys, which are not the same ones."""
    return harsh(random_model(seed, kind, 3, precision=3, steps=2, width=3, **options), 60)


def test_rows_that_choose_what_they_read(monkeypatch):
    switches = choose_always(monkeypatch)
    for kind in KINDS:
        for seed in range(4):
            assert wrong_words(choosing(seed, kind))[0] == 0, (kind, seed)
    assert len(switches) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_what_differs_in_names_alone_may_be_computed_once(kind, monkeypatch):
    """With and without: the same slots and the same failures, on models that fail too."""
    for seed in range(3):
        model = choosing(seed, kind, layers=2)
        words = input_numbers(model, all_words(model))
        with monkeypatch.context() as without:
            without.setattr(symbolic_head, "pattern_of", lambda *_: None)
            without.setattr(symbolic_rows, "pattern_of", lambda *_: None)
            plain = extract(model).outcomes(words)
        for actual, expected in zip(extract(model).outcomes(words), plain, strict=True):
            assert np.array_equal(actual, expected), seed


def forget_passes(monkeypatch):
    """Every pass looks at every row."""
    run = SymbolicPass.run

    def forgetting(self, tokens, row_indices):
        self._last = None
        return run(self, tokens, row_indices)

    monkeypatch.setattr(SymbolicPass, "run", forgetting)


@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk", "pcot"])
def test_what_did_not_change_is_not_looked_at_again(kind, monkeypatch):
    """Steps in which keys stay and steps in which they move: the same slots and failures as when nothing is reused."""
    unchanged, stood = HeadView.unchanged, Counter()

    def watched(self, rows, changed):
        stood[result := unchanged(self, rows, changed)] += 1
        return result

    monkeypatch.setattr(HeadView, "unchanged", watched)
    for seed in range(4):
        model = random_model(seed, kind, 2, precision=2, steps=4, padding=3, width=3, layers=1 + seed % 2)
        words = input_numbers(model, all_words(model))
        with monkeypatch.context() as without:
            forget_passes(without)
            plain = extract(model)
        extraction = extract(model)
        for actual, expected in zip(extraction.outcomes(words), plain.outcomes(words), strict=True):
            assert np.array_equal(actual, expected), seed
        assert len(extraction.failures) == len(plain.failures)
    if kind == "pcot":
        return
    compiled = extract(compile_problem("regex:(a|b)*abb", "mdm", length=6))
    assert not compiled.failures
    assert stood[True] > 2
    assert stood[False] > 2


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", ["default", "choosing", "nothing is shared", "nothing is reused"])
def test_a_thousand_random_models_through_every_path(kind, path, monkeypatch):
    if path == "choosing":
        choose_always(monkeypatch)
    if path == "nothing is shared":
        monkeypatch.setattr(symbolic_head, "pattern_of", lambda *_: None)
        monkeypatch.setattr(symbolic_rows, "pattern_of", lambda *_: None)
    if path == "nothing is reused":
        forget_passes(monkeypatch)
    for seed in range(2000, 2170):
        steps = 2 + seed % 3
        model = random_model(seed, kind, seed % 4, precision=1 + seed % 3, steps=steps, width=3, layers=1 + seed % 2)
        assert wrong_words(harsh(model, (1, 3, 6, 60)[seed % 4]))[0] == 0, seed


@pytest.mark.parametrize("kind", KINDS)
def test_bases_that_name_combinations_no_word_leads_to(kind, monkeypatch):
    """No variable is left out of a basis: most assignments are impossible, and change nothing."""
    monkeypatch.setattr(Network, "_find_basis", lambda _, variables: variables)
    for seed in range(4):
        model = harsh(random_model(seed, kind, 2, precision=1 + seed % 2, steps=2, layers=1), 3)
        assert wrong_words(model)[0] == 0, seed


def test_limits_that_are_too_low_are_reported_and_never_wrong(monkeypatch):
    monkeypatch.setitem(Network.join.__kwdefaults__, "most", 5)
    monkeypatch.setattr(network, "FEW_ASSIGNMENTS", 1)
    counts = Counter()
    for kind in KINDS:
        for seed in range(3):
            model = random_model(seed, kind, 1 + seed % 3, precision=1, steps=2, layers=1, width=3)
            try:
                wrong, errors = wrong_words(model)
            except TooLarge as error:
                counts["told", "does not decompose into small tables" in str(error)] += 1
            else:
                counts[wrong, errors] += 1
    assert set(counts) == {("told", True), (0, 0)}
    assert min(counts.values()) >= 4


@pytest.mark.parametrize("kind", ["mdm", "cot"])
def test_a_gate_of_sixty_inputs(kind, tmp_path):
    """2^60 combinations are never enumerated: the sum is folded."""
    builder = CircuitBuilder(f"x{i}" for i in range(60))
    gate = builder.and_(*(builder.input(i) ^ (i % 3 == 0) for i in range(60)))
    (tmp_path / "wide.aag").write_text(write_aiger(builder.circuit([gate])))
    model = compile_problem(f"aiger:{tmp_path / 'wide.aag'}", kind)
    words = np.array([[int(i % 3 != 0) for i in range(60)]] * 61)
    words[range(60), range(60)] ^= 1  # one bit wrong, and all right
    slots, fails = extract(model).outcomes(words)
    accept = model.token[model.accept]
    assert not fails.any()
    assert (slots[:, -1] == accept).tolist() == [False] * 60 + [True]


def test_what_is_not_an_input_symbol_is_refused():
    model = compile_problem("regex:a*", "mdm", length=2)
    with pytest.raises(UnmaskError, match="not an input symbol"):
        input_numbers(model, np.array([[model.token[model.accept]] * 2]))


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
def test_a_changed_weight_is_seen(kind):
    """The comparison above is one that fails."""
    changed = 0
    for model in islice(small_models(kind, 10), 3, 10):
        name = next(iter(model.transformers))
        transformer = model.transformers[name]
        embed = Matrix.of(-transformer.embed.dense())
        other = replace(model, transformers={**model.transformers, name: replace(transformer, embed=embed)})
        words = all_words(model)
        expected = answers(model, words, engine=FastEngine()).slots
        changed += not np.array_equal(extract(other).outcomes(input_numbers(model, words))[0], expected)
    assert changed >= 2
