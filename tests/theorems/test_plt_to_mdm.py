"""plt → mdm: the slots hold the whole stream after every loop; what noise slots draw is the noise of the loop."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import outside_reader
from unmask.api import ENGINES, compile_problem, load_model, save_model
from unmask.errors import AttendsToNothing, TooLarge
from unmask.numerics.arithmetic import Precision
from unmask.numerics.noise import DRAWS, gumbel_law, noise_counts
from unmask.programs.gadgets.attention import hide
from unmask.programs.program import ONE, B
from unmask.programs.residual_slots import noise_distance, noise_logits
from unmask.reasoners.decoding import PLANNER, Tape
from unmask.reasoners.run_words import answers, run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import all_words, sample_words
from unmask.theorems import plt_to_mdm as looped_in_slots
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.conversion_checks import check_source, check_theorem
from unmask.theorems.mdm_to_plt import mdm_to_plt
from unmask.theorems.plt_to_mdm import PLT_TO_MDM, plt_to_mdm
from unmask.theorems.theorem import LawDistance
from unmask.weights.matrices import Matrix
from unmask.weights.model import Price
from unmask.weights.transformer import Head, Layer, Mlp

ENGINE = next(iter(ENGINES.values()))


def disagreements(seeds, *, convert=plt_to_mdm, change=lambda source: source, tape=None, priced=True, **sizes):
    found = []
    for seed in seeds:
        source = change(random_model(seed, "plt", seed % 4, **sizes))
        conversion = convert(source)
        assert not priced or Price.of(conversion.model).within(PLT_TO_MDM.bound(source)), seed
        found.append(check_source(source, conversion, seed=seed, words=1, tape=tape, engine=ENGINE()))
    return [d for d in found if d]


def one_head(source):
    return plt_to_mdm(source, most_heads=0)


@pytest.mark.parametrize("precision", [2, 3])
def test_plt_to_mdm_correct(precision):
    assert disagreements(range(12), precision=precision) == []


def test_plt_to_mdm_correct_at_the_lowest_precision():
    assert disagreements(range(10), precision=1) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_one_head_reads_the_whole_row(precision):
    assert disagreements(range(200, 208), convert=one_head, precision=precision, priced=False) == []


def test_wide_streams_are_read_by_one_head():
    source = random_model(3, "plt", 1, padding=1, width=40, layers=1, stochastic=False)
    conversion = plt_to_mdm(source)
    assert Price.of(conversion.model).within(PLT_TO_MDM.bound(source))
    assert all(len(layer.heads) < 5 for layer in conversion.model.transformers["predictor"].layers)
    assert check_source(source, conversion, seed=3, engine=ENGINE()) is None


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3])
def test_many_sources(precision):
    """The last hundred by the reference engine."""
    assert disagreements(range(12, 240), precision=precision) == []
    assert check_theorem(PLT_TO_MDM, range(1000, 1100), precision=precision) == []
    assert disagreements(range(2000, 2200), layers=3, precision=precision) == []


@pytest.mark.parametrize("convert", [plt_to_mdm, one_head])
@pytest.mark.parametrize(("layers", "first"), [(1, 0), (2, 1), (2, 2)])
def test_no_loops_and_empty_loops(layers, first, convert):
    def never(source):
        return replace(source, steps=0)

    def nothing(source):
        model = source.transformers["model"]
        return replace(source, transformers={"model": replace(model, loop=(first, first))})

    for change in (never, nothing):
        assert disagreements(range(6), change=change, convert=convert, layers=layers, priced=False) == []


@pytest.mark.parametrize("precision", [2, 3])
def test_no_tape_changes_a_deterministic_source(precision):
    assert disagreements(range(300, 310), precision=precision, tape=Tape(7), stochastic=False) == []


def test_the_answer_is_any_symbol_even_the_pad():
    source = random_model(5, "plt", 2, padding=1, stochastic=False)
    model = source.transformers["model"]
    full = np.where(np.arange(model.width) == 0, model.precision.bound, 0)
    raise_it = Layer((), replace(Mlp.nothing(model.width), b2=full))  # after two of them, column 0 is B
    for symbol in source.vocabulary:
        out = np.zeros(model.out.shape, dtype=np.int64)
        out[:, 0] = np.where(np.arange(len(out)) == source.token[symbol], 1, -1)
        certain = replace(model, layers=(*model.layers, raise_it, raise_it), out=Matrix.of(out))
        changed = replace(source, transformers={"model": certain})
        assert run(changed, [0, 1], engine=ENGINE()).output[-1] == symbol
        assert check_source(changed, plt_to_mdm(changed), seed=5, engine=ENGINE()) is None


def test_names_of_numbers_never_clash():
    source = random_model(5, "plt", 1, padding=0, width=3, stochastic=False)
    taken = replace(source, vocabulary=("a", "b", "⟨1/4⟩", "m", "1"), accept="1", reject="m", pad=None, begin=None)
    model = plt_to_mdm(replace(taken, transformers=source.transformers)).model
    assert "⟨⟨1/4⟩⟩" in model.vocabulary
    assert model.mask == "M"


def test_division_by_zero_raises_where_the_source_raises():
    for seed in range(6):
        source = random_model(seed, "plt", 1, padding=1, layers=2, stochastic=False)
        model = source.transformers["model"]
        bad = np.zeros((model.width, 1), dtype=np.int64)
        bad[:, 0] = model.precision.bound
        head = Head(Matrix.of(bad), Matrix.of(-bad), Matrix.zeros((model.width, model.width)))
        for place in range(2):
            layers = list(model.layers)
            layers[place] = replace(layers[place], heads=(*layers[place].heads, head))
            changed = replace(source, transformers={"model": replace(model, layers=tuple(layers))})
            assert check_source(changed, plt_to_mdm(changed), seed=seed, engine=ENGINE()) is None


@dataclass(frozen=True, eq=False)
class Replayed(Tape):
    """A tape that gives a looped transformer the noise that the slots of its conversion have drawn."""

    drawn: np.ndarray  # [steps, rows, columns]
    planner: int

    def noise(self, step, stream, rows, symbols, precision):  # noqa: ARG002
        columns = self.drawn[step][:, : self.planner] if stream == PLANNER else self.drawn[step][:, self.planner :]
        return np.pad(columns, ((0, 0), (0, symbols - columns.shape[1])))


@pytest.mark.parametrize("precision", [2, 3])
def test_noise_slots_draw_the_noise_of_the_next_loop(precision):
    """Given what the slots drew as its noise, the source takes the same path, bit by bit."""
    compared = 0
    for seed in range(400, 424):
        source = random_model(seed, "plt", 1 + seed % 2, precision=precision, stochastic=True)
        noise = source.transformers["model"].noise
        conversion = plt_to_mdm(source)
        width, columns = source.transformers["model"].width, len(noise.planner) + len(noise.predictor)
        word = sample_words(source, Draws(seed), 1)[0].tolist()
        try:
            theirs = run(conversion.model, word, engine=ENGINE(), tape=Tape(seed), record=True)
        except AttendsToNothing:  # random sources are only sure not to divide by zero without noise
            continue
        numbers = source.rows * (width + columns)
        canvas = np.stack([c[:numbers].reshape(source.rows, -1)[:, width:] for c in theirs.canvas])
        drawn = canvas - len(source.vocabulary) - source.precision.bound
        assert drawn.any()
        ours = run(source, word, engine=ENGINE(), tape=Replayed(0, drawn, len(noise.planner)), record=True)
        compared += 1
        assert aligned_difference(ours, theirs, conversion.alignment, {}) is None
        assert ours.output[-1] == theirs.output[-1]
    assert compared > 8


@pytest.mark.parametrize(("precision", "least", "most"), [(1, 0.25, 0.3), (2, 0.05, 0.1)])
def test_the_law_of_a_noise_slot_is_near_that_of_the_noise(precision, least, most):
    """The distance in total variation, exactly; it is not 0."""
    p = Precision(precision)
    logits = noise_logits(p)
    assert logits.argmax() == p.bound  # without a tape: 0
    law, counts = gumbel_law(logits.tolist(), p), noise_counts(p)
    gap = sum(abs(chance - Fraction(counts.get(v, 0), DRAWS)) for v, chance in zip(p.numbers(), law, strict=True)) / 2
    assert least < gap < most
    assert gap == noise_distance(p)


def test_the_distance_of_the_laws_is_said():
    """Per drawn number, and for whole runs; a deterministic source has none."""
    source = random_model(400, "plt", 1, precision=2, stochastic=True)
    noise, law = source.transformers["model"].noise, PLT_TO_MDM.law(source)
    assert law.draws == source.rows * source.steps * (len(noise.planner) + len(noise.predictor))
    assert law.per_draw == noise_distance(source.precision)
    assert 0 < law.per_draw < law.path < 1
    assert law.to_json()["per_draw"] == "0.0991"
    assert "0.0991" in law.sentence
    assert PLT_TO_MDM.law(random_model(400, "plt", 1, precision=2, stochastic=False)) is None
    finer = replace(source, transformers={"model": replace(source.transformers["model"], precision=Precision(4))})
    assert PLT_TO_MDM.law(finer).to_json() == {"draws": law.draws, "per_draw": None, "path_at_most": None}


def test_the_bound_for_whole_runs_is_one():
    """Two draws: the distance of the product laws, exactly, is above that of one and within the bound."""
    p = Precision(1)
    counts = noise_counts(p)
    right = [Fraction(counts.get(v, 0), DRAWS) for v in p.numbers()]
    drawn = gumbel_law(noise_logits(p).tolist(), p)
    pairs = range(len(right))
    gap = sum(abs(drawn[i] * drawn[j] - right[i] * right[j]) for i in pairs for j in pairs) / 2
    law = LawDistance(noise_distance(p), 2)
    assert law.per_draw < gap < law.path


def test_a_single_hide_is_caught(monkeypatch):
    monkeypatch.setattr(looped_in_slots, "hide", lambda *where: hide(*where, copies=1))
    assert len(disagreements(range(16))) > 3


def test_missing_boosts_are_caught(monkeypatch):
    monkeypatch.setattr(looped_in_slots, "boost", lambda *where: None)  # noqa: ARG005
    found = [caught(seed, 1 + seed % 2, padding=2, width=6, layers=2) for seed in (2, 12, 17, 18)]
    assert all("divides by zero" in str(d.what) for d in found)


def test_initial_layers_that_are_not_gated_are_caught(monkeypatch):
    def ungated(mlp, x, off, positive, negative):  # noqa: ARG001
        for sign, column in ((ONE, positive), (-ONE, negative)):
            units = mlp.units(x.size)
            mlp.read(units, x, sign)
            mlp.write(units, column)

    monkeypatch.setattr(looped_in_slots, "gate", ungated)
    assert len(disagreements(range(16))) > 3


def test_a_select_that_clips_is_caught(monkeypatch):
    def clipping(mlp, x, others, positive, negative):
        """ReLU(x_i + B·e_i - B)."""
        for sign, column in ((ONE, positive), (-ONE, negative)):
            units = mlp.units(x.size, bias=-B)
            mlp.read(units, 0, B)  # the column `one`
            mlp.read(units, others, -B)
            mlp.read(units, x, sign)
            mlp.write(units, column)

    monkeypatch.setattr(looped_in_slots, "select", clipping)
    assert len(disagreements(range(16), stochastic=False)) > 3


def test_final_layers_without_a_clock_divide_by_zero_too_early(monkeypatch):
    """On the stream of an earlier loop they meet scores that the source never has."""
    of = looped_in_slots.LoopShape.of
    monkeypatch.setattr(looped_in_slots.LoopShape, "of", lambda *a: replace(of(*a), clock=1))
    found = [caught(seed, 1 + seed % 2, layers=3) for seed in (21, 27)]
    assert all("the conversion divides by zero" in str(d.what) for d in found)


def caught(seed, length, **sizes):
    source = random_model(seed, "plt", length, stochastic=False, **sizes)
    return check_source(source, plt_to_mdm(source), seed=seed, words=1, engine=ENGINE())


def test_a_compiled_language_survives():
    """cor:mdms-can-simulate-regular-languages, at N = 3."""
    source = compile_problem("(ab)*", "plt", length=3)
    conversion = plt_to_mdm(source)
    assert check_source(source, conversion, seed=0, words=4, engine=ENGINE()) is None
    words = all_words(source)
    both = [answers(model, words, engine=ENGINE()).accepted.tolist() for model in (source, conversion.model)]
    assert both[0] == both[1]


def test_the_conversion_is_an_ordinary_folder(tmp_path):
    source = compile_problem("(ab)*", "plt", length=1)
    save_model(plt_to_mdm(source).model, tmp_path / "mdm")
    model = load_model(tmp_path / "mdm")
    assert model.kind == "mdm"
    assert model.problem == source.problem
    assert model.characters == source.characters
    assert model.provenance[-1] == {"converted": "plt_to_mdm", "from": "plt", "to": "mdm"}


def test_an_outside_reader_finds_the_same_symbol(tmp_path):
    for seed in range(3):
        source = random_model(seed, "plt", 1, padding=1, width=3)
        save_model(source, tmp_path / f"plt{seed}")
        save_model(plt_to_mdm(source).model, tmp_path / f"mdm{seed}")
        for word in "ab":
            found = [outside_reader.run(tmp_path / f"{kind}{seed}", word)["output"][-1] for kind in ("plt", "mdm")]
            assert found[0] == found[1]


def test_huge_vocabularies_are_refused():
    source = random_model(1, "plt", 1, padding=1, width=3)
    model = source.transformers["model"]
    more = tuple(f"s{i}" for i in range(250))
    wide = replace(
        source,
        vocabulary=(*source.vocabulary, *more),
        transformers={
            "model": replace(
                model,
                embed=Matrix.of(np.pad(model.embed.dense(), ((0, 250), (0, 0)))),
                out=Matrix.of(np.pad(model.out.dense(), ((0, 250), (0, 0)))),
            )
        },
    )
    with pytest.raises(TooLarge, match="symbols"):
        plt_to_mdm(wide)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_there_and_back_again(seed):
    """plt → mdm → plt (cor:mdm-lt-equivalence)."""
    source = random_model(seed, "plt", 1, padding=1, width=3, stochastic=False)
    there = plt_to_mdm(source).model
    back = mdm_to_plt(there).model
    words = all_words(source)
    symbols = [
        [model.vocabulary[t] for t in answers(model, words, engine=ENGINE()).slots[:, -1]]
        for model in (source, there, back)
    ]
    assert symbols[0] == symbols[1] == symbols[2]


def clocked(steps):
    """A source whose final layer attends, so that the last step must be told from the others."""
    source = random_model(26, "plt", 2, layers=3, stochastic=False)
    assert any(layer.heads for layer in source.transformers["model"].layers[source.transformers["model"].loop[1] :])
    return replace(source, steps=steps)


def test_the_clock_is_binary():
    """T = 2 … 64: the same alphabet, the same layers, ⌈log2 T⌉ slots more and a width that grows by 2 per bit."""
    sizes = {}
    for steps in (2, 3, 4, 8, 9, 32, 33, 64):
        model = plt_to_mdm(clocked(steps)).model
        bits = (steps - 1).bit_length()
        predictor = model.transformers["predictor"]
        addresses = 6 * (model.rows - 1).bit_length()
        sizes[steps] = (len(model.vocabulary), len(predictor.layers), model.padding - bits)
        assert predictor.width - 2 * bits - addresses < 300
    assert len(set(sizes.values())) == 1
    widths = [plt_to_mdm(clocked(steps)).model.transformers["predictor"].width for steps in (2, 64)]
    assert widths[1] - widths[0] <= 2 * 5 + 4


@pytest.mark.parametrize("steps", [2, 3, 4, 5, 7, 8, 9])
def test_the_clock_counts_to_the_last_step(steps):
    """Every slot of the counter after every step, and the answer when it is due."""
    source = clocked(steps)
    conversion = plt_to_mdm(source)
    assert check_source(source, conversion, seed=26, words=2, engine=ENGINE()) is None
    bits = (steps - 1).bit_length()
    trace = run(conversion.model, [0, 1], engine=ENGINE())
    for t, canvas in enumerate(trace.canvas, start=1):
        held = [trace.vocabulary[token] for token in canvas[-1 - bits : -1]]
        assert held == [f"⟨{t >> k & 1}⟩" for k in range(bits)]
