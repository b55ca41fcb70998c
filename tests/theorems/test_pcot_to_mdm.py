"""pcot → mdm: every copy of every row the chain has read, after every step and layer."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.api import compile_problem, verify_model
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, TooLarge
from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.programs import simulation
from unmask.programs.assembly import assemble
from unmask.programs.gadgets.attention import eq, hide
from unmask.programs.program import B, Program, bits_for
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems import pcot_to_mdm as module
from unmask.theorems.conversion_checks import first_disagreement, theorem_disagreements
from unmask.theorems.pcot_to_mdm import PCOT_TO_MDM
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Head, Layer


def disagreements(seeds, precision):
    differences = []
    for seed in seeds:
        source = random_model(seed, "pcot", seed % 4, precision=precision)
        conversion = PCOT_TO_MDM.convert(source)
        assert Price.of(conversion.model).within(PCOT_TO_MDM.bound(source)), seed
        wrong = first_disagreement(source, conversion, seed=seed, engine=FastEngine())
        if wrong:
            differences.append(wrong)
    return differences


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_pcot_to_mdm_correct(precision):
    assert disagreements(range(12), precision) == []


@pytest.mark.parametrize("precision", [2, 3])
def test_the_reference_agrees(precision):
    assert theorem_disagreements(PCOT_TO_MDM, range(100, 112), precision=precision) == []


@pytest.mark.long
@pytest.mark.parametrize("precision", [1, 2, 3])
def test_many_more_sources(precision):
    assert disagreements(range(12, 100), precision) == []
    assert theorem_disagreements(PCOT_TO_MDM, range(200, 350), precision=precision, lengths=(0, 1, 2, 3, 5, 6)) == []


def sharper(source):
    """The same model with larger queries: it often divides by zero."""
    model, bound = source.transformers["model"], source.precision.bound

    def larger(matrix):
        value = np.clip(matrix.value * 4, -bound, bound)
        return Matrix.from_entries(matrix.shape, matrix.row, matrix.column, value)

    layers = tuple(
        Layer(tuple(Head(larger(h.wq), h.wk, h.wv) for h in layer.heads), layer.mlp) for layer in model.layers
    )
    return replace(source, transformers={"model": replace(model, layers=layers)})


def test_a_source_that_divides_by_zero_takes_the_conversion_with_it():
    divided = 0
    for seed in range(40):
        source = sharper(random_model(seed, "pcot", seed % 4))
        conversion = PCOT_TO_MDM.convert(source)
        assert first_disagreement(source, conversion, seed=seed, engine=FastEngine()) is None, seed
        word = sample_words(source, Draws(seed, 1), 1)[0].tolist()
        try:
            run(source, word, engine=FastEngine())
        except AttendsToNothing:
            divided += 1
    assert 5 < divided < 40


def looks_back(precision):
    """Return a chain whose rows attend to the row before unless it is a mask; beyond the current block Z = 0."""
    vocabulary, rows = ("a", "0", "1", "m"), 5
    program = Program(vocabulary, len(vocabulary), 1, rows, "causal")
    row_code = program.code("own", n, bits_for(rows))
    before = program.code("before", (n - 1).positive_part(), bits_for(rows))
    masked, symbols = program.register("masked"), program.register("seen", 3)
    program.embed(3, masked)
    program.embed(np.arange(3), symbols)
    head = program.layer().head()
    eq(head, before, row_code)
    hide(head, masked)
    head.copy(symbols, np.roll(symbols, -1))
    program.read_out(np.arange(3), symbols, B)
    return Model(
        kind="pcot",
        length=1,
        padding=4,
        steps=4,
        block=1,
        vocabulary=vocabulary,
        input_symbols=("a",),
        accept="1",
        reject="0",
        mask="m",
        transformers={"model": assemble(program, Precision(precision))},
    )


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_rows_that_are_not_yet_reached_must_not_divide_by_zero(monkeypatch, precision):
    source = looks_back(precision)
    assert run(source, [0], engine=ReferenceEngine()).output == ["0", "1", "a", "0"]
    assert first_disagreement(source, PCOT_TO_MDM.convert(source), seed=0) is None
    monkeypatch.setattr(module, "boost", lambda head, flag: None)  # noqa: ARG005
    disagreement = first_disagreement(source, PCOT_TO_MDM.convert(source), seed=0)
    assert disagreement is not None
    assert "the conversion divides by zero" in str(disagreement.difference)


def test_a_chain_may_write_its_mask():
    """Its mask is an ordinary symbol of the converted model, whose own mask is a new one."""
    written = 0
    for seed in range(24):
        source = random_model(seed, "pcot", 1)
        word = sample_words(source, Draws(seed, 1), 1)[0].tolist()
        conversion = PCOT_TO_MDM.convert(source)
        written += "m" in run(source, word, engine=FastEngine()).output
        assert conversion.model.mask not in source.vocabulary
        assert first_disagreement(source, conversion, seed=seed, engine=FastEngine()) is None
    assert written > 3


def test_what_is_kept_and_what_is_added():
    source = compile_problem("(ab)*", "pcot", length=4)
    model = PCOT_TO_MDM.convert(source).model
    for name in ("problem", "characters", "input_symbols", "aliases", "accept", "reject", "begin", "length", "steps"):
        assert getattr(model, name) == getattr(source, name), name
    assert model.provenance == [*source.provenance, {"converted": "pcot_to_mdm", "from": "pcot", "to": "mdm"}]
    assert all(t.attention == "unmasked" for t in model.transformers.values())


@pytest.mark.parametrize("rows", [(0, 1), (0, 4), (3, 1), (2, 4)])
def test_the_price_is_below_that_of_the_paper(rows):
    length, steps = rows
    source = random_model(7, "pcot", length, steps=steps)
    price = Price.of(PCOT_TO_MDM.convert(source).model)
    assert price == PCOT_TO_MDM.bound(source)
    papers = replace(price, padding=source.padding + source.rows**2, layers=2 * Price.of(source).layers + 1)
    assert price.within(papers)


@pytest.mark.parametrize(("problem", "length"), [("(ab)*", 0), ("(ab)*", 1), ("(ab)*", 4), ("(ab)*", 8), ("a*b?", 5)])
def test_regular_languages_survive(problem, length):
    model = PCOT_TO_MDM.convert(compile_problem(problem, "pcot", length=length)).model
    verdict = verify_model(model, engine=FastEngine(), method="exhaustive" if length < 6 else "sample", cases=60)
    assert verdict.status == "held"


@pytest.mark.long
def test_longer_words_survive():
    model = PCOT_TO_MDM.convert(compile_problem("(ab)*", "pcot", length=16)).model
    assert verify_model(model, engine=FastEngine(), method="sample", cases=20).status == "held"


@pytest.mark.parametrize("precision", [2, 3])
@pytest.mark.parametrize(
    ("where", "gadget", "instead"),
    [
        (module, "focus_copies", lambda p: 1),  # noqa: ARG005
        (simulation, "hide", lambda head, flag: None),  # noqa: ARG005
    ],
    ids=["one copy of FOCUS", "no HIDE"],
)
def test_a_wrong_construction_is_caught(monkeypatch, where, gadget, instead, precision):
    monkeypatch.setattr(where, gadget, instead)
    assert disagreements(range(24), precision) != []


def test_the_planner_must_not_forget_the_first_block(monkeypatch):
    monkeypatch.setattr(module, "conjunction", lambda mlp, positive, negated: mlp.units(1))  # noqa: ARG005
    assert disagreements(range(4), 2) != []


def test_a_huge_conversion_is_refused(monkeypatch):
    monkeypatch.setattr("unmask.weights.size_limits.LARGEST_TABLE", 100)
    with pytest.raises(TooLarge, match=r"rows of width .* numbers, .* beyond the limits"):
        PCOT_TO_MDM.convert(random_model(0, "pcot", 3))
