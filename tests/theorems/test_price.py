"""Prices include width, alphabet and layers; they are below a formula that grows as the paper assumes."""

from dataclasses import replace
from itertools import pairwise

import pytest

from unmask.errors import UnmaskError
from unmask.testing.random_model import cached_model
from unmask.theorems import cot_and_pcot
from unmask.theorems.all_theorems import THEOREMS, TRANSFORMER_THEOREMS, VARIANTS
from unmask.theorems.conversion_checks import random_saturating_transformer, theorem_disagreements
from unmask.theorems.theorem import SourceSize, Theorem, TransformerSize, bound_growth
from unmask.weights.model import Price

ALL = [pytest.param(theorem, id=theorem.stem) for theorem in (*THEOREMS, *VARIANTS)]


def sources(theorem, seeds, **sizes):
    for seed in seeds:
        source = cached_model(seed, theorem.source, seed % 4, precision=2, **sizes)
        try:
            yield source, theorem.convert(source).model
        except UnmaskError:  # topk_to_mdm refuses models that rank
            continue


@pytest.mark.parametrize("theorem", ALL)
def test_the_formula_is_the_price(theorem):
    compared = 0
    for source, model in sources(theorem, range(9)):
        assert Price.of(model) == theorem.bound(source)
        compared += 1
    assert compared > 4


# its width is logarithmic for single symbols or few blocks: test_pcot_to_cot_hosted.py
@pytest.mark.parametrize("theorem", [one for one in ALL if one.id != "pcot_to_cot_hosted"])
def test_width_is_logarithmic_and_alphabet_and_depth_are_constant(theorem):
    for seed in range(8):
        source = cached_model(seed, theorem.source, seed % 4, precision=2)
        assert theorem.growth(SourceSize.of(source).as_in_the_paper()).as_promised


@pytest.mark.parametrize("theorem", TRANSFORMER_THEOREMS, ids=lambda theorem: theorem.stem)
def test_conversions_of_transformers_too(theorem):
    attention = "unmasked" if theorem.stem == "unmasked_to_causal" else "causal"
    for seed in range(6):
        source = random_saturating_transformer(seed, attention, precision=2)
        for rows in range(1, len(source.positions) + 1):
            assert theorem.convert(source, rows).price == theorem.bound(source, rows)
    size = TransformerSize.of(source)
    prices = [theorem.most(replace(size, width=size.width * k), 1 << k) for k in (64, 128, 256, 512)]
    assert all(twice.width <= 2 * once.width for once, twice in pairwise(prices))
    assert len({(price.layers, price.symbols) for price in prices}) == 1


def test_a_causal_source_in_an_unmasked_model_is_said_to_cost_more():
    """`hide_later` needs two columns per row, and the check must notice it."""
    theorem = next(theorem for theorem in THEOREMS if theorem.stem == "plt_to_mdm")
    source = SourceSize.of(cached_model(3, "plt", 2, precision=2)).as_in_the_paper()
    causal = replace(source, transformers={"model": replace(source.model, attention="causal")})
    assert theorem.growth(source).to_json() == {"width": "O(log)", "layers": "O(1)", "symbols": "O(1)"}
    assert theorem.growth(causal).to_json() == {"width": "not O(log)", "layers": "O(1)", "symbols": "O(1)"}


@pytest.mark.parametrize(
    ("worse", "which"),
    [
        (lambda size, price: replace(price, width=price.width + size.length), "width"),
        (lambda size, price: replace(price, width=price.width + size.steps.bit_length() ** 2), "width"),
        (lambda size, price: replace(price, symbols=price.symbols + size.steps - 1), "symbols"),
        (lambda size, price: replace(price, layers=price.layers + size.steps.bit_length()), "layers"),
    ],
)
def test_bounds_that_grow_too_fast_are_caught(worse, which):
    """A column per row, a square of a logarithm, a symbol per step, a layer per bit."""
    source = SourceSize.of(cached_model(1, "cot", 2, precision=2))
    good = bound_growth(cot_and_pcot.COT_TO_PCOT.most, source)
    bad = bound_growth(lambda size: worse(size, cot_and_pcot.COT_TO_PCOT.most(size)), source)
    assert good.as_promised
    assert not bad.as_promised
    assert [name for name in good.to_json() if good.to_json()[name] != bad.to_json()[name]] == [which]


def test_a_construction_that_is_too_wide_is_caught(monkeypatch):
    """The same conversion with a column per row: its states agree, its price does not."""

    def wide(programs, length):
        instances = programs_at(programs, length)
        for program in instances.values():
            program.register("nothing", program.rows)
        return instances

    programs_at = cot_and_pcot.programs_at
    assert theorem_disagreements(cot_and_pcot.COT_TO_PCOT, range(3), precision=2) == []
    monkeypatch.setattr(cot_and_pcot, "programs_at", wide)
    with pytest.raises(AssertionError, match="Price"):
        theorem_disagreements(cot_and_pcot.COT_TO_PCOT, range(3), precision=2)


def test_a_promise_that_is_not_kept_is_caught():
    """A bound that is too generous does not show the growth that the paper assumes."""
    generous = replace(cot_and_pcot.COT_TO_PCOT, most=lambda size: Price(*(10**9 * size.rows,) * 5))
    assert isinstance(generous, Theorem)
    with pytest.raises(AssertionError, match="Growth"):
        theorem_disagreements(generous, range(3), precision=2)
