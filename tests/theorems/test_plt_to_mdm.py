"""plt → mdm: the slots store the whole stream after every loop, and noise slots draw the noise of the loop."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import outside_reader
from unmask.api import ENGINES, compile_problem, load_model, save_model
from unmask.errors import AttendsToNothing, TooLarge
from unmask.numerics.arithmetic import Precision
from unmask.numerics.noise import DRAWS, gumbel_law, noise_counts
from unmask.programs.gadgets.attention import hide
from unmask.programs.program import ONE, B
from unmask.programs.residual_slots import Digits, noise_distance, noise_logits
from unmask.reasoners.decoding import PLANNER, Tape
from unmask.reasoners.run_words import answers, run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import all_words, sample_words
from unmask.theorems import plt_to_mdm as looped_in_slots
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.conversion_checks import first_disagreement, theorem_disagreements
from unmask.theorems.mdm_to_plt import mdm_to_plt
from unmask.theorems.plt_to_mdm import PLT_TO_MDM, PLT_TO_MDM_PACKED, LoopPredictor, plt_to_mdm
from unmask.theorems.theorem import LawDistance, SourceSize
from unmask.weights.matrices import Matrix
from unmask.weights.model import Price
from unmask.weights.transformer import Head, Layer, Mlp

from .odd_sources import divides_by_zero

ENGINE = next(iter(ENGINES.values()))


def disagreements(seeds, *, convert=plt_to_mdm, change=lambda source: source, tape=None, priced=True, **sizes):
    results = []
    for seed in seeds:
        source = change(random_model(seed, "plt", seed % 4, **sizes))
        conversion = convert(source)
        assert not priced or Price.of(conversion.model).within(PLT_TO_MDM.bound(source)), seed
        results.append(first_disagreement(source, conversion, seed=seed, words=1, tape=tape, engine=ENGINE()))
    return [d for d in results if d]


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
    assert first_disagreement(source, conversion, seed=3, engine=ENGINE()) is None


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3])
def test_many_sources(precision):
    """The last hundred seeds run on the reference engine."""
    assert disagreements(range(12, 240), precision=precision) == []
    assert theorem_disagreements(PLT_TO_MDM, range(1000, 1100), precision=precision) == []
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


@pytest.mark.parametrize("theorem", [PLT_TO_MDM, PLT_TO_MDM_PACKED])
def test_final_layers_without_heads(theorem):
    """Only final layers with heads are tested by EMPTY."""
    for seed in range(4):
        source = random_model(seed, "plt", 1 + seed % 2, precision=1 + seed % 2, layers=2, stochastic=False)
        model = source.transformers["model"]
        silent = tuple(Layer((), layer.mlp) for layer in model.layers)
        for layers in (
            (model.layers[0], silent[1]),
            (*model.layers, silent[0]),
            (model.layers[0], silent[0], model.layers[1]),
        ):
            changed = replace(source, transformers={"model": replace(model, layers=layers, loop=(0, 1))})
            conversion = theorem.convert(changed)
            assert Price.of(conversion.model).within(theorem.bound(changed))
            assert first_disagreement(changed, conversion, seed=seed, engine=ENGINE()) is None


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
        assert first_disagreement(changed, plt_to_mdm(changed), seed=5, engine=ENGINE()) is None


def test_names_of_numbers_never_clash():
    source = random_model(5, "plt", 1, padding=0, width=3, stochastic=False)
    renamed = replace(source, vocabulary=("a", "b", "⟨1/4⟩", "m", "1"), accept="1", reject="m", pad=None, begin=None)
    model = plt_to_mdm(replace(renamed, transformers=source.transformers)).model
    assert "⟨⟨1/4⟩⟩" in model.vocabulary
    assert model.mask == "M"


def test_division_by_zero_raises_where_the_source_raises():
    for seed in range(6):
        source = random_model(seed, "plt", 1, padding=1, layers=2, stochastic=False)
        model = source.transformers["model"]
        bad = np.zeros((model.width, 1), dtype=np.int64)
        bad[:, 0] = model.precision.bound
        head = Head(Matrix.of(bad), Matrix.of(-bad), Matrix.zeros((model.width, model.width)))
        for number in range(2):
            layers = list(model.layers)
            layers[number] = replace(layers[number], heads=(*layers[number].heads, head))
            changed = replace(source, transformers={"model": replace(model, layers=tuple(layers))})
            assert first_disagreement(changed, plt_to_mdm(changed), seed=seed, engine=ENGINE()) is None


@dataclass(frozen=True, eq=False)
class Replayed(Tape):
    """A tape with the noise that the slots of a conversion have drawn, for its source."""

    drawn_noise: np.ndarray  # [steps, rows, columns]
    planner: int

    def noise(self, step, stream, rows, symbols, precision):  # noqa: ARG002
        columns = (
            self.drawn_noise[step][:, : self.planner]
            if stream == PLANNER
            else self.drawn_noise[step][:, self.planner :]
        )
        return np.pad(columns, ((0, 0), (0, symbols - columns.shape[1])))


@pytest.mark.parametrize("precision", [2, 3])
def test_noise_slots_draw_the_noise_of_the_next_loop(precision):
    """With the noise that the slots drew, the source takes the same path, bit by bit."""
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
        drawn_noise = canvas - len(source.vocabulary) - source.precision.bound
        assert drawn_noise.any()
        try:
            ours = run(source, word, engine=ENGINE(), tape=Replayed(0, drawn_noise, len(noise.planner)), record=True)
        except AttendsToNothing:  # in a final layer: the conversion has no answer
            assert theirs.output[-1] == conversion.undefined
            continue
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
    """Distances per drawn number and for whole runs; None for a deterministic source."""
    source = random_model(400, "plt", 1, precision=2, stochastic=True)
    noise, law = source.transformers["model"].noise, PLT_TO_MDM.law(source)
    assert law.draws == source.rows * source.steps * (len(noise.planner) + len(noise.predictor))
    assert law.per_draw == noise_distance(source.precision)
    assert 0 < law.per_draw < law.path < 1
    assert law.to_json()["per_draw"] == "0.0991"
    assert "0.0991" in law.description
    assert PLT_TO_MDM.law(random_model(400, "plt", 1, precision=2, stochastic=False)) is None
    finer = replace(source, transformers={"model": replace(source.transformers["model"], precision=Precision(4))})
    assert PLT_TO_MDM.law(finer).to_json() == {"draws": law.draws, "per_draw": None, "path_at_most": None}


def test_the_bound_for_whole_runs_is_one():
    """Two draws: the distance of the product laws, exactly, is above that of one and within the bound."""
    p = Precision(1)
    counts = noise_counts(p)
    exact = [Fraction(counts.get(v, 0), DRAWS) for v in p.numbers()]
    slot_law = gumbel_law(noise_logits(p).tolist(), p)
    pairs = range(len(exact))
    gap = sum(abs(slot_law[i] * slot_law[j] - exact[i] * exact[j]) for i in pairs for j in pairs) / 2
    law = LawDistance(noise_distance(p), 2)
    assert law.per_draw < gap < law.path


def test_a_single_hide_is_caught(monkeypatch):
    monkeypatch.setattr(looped_in_slots, "hide", lambda *where: hide(*where, copies=1))
    assert len(disagreements(range(16))) > 3


def test_missing_boosts_are_caught(monkeypatch):
    monkeypatch.setattr(looped_in_slots, "boost", lambda *where: None)  # noqa: ARG005
    disagreements = [caught(seed, 1 + seed % 2, padding=2, width=6, layers=2) for seed in (2, 12, 17, 18)]
    assert all("divides by zero" in str(d.difference) for d in disagreements)


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


def caught(seed, length, **sizes):
    source = random_model(seed, "plt", length, stochastic=False, **sizes)
    return first_disagreement(source, plt_to_mdm(source), seed=seed, words=1, engine=ENGINE())


def test_a_compiled_language_survives():
    """cor:mdms-can-simulate-regular-languages, at N = 3."""
    source = compile_problem("(ab)*", "plt", length=3)
    conversion = plt_to_mdm(source)
    assert first_disagreement(source, conversion, seed=0, words=4, engine=ENGINE()) is None
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
            outputs = [outside_reader.run(tmp_path / f"{kind}{seed}", word)["output"][-1] for kind in ("plt", "mdm")]
            assert outputs[0] == outputs[1]


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
    diffusion = plt_to_mdm(source).model
    back = mdm_to_plt(diffusion).model
    words = all_words(source)
    symbols = [
        [model.vocabulary[t] for t in answers(model, words, engine=ENGINE()).slots[:, -1]]
        for model in (source, diffusion, back)
    ]
    assert symbols[0] == symbols[1] == symbols[2]


# Without a clock: final layers run in every step


def attending(seed=26, **changes):
    """Return a source whose final layer has heads."""
    source = random_model(seed, "plt", 2, layers=3, stochastic=False)
    assert PLT_TO_MDM.bound(source).layers > len(source.transformers["model"].layers) + 3
    return replace(source, **changes)


def test_the_weights_do_not_depend_on_the_number_of_steps(tmp_path):
    for steps in (2, 64):
        save_model(plt_to_mdm(attending(steps=steps)).model, tmp_path / str(steps))
    folders = [{f.name: f.read_bytes() for f in sorted((tmp_path / n).glob("*.safetensors"))} for n in ("2", "64")]
    assert folders[0] == folders[1]
    assert folders[0]


@pytest.mark.parametrize("steps", [2, 5, 9])
def test_final_layers_answer_as_if_every_step_were_the_last(steps):
    assert (
        first_disagreement(attending(steps=steps), plt_to_mdm(attending(steps=steps)), seed=26, engine=ENGINE()) is None
    )


def test_final_layers_that_are_not_watched_divide_by_zero_too_early(monkeypatch):
    """On the stream of an earlier loop the final layers have scores that the source never has."""
    monkeypatch.setattr(looped_in_slots, "empty", lambda *where: None)  # noqa: ARG005
    disagreements = [caught(seed, 1 + seed % 2, layers=3) for seed in (21, 27)]
    assert all("the conversion divides by zero" in str(d.difference) for d in disagreements)


def blind_at_last(seed, precision):
    """A source with one more final layer, whose head scores -q² for the sum q of a row."""
    source = random_model(seed, "plt", 2, padding=1, width=4, layers=2, precision=precision, stochastic=False)
    model = source.transformers["model"]
    ones = np.full((model.width, 1), model.precision.bound)
    head = Head(Matrix.of(ones), Matrix.of(-ones), Matrix.zeros((model.width, model.width)))
    layers = (*model.layers, Layer((head,), Mlp.nothing(model.width)))
    return replace(source, transformers={"model": replace(model, layers=layers)})


@pytest.mark.parametrize(("precision", "packed"), [(1, True), (2, False), (2, True)])
def test_where_a_final_layer_of_the_source_divides_by_zero_there_is_no_answer(precision, packed):
    divided = 0
    for seed in range(4):
        source = blind_at_last(seed, precision)
        conversion = plt_to_mdm(source, packed=packed)
        assert first_disagreement(source, conversion, seed=seed, engine=ENGINE()) is None
        for word in ([0, 1], [1, 1]):
            if not divides_by_zero(source, word):
                continue
            divided += 1
            answer = run(conversion.model, word, engine=ENGINE()).output[-1]
            assert answer == conversion.undefined
            assert answer not in source.vocabulary
    assert divided


def test_an_answer_in_spite_of_a_division_by_zero_is_caught(monkeypatch):
    monkeypatch.setattr(LoopPredictor, "_answer_zero", lambda *_: None)
    sources = [blind_at_last(seed, 2) for seed in range(4)]
    wrong = [first_disagreement(source, plt_to_mdm(source), seed=0, engine=ENGINE()) for source in sources]
    assert "only the source divides by zero" in [d.difference for d in wrong if d]


# Packed: (N + P)·D slots


def packed(source, **options):
    return plt_to_mdm(source, packed=True, **options)


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_a_packed_stream_takes_exactly_its_own_number_of_slots(precision):
    for seed in range(600, 604):
        source = random_model(seed, "plt", seed % 4, precision=precision, layers=1 + seed % 3, stochastic=False)
        conversion = packed(source)
        assert conversion.model.padding == source.rows * source.transformers["model"].width
        assert first_disagreement(source, conversion, seed=seed, words=1, engine=ENGINE()) is None


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_narrow_streams_are_packed_too(width):
    """One column takes two slots; two columns, pairs of numbers."""
    for seed, precision in ((0, 1), (1, 2), (2, 2)):
        source = random_model(seed, "plt", 2, precision=precision, width=width, layers=2, stochastic=False)
        conversion = packed(source)
        assert conversion.model.padding == source.rows * max(width, 2)
        assert first_disagreement(source, conversion, seed=seed, words=2, engine=ENGINE()) is None
        if width == 2:
            assert len(conversion.model.vocabulary) == len(source.vocabulary) + source.precision.size**2 + 1


def test_packed_streams_are_read_by_one_head():
    convert = partial(packed, most_heads=0)
    assert disagreements(range(210, 213), convert=convert, priced=False) == []


def test_several_answers_of_a_packed_stream():
    """The first of k answers takes the slot of the last number."""
    for seed in range(4):
        source = replace(random_model(seed, "plt", 2, padding=2, stochastic=False), outputs=3)
        conversion = packed(source)
        assert conversion.model.padding == source.rows * source.transformers["model"].width + 2
        assert first_disagreement(source, conversion, seed=seed, words=2, engine=ENGINE()) is None


def test_packed_noise():
    assert disagreements(range(404, 407), convert=packed, priced=False, stochastic=True) == []


def test_the_slots_of_the_paper_up_to_64_letters():
    """By the formula, which `test_price` compares with models."""
    size = replace(SourceSize.of(random_model(5, "plt", 2, stochastic=False)), begin=0)
    for length in range(1, 65):
        price = PLT_TO_MDM_PACKED.most(replace(size, length=length))
        assert price.padding == (length + size.padding) * size.model.width
        assert PLT_TO_MDM.most(replace(size, length=length)).padding == price.padding + 1


def test_digits_without_a_sign_are_caught(monkeypatch):
    monkeypatch.setattr(Digits, "digit", lambda self, v, j: abs(v) >> self.bits * j & (1 << self.bits) - 1)
    assert len(disagreements(range(5), convert=packed, priced=False, stochastic=False)) > 1


def test_an_outside_reader_runs_a_packed_stream(tmp_path):
    source = random_model(3, "plt", 2, padding=1, width=4, layers=3, stochastic=False)
    save_model(source, tmp_path / "plt")
    save_model(packed(source).model, tmp_path / "mdm")
    for word in ("aa", "ba"):
        outputs = [outside_reader.run(tmp_path / kind, word)["output"][-1] for kind in ("plt", "mdm")]
        assert outputs[0] == outputs[1]
