"""Which random bits a run uses: exactly those of the design page, written out here with plain Philox."""

import numpy as np
import pytest
from numpy.random import Philox

import by_hand
from unmask.errors import UnmaskError
from unmask.numerics.noise import gumbel_noise
from unmask.numerics.precision import Precision
from unmask.pipeline import generate, run_word
from unmask.reasoners.tape import OTHER, PLANNER, Tape
from unmask.testing import random_model


def page(seed, step, w, entries):
    """raw = numpy.random.Philox(key=[s, 2*step + w]).random_raw(...)"""
    return Philox(key=np.array([seed, 2 * step + w], dtype=np.uint64)).random_raw(entries)


@pytest.mark.parametrize("seed", [0, 1, 7, 2**63, 2**64 - 1])
@pytest.mark.parametrize("step", [0, 1, 1000])
@pytest.mark.parametrize("stream", [PLANNER, OTHER])
def test_addresses_are_those_of_the_design_page(seed, step, stream):
    whole = page(seed, step, stream, 60)
    for first in range(0, 23):
        for count in (0, 1, 3, 30):
            assert np.array_equal(Tape(seed).raw(step, stream, first, count), whole[first : first + count])


def test_an_entry_is_position_times_v_plus_symbol():
    precision = Precision(3)
    whole = gumbel_noise(page(5, 2, OTHER, 9 * 6), precision).reshape(9, 6)
    assert np.array_equal(Tape(5).noise(2, OTHER, (4, 9), 6, precision), whole[4:9])
    assert Tape(5).noise(2, OTHER, (4, 4), 6, precision).shape == (0, 6)


def test_streams_steps_and_seeds_are_different():
    drawn = [Tape(seed).raw(step, w, 0, 4).tolist() for seed in (0, 1) for step in (0, 1) for w in (0, 1)]
    assert len({tuple(d) for d in drawn}) == 8


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_have_64_bits(seed):
    with pytest.raises(ValueError, match="from 0 to 2"):
        Tape(seed)
    with pytest.raises(UnmaskError, match="a seed is an integer from 0"):
        run_word(random_model(0, "cot", 1), "a", sample=True, seed=seed)


def zeros(kind, **rest):
    """All logits are 0, so that the tape alone decides."""
    attention = "causal" if kind in ("cot", "pcot") else "unmasked"
    fields = {"padding": 3, "steps": 3, **rest}
    rows = 1 + fields["padding"]
    predictor = by_hand.successor({}, rows, attention=attention)
    planner = by_hand.transformer([[0]] * 5, [[0]] * rows, [[0], [0]])
    transformers = {"planner": planner, "predictor": predictor} if kind == "mdm" else {"model": predictor}
    return by_hand.model(kind, transformers, **fields)


def argmax_at(seed, step, row, *, without=None, symbols=5):
    noise = gumbel_noise(page(seed, step, 1, (row + 1) * symbols), by_hand.P2).tolist()[row * symbols :]
    allowed = [s for s in range(symbols) if s != without]
    return max(allowed, key=lambda s: (noise[s], -s))


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_reads_its_rows_of_the_tape(seed):
    cot = run_word(zeros("cot"), "a", sample=True, seed=seed)
    assert cot.canvas[-1].tolist() == [argmax_at(seed, step, step) for step in range(3)]
    pcot = run_word(zeros("pcot", block=1), "a", sample=True, seed=seed)
    assert pcot.canvas[-1].tolist() == [argmax_at(seed, step, 1 + step) for step in range(3)]
    topk = run_word(zeros("topk", steps=2), "a", sample=True, seed=seed)
    assert topk.canvas[-1].tolist() == [argmax_at(seed, 1, 1 + slot, without=2) for slot in range(3)]


@pytest.mark.parametrize("seed", range(5))
def test_planner_and_predictor_of_an_mdm_read_two_streams(seed):
    slots, history = [2, 2, 2], []
    for step in range(3):
        plan = gumbel_noise(page(seed, step, 0, 8), by_hand.P2).reshape(4, 2)[1:]
        for slot, (keep, take) in enumerate(plan.tolist()):
            if take > keep:
                slots[slot] = argmax_at(seed, step, 1 + slot, without=2)
        history.append(list(slots))
    trace = run_word(zeros("mdm"), "a", sample=True, seed=seed)
    assert [c.tolist() for c in trace.canvas] == history


@pytest.mark.parametrize("kind", ["mdm", "topk", "plt", "cot", "pcot"])
def test_same_tape_same_path_and_other_seeds_other_samples(kind):
    def path(model, seed):
        return run_word(model, "", sample=True, seed=seed, record=kind == "plt")

    def drawn(model, seed):
        trace = path(model, seed)
        if kind == "plt":
            return {name: array.tolist() for name, array in trace.activations.items()}
        return trace.canvas_symbols

    for model_seed in range(20):
        model = random_model(model_seed, kind, 0, stochastic=True)
        try:
            paths = [drawn(model, seed) for seed in range(12)]
        except UnmaskError:  # noise may lead to a row that divides by zero
            continue
        assert paths == [drawn(model, seed) for seed in range(12)]
        if any(p != paths[0] for p in paths):
            return
    pytest.fail("twelve seeds always gave the same samples")


def test_generation_needs_a_model_of_the_empty_input():
    with pytest.raises(
        UnmaskError, match="sampling needs a model that reads no input, but this one reads words of length 2"
    ):
        generate(random_model(0, "cot", 2), seed=0)
    model = zeros("cot", length=0, vocabulary=("a", "b", "^", "0", "1"), begin="^")
    assert len({tuple(generate(model, seed=seed).output) for seed in range(10)}) > 5
    assert generate(model, seed=3).canvas_symbols == run_word(model, "", sample=True, seed=3).canvas_symbols
