"""pcot → cot in P steps: rows and hosted masks of every step, after every layer."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from unmask.api import compile_problem, verify_model
from unmask.engines.fast import FastEngine
from unmask.errors import AttendsToNothing
from unmask.numerics.arithmetic import Precision
from unmask.programs import hosted_masks
from unmask.programs.addressed_rows import ScoreTables
from unmask.programs.hosted_masks import HostedMasks
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems.conversion_checks import first_disagreement
from unmask.theorems.pcot_to_cot_hosted import PCOT_TO_COT_HOSTED, most_heads
from unmask.theorems.theorem import SourceSize
from unmask.weights.model import Price

from .test_pcot_to_mdm_mirrored import scaled


def disagreements(seeds, precision, times=1, lengths=(0, 1, 2, 3), **sizes):
    differences = []
    for seed in seeds:
        length = lengths[seed % len(lengths)]
        source = scaled(random_model(seed, "pcot", length, precision=precision, **sizes), times)
        conversion = PCOT_TO_COT_HOSTED.convert(source)
        assert Price.of(conversion.model) == PCOT_TO_COT_HOSTED.bound(source), seed
        layers = conversion.model.transformers["model"].layers
        assert max(len(layer.heads) for layer in layers) <= most_heads(SourceSize.of(source))
        assert conversion.model.steps == conversion.model.padding == source.padding
        wrong = first_disagreement(source, conversion, seed=seed, engine=FastEngine())
        if wrong:
            differences.append(wrong)
    return differences


@pytest.mark.parametrize(("precision", "times", "count"), [(1, 1, 6), (1, 3, 4), (2, 1, 4), (2, 3, 3)])
def test_single_symbols(precision, times, count):
    """pCoT[T, T] ⊆ CoT[T]."""
    assert disagreements(range(count), precision, times, block=1) == []


@pytest.mark.parametrize(("precision", "times", "seeds"), [(1, 1, (2, 7, 14)), (1, 3, (19, 38)), (2, 1, (2,))])
def test_blocks(precision, times, seeds):
    """With and without a begin symbol, which a chain may also write."""
    assert disagreements(seeds, precision, times) == []


@pytest.mark.long
@pytest.mark.parametrize(("precision", "count"), [(1, 120), (2, 24), (3, 4)])
@pytest.mark.parametrize("times", [1, 3])
def test_many_more_sources(precision, count, times):
    assert disagreements(range(1000, 1000 + count), precision, times) == []
    assert disagreements(range(2000, 2000 + count), precision, times, block=1) == []


@pytest.mark.long
@pytest.mark.parametrize(("precision", "length"), [(1, 24), (2, 10)])
def test_long_words(precision, length):
    assert disagreements(range(300, 306), precision, 1, (length,), layers=1) == []
    assert disagreements(range(306, 312), precision, 3, (length,), layers=1) == []


def test_the_reference_agrees():
    source = random_model(3, "pcot", 2, precision=1, layers=1, steps=2, block=2)
    assert first_disagreement(source, PCOT_TO_COT_HOSTED.convert(source), seed=0) is None


@pytest.mark.parametrize("seed", [3, 4, 11, 13])
def test_sources_without_layers(seed):
    """Some have a begin symbol."""
    source = random_model(seed, "pcot", seed % 3, precision=1)
    empty = replace(source, transformers={"model": replace(source.transformers["model"], layers=())})
    assert first_disagreement(empty, PCOT_TO_COT_HOSTED.convert(empty), seed=seed) is None


def test_a_source_that_divides_by_zero_takes_the_conversion_with_it():
    divided = 0
    for seed in range(8):
        source = scaled(random_model(seed, "pcot", seed % 4, precision=1), -4)
        assert first_disagreement(source, PCOT_TO_COT_HOSTED.convert(source), seed=seed, engine=FastEngine()) is None, (
            seed
        )
        try:
            for word in sample_words(source, Draws(seed, 1), 2).tolist():
                run(source, word, engine=FastEngine())
        except AttendsToNothing:
            divided += 1
    assert divided > 2


def test_a_compiled_language_survives():
    source = compile_problem("(ab)*", "pcot", length=2)
    model = PCOT_TO_COT_HOSTED.convert(source).model
    assert model.steps == source.padding
    assert verify_model(model, method="exhaustive").status == "held"


def test_the_width_is_logarithmic_for_single_symbols_and_for_few_blocks():
    for seed in range(8):
        source = SourceSize.of(random_model(seed, "pcot", 2))
        growth = PCOT_TO_COT_HOSTED.growth(source)
        assert growth.layers_are_constant
        assert growth.symbols_are_constant
        assert growth.width_is_logarithmic == (source.block == 1)
        grown = [replace(source.grown(bits), steps=bits, block=4**bits // bits) for bits in (64, 128, 256)]
        width = [PCOT_TO_COT_HOSTED.most(size).width for size in grown]
        assert all(twice <= 2 * once for once, twice in pairwise(width))


@pytest.mark.parametrize("p", [1, 2, 3])
def test_no_more_keys_have_a_weight_where_the_sum_is_exactly_b(p):
    tables = ScoreTables(Precision(p))
    bound = tables.precision.bound
    assert tables.most_keys >= (bound - 1) // tables.exp(tables.threshold(bound, 1))


def _without_own_keys(monkeypatch):
    """Masks that see rows only."""
    monkeypatch.setattr(hosted_masks, "KEY_SETS", ("rows",))


def _without_search(monkeypatch):
    monkeypatch.setattr(hosted_masks._HostedHead, "_add_key", lambda *_: None)


def _symbols_not_hidden(monkeypatch):
    real = HostedMasks.of.__func__
    nothing = np.zeros(0, dtype=np.int64)

    def of(cls, *arguments):
        return replace(real(cls, *arguments), mask_block_flags=nothing, symbol_block_flags=nothing)

    monkeypatch.setattr(HostedMasks, "of", classmethod(of))


def _walk_from_zero(monkeypatch):
    """The walk over the masks does not start where the walk over the rows ends."""
    real = hosted_masks.one_hot

    def always_zero(mlp, x, values, flags):
        if 0 in values:
            mlp.offset(flags[[values.index(0)]], hosted_masks.ONE)
        else:
            real(mlp, x, values, flags)

    monkeypatch.setattr(hosted_masks, "one_hot", always_zero)


def _idle_masks_seen(monkeypatch):
    monkeypatch.setattr(hosted_masks, "hide", lambda *_, **__: None)


@pytest.mark.parametrize(
    "broken", [_without_own_keys, _without_search, _symbols_not_hidden, _walk_from_zero, _idle_masks_seen]
)
def test_without_a_part_of_the_construction_it_is_wrong(broken, monkeypatch):
    broken(monkeypatch)
    sources = (random_model(seed, "pcot", 2, precision=1, block=3, steps=2) for seed in range(12))
    wrong = (first_disagreement(s, PCOT_TO_COT_HOSTED.convert(s), seed=0, engine=FastEngine()) for s in sources)
    assert any(wrong)
