"""pcot, cot → mdm with three slots more: every row that the chain has read, after every layer."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unmask.engines.fast import FastEngine
from unmask.errors import AttendsToNothing
from unmask.numerics.arithmetic import Precision, clip
from unmask.programs import mirrored_rows
from unmask.programs.addressed_rows import ScoreTables
from unmask.programs.mirrored_rows import Mirror, MirroredRows
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems.conversion_checks import first_disagreement, theorem_disagreements
from unmask.theorems.cot_and_pcot import COT_TO_PCOT
from unmask.theorems.pcot_to_mdm import PCOT_TO_MDM
from unmask.theorems.pcot_to_mdm_mirrored import COT_TO_MDM_MIRRORED, PCOT_TO_MDM_MIRRORED, most_heads
from unmask.theorems.theorem import SourceSize, TransformerSize
from unmask.weights.matrices import Matrix
from unmask.weights.model import Price
from unmask.weights.transformer import Head, Layer


def scaled(source, times):
    """The same model with larger queries: scores spread, so that fewer keys have a weight above 0, or none."""
    model, bound = source.transformers["model"], source.precision.bound

    def larger(matrix):
        value = np.clip(matrix.value * times, -bound, bound)
        return Matrix.from_entries(matrix.shape, matrix.row, matrix.column, value)

    layers = tuple(
        Layer(tuple(Head(larger(h.wq), h.wk, h.wv) for h in layer.heads), layer.mlp) for layer in model.layers
    )
    return replace(source, transformers={"model": replace(model, layers=layers)})


def disagreements(seeds, precision, times=1, theorem=PCOT_TO_MDM_MIRRORED, **sizes):
    differences = []
    for seed in seeds:
        source = scaled(random_model(seed, theorem.source, seed % 4, precision=precision, **sizes), times)
        conversion = theorem.convert(source)
        predictor = conversion.model.transformers["predictor"]
        assert Price.of(conversion.model) == theorem.bound(source), seed
        assert max(len(layer.heads) for layer in predictor.layers) <= most_heads(SourceSize.of(source))
        wrong = first_disagreement(source, conversion, seed=seed, engine=FastEngine())
        if wrong:
            differences.append(wrong)
    return differences


@pytest.mark.parametrize(("precision", "count"), [(1, 6), (2, 3), (3, 2)])
def test_pcot_to_mdm_mirrored_correct(precision, count):
    assert disagreements(range(count), precision) == []


@pytest.mark.parametrize(("precision", "count"), [(1, 6), (2, 3)])
def test_sources_whose_scores_spread(precision, count):
    assert disagreements(range(500, 500 + count), precision, times=3) == []


@pytest.mark.parametrize("precision", [1, 2])
def test_the_reference_agrees(precision):
    assert theorem_disagreements(PCOT_TO_MDM_MIRRORED, range(100, 102), precision=precision) == []


@pytest.mark.long
@pytest.mark.parametrize(("precision", "count"), [(1, 30), (2, 20), (3, 3)])
def test_many_more_sources(precision, count):
    assert disagreements(range(1000, 1000 + count), precision) == []
    assert disagreements(range(2000, 2000 + count), precision, times=3) == []


def test_a_source_that_divides_by_zero_takes_the_conversion_with_it():
    divided = 0
    for seed in (1, 2, 4, 6, 7):
        source = scaled(random_model(seed, "pcot", seed % 4, precision=1), -4)
        conversion = PCOT_TO_MDM_MIRRORED.convert(source)
        assert first_disagreement(source, conversion, seed=seed, engine=FastEngine()) is None, seed
        try:
            for word in sample_words(source, Draws(seed, 1), 2).tolist():
                run(source, word, engine=FastEngine())
        except AttendsToNothing:
            divided += 1
    assert divided > 2


@pytest.mark.parametrize(("precision", "times", "count"), [(1, 1, 6), (1, 3, 4), (2, 1, 4), (2, 3, 2)])
def test_cot_to_mdm_mirrored_correct(precision, times, count):
    assert disagreements(range(count), precision, times, COT_TO_MDM_MIRRORED) == []


@pytest.mark.long
@pytest.mark.parametrize(("precision", "count"), [(1, 40), (2, 20), (3, 3)])
def test_many_more_chains_of_thought(precision, count):
    assert disagreements(range(1000, 1000 + count), precision, 1, COT_TO_MDM_MIRRORED) == []
    assert disagreements(range(2000, 2000 + count), precision, 3, COT_TO_MDM_MIRRORED) == []


def test_a_chain_of_thought_directly_is_cheaper_than_through_pcot():
    source = random_model(2, "cot", 4)
    direct = COT_TO_MDM_MIRRORED.bound(source)
    through = PCOT_TO_MDM_MIRRORED.bound(COT_TO_PCOT.convert(source).model)
    assert direct.padding == through.padding == source.padding + 3
    assert direct.width < through.width
    assert direct.layers < through.layers


def logarithmic_chain(seed, length):
    return random_model(seed, "cot", length, precision=1, steps=(length - 1).bit_length(), layers=1, width=3)


@pytest.mark.parametrize("length", [6, 7, 8, 16, 33, 64])
def test_log_n_steps_of_a_chain_take_at_most_n_slots(length):
    """thm:cot-mdm-separation: CoT[log N] ⊆ MDM[log N, N]."""
    source = logarithmic_chain(1, length)
    model = COT_TO_MDM_MIRRORED.convert(source).model
    assert model.steps == source.steps == (length - 1).bit_length()
    assert model.padding == source.steps + 3 <= length


@pytest.mark.parametrize("length", [6, 9])
def test_log_n_steps_of_a_chain_are_right_with_n_slots(length):
    for seed in range(3):
        source = scaled(logarithmic_chain(seed, length), seed + 1)
        assert first_disagreement(source, COT_TO_MDM_MIRRORED.convert(source), seed=seed, engine=FastEngine()) is None


@pytest.mark.parametrize(("length", "steps", "block"), [(0, 1, 1), (1, 1, 1), (1, 1, 4), (0, 3, 2), (5, 2, 1)])
def test_the_smallest_chains(length, steps, block):
    """One row, one step, one slot; no layers, layers without heads, heads whose scores all tie."""
    for seed, precision in enumerate((1, 2, 3) if length + steps * block < 3 else (1, 2)):
        source = random_model(seed, "pcot", length, precision=precision, steps=steps, block=block)
        transformer = source.transformers["model"]
        headless = tuple(Layer((), layer.mlp) for layer in transformer.layers)
        ties = tuple(
            Layer(tuple(Head(Matrix.zeros(h.wq.shape), h.wk, h.wv) for h in layer.heads), layer.mlp)
            for layer in transformer.layers
        )
        for layers in ((), headless, ties, (*headless, *transformer.layers[:1])):
            changed = replace(source, transformers={"model": replace(transformer, layers=layers)})
            conversion = PCOT_TO_MDM_MIRRORED.convert(changed)
            assert Price.of(conversion.model).within(PCOT_TO_MDM_MIRRORED.bound(changed))
            assert first_disagreement(changed, conversion, seed=seed, engine=FastEngine()) is None


def test_the_table_of_bounds_on_the_page():
    """A chain with one layer, one head, width 16, P = T = 4 and p = 2."""
    text = (Path(__file__).parents[2] / "docs" / "paper" / "our-results.md").read_text(encoding="utf-8")
    model = TransformerSize(width=16, layers=1, symbols=5, attention="causal", heads=1)
    for length in (8, 16, 64, 256, 1024, 2**20):
        source = SourceSize("pcot", length, 0, 4, 4, 1, 2, {"model": model})
        cells = [length]
        for theorem, heads in ((PCOT_TO_MDM, 2), (PCOT_TO_MDM_MIRRORED, most_heads(source))):
            price = theorem.most(source)
            cells += [price.padding, heads, price.layers, price.width]
        assert f"| {' | '.join(f'{cell:,}' for cell in cells)} |" in text


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_score_tables(p):
    """Every step of the construction that depends on the table of exp, for every score."""
    tables = ScoreTables(Precision(p))
    bound, one = tables.precision.bound, tables.precision.one
    numbers = tables.precision.numbers()
    for s in numbers:
        assert sum(step for score, step in tables.growth if score <= s) == tables.exp(s)
    assert all(0 < step < one for _, step in tables.growth)
    assert tables.least < 0
    assert tables.most_keys == {1: 2, 2: 7, 3: 15, 4: 31}[p]
    assert tables.most_keys <= 2 * tables.jump
    for level in range(1, one + 1):
        z = min(bound, one + tables.exp(tables.companion(level)))
        assert (2 * one * one + z - 1) // (2 * z) == level


@pytest.mark.parametrize("p", [1, 2, 3])
def test_summands_that_apply_a_clipped_walk(p):
    """P, P', -P, -P', -Q, -Q', Q, P', f(0) lead from every x to f(x)."""
    precision, draws = Precision(p), Draws(p, 31)
    bound = precision.bound

    def walk(x, letters):
        for letter in letters:
            x = int(clip(x + letter, precision))
        return x

    for _ in range(400):
        size = draws.integer(0, 6)
        letters = draws.integers(-bound, bound, (size,)).tolist()
        if draws.integer(0, 1):
            letters = [letter // 4 for letter in letters]
        back = [-letter for letter in reversed(letters)]
        alpha, beta = walk(bound, back), walk(-bound, back)
        P, P2, Q, Q2 = bound - max(alpha, 0), max(-alpha, 0), bound + min(beta, 0), max(beta, 0)
        for x in precision.numbers():
            assert walk(x, [P, P2, -P, -P2, -Q, -Q2, Q, P2, walk(0, letters)]) == walk(x, letters)


def _without_saturated(monkeypatch):
    monkeypatch.setattr(mirrored_rows._MirroredHead, "saturated", lambda *_: None)


def _without_search(monkeypatch):
    monkeypatch.setattr(ScoreTables, "most_keys", 1)


def _mirror_in_order(monkeypatch):
    """The mirror has the rows in rising order."""
    real = MirroredRows.of.__func__

    def of(cls, *arguments):
        rows = real(cls, *arguments)
        return replace(rows, mirror=replace(rows.mirror, origin=rows.row_code, address=rows.address, hidden=rows.spare))

    monkeypatch.setattr(MirroredRows, "of", classmethod(of))


def _unpinned(monkeypatch):
    """Only END fixes the sums over the mirror, START does not."""
    pin = Mirror.pin
    monkeypatch.setattr(Mirror, "pin", lambda self, head, *rows: pin(self, head, *rows[1:]))


def _stale_mirror(monkeypatch):
    """The mirror is not cleared after a layer, so that copies add up."""
    monkeypatch.setattr(mirrored_rows, "clear", lambda *_: None)


BROKEN = (_without_saturated, _without_search, _mirror_in_order, _unpinned, _stale_mirror)


@pytest.mark.parametrize("broken", BROKEN)
def test_without_a_part_of_the_construction_it_is_wrong(broken, monkeypatch):
    broken(monkeypatch)

    def wrong(seed):
        source = scaled(random_model(seed, "pcot", 3, precision=2), 2)
        try:
            return first_disagreement(source, PCOT_TO_MDM_MIRRORED.convert(source), seed=seed, engine=FastEngine())
        except AssertionError:
            return "refused"

    assert any(wrong(seed) for seed in range(8))
