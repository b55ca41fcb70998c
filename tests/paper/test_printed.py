"""Each erratum's smallest case: what the paper prints, failing. docs/errata.md names these tests."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.numerics.arithmetic import add, clip, divide, total
from unmask.numerics.exponential import exp
from unmask.numerics.lemmas import LemmaFails, scaled_codes
from unmask.numerics.precision import Precision
from unmask.paper.framework_checks import by_definition
from unmask.paper.gadget_runs import bits, blank, settle
from unmask.pipeline import compile_problem, run_word
from unmask.programs import logic
from unmask.programs.attention import hide
from unmask.programs.coefficients import ONE, B, whole
from unmask.programs.expressions import constant
from unmask.programs.program import Flag
from unmask.reasoners.decoding import decode, gumbel_law
from unmask.reasoners.run import run
from unmask.reasoners.tape import Tape
from unmask.testing import random_model
from unmask.theorems.mdm_to_plt import mdm_to_plt
from unmask.theorems.plt_to_mdm import plt_to_mdm
from unmask.theorems.route import convert
from unmask.verification.transformer_conversions import random_transformer
from unmask.weights.transformer import Noise

P2 = Precision(2)


def test_01_the_upper_triangle_shows_the_first_row_the_future():
    printed = np.triu(np.ones((2, 2), dtype=bool))  # row = query, column = key
    assert printed.tolist() == [[True, True], [False, True]], "row 0 sees key 1, row 1 sees itself alone"


def test_02_noise_on_probabilities_draws_a_symbol_of_probability_zero():
    probabilities = [P2.one, 0]
    assert gumbel_law(probabilities, P2)[1] > Fraction(1, 5)
    assert gumbel_law([P2.bound, -P2.bound], P2)[1] == 0, "on the logits B and -B it never does"


@pytest.mark.parametrize("p", range(1, 9))
def test_03_the_softmax_ties_where_the_logits_do_not(p):
    precision = Precision(p)
    logits = np.array([precision.bound - 1, precision.bound])
    exps = exp(logits, precision)
    softmax = divide(exps, int(total(exps, precision)), precision)
    assert softmax.tolist() == [precision.one, precision.one], "two probabilities of 1"
    assert (int(np.argmax(softmax)), int(decode(logits[None], precision)[0])) == (0, 1)


def test_04_the_planner_bit_of_a_slot_is_not_that_of_an_input():
    model = compile_problem("group:Z2", "mdm", length=2)
    tokens = np.array([[0, 1, model.token[model.mask]]])
    decisions = ReferenceEngine().session(model.transformers["planner"]).read(tokens, (0, 3))[0]
    u = (decisions[:, 1] > decisions[:, 0]).astype(int).tolist()
    assert u == [0, 0, 1], "slot 1 is u_3 = u_(N+1); by u_1 it would never be written"


def test_05_noise_after_the_loop_comes_too_late():
    """One denoising step, sampled: with the noise before the loop the looped model draws the same symbols."""
    late = right = differ = 0
    for seed in range(30):
        source = random_model(seed, "mdm", 1, steps=1, padding=2)
        word, tape = [0], Tape(seed)
        drawn = by_sampling(source, word, tape)
        looped = mdm_to_plt(source).model
        right += run(looped, word, engine=ReferenceEngine(), tape=tape).output[-1] == drawn
        transformer = replace(looped.transformers["model"], noise=Noise())
        silent = replace(looped, transformers={"model": transformer})  # the only loop sees no noise
        answer = run(silent, word, engine=ReferenceEngine(), tape=tape).output[-1]
        late += answer == drawn
        differ += answer != drawn
    assert right == 30
    assert late < 30
    assert differ


def by_sampling(source, word, tape):
    return run(source, word, engine=ReferenceEngine(), tape=tape).output[-1]


def test_06_a_mask_row_attends_to_itself():
    """N = 1, P' = 1: the row that predicts has a key of its own, which a chain of thought does not have yet."""
    weights = []
    for seed in range(20):
        model = random_model(seed, "pcot", 1, steps=2)
        if model.block == 1:
            trace = run(model, [0], engine=ReferenceEngine(), record=True)
            weights.append(trace.activations["steps.0.model.layers.0.heads.0.weights"][-1, -1])
    assert max(weights) > 0


def test_07_subtracting_b_once_lets_an_unchosen_slot_win():
    chosen, unchosen = -1, P2.bound  # largest logits: -1/4 where the planner chooses, B where it does not
    assert clip(unchosen - P2.bound, P2) > chosen
    assert clip(clip(unchosen - P2.bound, P2) - P2.bound, P2) < chosen


def test_07_no_fixed_k_follows_a_planner():
    model = compile_problem("group:Z2", "mdm", length=4)
    trace = run_word(model, "+0 +1 +1 +0")
    assert [int(chosen.sum()) for chosen in trace.chosen] == [2, 1]


def test_08_a_kept_slot_may_still_be_masked():
    model = compile_problem("group:Z2", "mdm", length=4)
    trace = run_word(model, "+0 +1 +1 +0")
    assert model.mask in trace.symbols(trace.canvas[0]), "which a predictor cannot write into the next block"


def test_09_one_differing_bit_scores_above_the_printed_bound():
    with pytest.raises(LemmaFails, match="score -14 with m = 2"):
        scaled_codes(P2, 1, 2, printed=True)


def mismatch_score(precision, copies):
    """The running sum of FOCUS on one differing bit, from the score B: (+c·1·-1) and (c·-1), `copies` times."""
    score = precision.bound
    for _ in range(copies):
        for _ in range(2):
            score = int(add(score, -precision.half_bound, precision))
    return score


def test_10_a_mismatch_does_not_reach_minus_b():
    assert mismatch_score(P2, 2) == -P2.bound + 2, "-B + 2^(1-p)"
    assert int(exp(np.array([mismatch_score(P2, 2)]), P2)[0]) == 0, "which is enough for p >= 2"
    p1 = Precision(1)
    assert int(exp(np.array([mismatch_score(p1, 2)]), p1)[0]) > 0, "but not for p = 1"
    assert int(exp(np.array([mismatch_score(p1, 3)]), p1)[0]) == 0


def test_11_a_marked_row_divides_by_zero():
    program = blank(2)
    one = program.register("one", declaration=Flag(constant(1)))
    marked = program.register("marked")
    head = program.layer().head()
    head.column([(marked, -B)], [(one, ONE)])  # the simulated layer: the marked row scores -B everywhere
    hide(head, marked, one)
    with pytest.raises(AttendsToNothing):
        settle(program, P2, (marked, P2.one * np.array([[[0], [1]]])))


def test_12_an_and_of_four_flags_clips():
    program = blank()
    x, y = program.register("x", 4), program.register("y")
    mlp = program.layer().mlp
    unit = mlp.units(1, bias=whole(-3))
    mlp.read(unit, x)
    mlp.write(unit, y)
    found = settle(program, P2, (x, np.full((1, 4), P2.one)))[0, 0, y[0]]
    assert found == 3, "3/4 instead of 1"


def test_12_an_mlp_has_no_negative_output():
    program = blank()
    x, y = program.register("x"), program.register("y")
    mlp = program.layer().mlp
    unit = mlp.units(1)
    mlp.read(unit, x)
    mlp.write(unit, y, whole(2))
    mlp.offset(y, -ONE)
    found = settle(program, P2, (x, P2.one * bits(1)))[:, 0, y[0]]
    assert found.min() == 0, "sbin(0) = -1 cannot be written"


@pytest.mark.parametrize("p", range(1, 9))
def test_13_the_factor_of_argmax_is_no_number(p):
    assert 2**p > Precision(p).meaning(Precision(p).bound)


def test_13_a_tie_has_no_winner_as_printed():
    """2^-p - Σ ReLU(x_j - x_d) with x = (1, 1): both are 1, and decoding needs one symbol."""
    program = blank()
    x, y = program.register("x", 2), program.register("y", 2)
    mlp = program.layer().mlp
    logic.argmax(mlp, x, y)
    mlp.biases.clear()  # no tie-break
    assert settle(program, P2, (x, np.array([[1, 1]])))[0, 0, y].tolist() == [P2.one, P2.one]


def test_14_the_first_block_waits_for_itself():
    """N = 1, P = 3: the slots of the first block stand in the rows 1, 2, 3 and look at the rows -2, -1, 0."""
    length, block = 1, 3
    rows = range(length, length + block)
    assert [n - block for n in rows] == [-2, -1, 0], "two of the three do not exist"


def test_15_the_last_position_needs_one_bit_more():
    N = 4
    assert N.bit_length() == 3 > (N - 1).bit_length() == 2, "n = N = 4 in ⌈log2 4⌉ = 2 bits is 0"


def test_16_the_first_causal_row_cannot_know_the_second_symbol():
    """L = 1, N = 2: the stated rows 0 … N are the input itself. The causal row 0 never depends on w_2."""
    for seed in range(50):
        source = random_transformer(seed, "unmasked", precision=2, layers=1)
        if len(source.positions) < 2:
            continue
        session = ReferenceEngine().session(source)
        try:
            both = session.layers(session.embed(np.array([[0, 0], [0, 1]])), 0, 1)
        except AttendsToNothing:
            continue
        if not np.array_equal(both[0, 0], both[1, 0]):
            return
    pytest.fail("no unmasked row depends on the second symbol")


def test_16_the_block_of_a_row():
    N, L = 3, 2
    printed, right = [n // L for n in range(N * L)], [n // N for n in range(N * L)]
    assert (printed, right) == ([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1])


def test_17_a_single_b_is_survived():
    left = 2 ** (P2.p - 1) * P2.one  # what FOCUS may leave of a score
    assert int(exp(np.array([left - P2.bound]), P2)[0]) > 0
    p3 = Precision(3)
    assert int(exp(np.array([2**2 * p3.one - p3.bound]), p3)[0]) == 0, "from p = 3 on one B is enough there"


def test_18_a_residual_stream_is_not_binary():
    model = random_model(0, "plt", 1, precision=2)
    trace = run(model, [0], engine=ReferenceEngine(), record=True)
    last = model.transformers["model"].loop[1] - 1
    stream = trace.activations[f"steps.0.model.layers.{last}.residual"]
    assert not set(np.unique(stream).tolist()) <= {0, P2.one}


def test_19_there_are_fewer_hosts_than_rows():
    model = random_model(1, "plt", 1, padding=1)
    source = replace(model, transformers={"model": replace(model.transformers["model"], noise=None)})
    assert source.length < source.rows, "the first N positions cannot hold N + P rows"
    slots = plt_to_mdm(source).model.padding
    rows, width = source.rows, source.transformers["model"].width
    assert slots == rows * width + 1


def leaves(N, layout):
    """The order of the inputs under the last slot; slots j = 1 … N - 1 have the factors layout(j)."""
    below = {i: [i] for i in range(1, N + 1)}
    for j in range(1, N):
        left, right = layout(j)
        below[N + j] = below[left] + below[right]
    return below[2 * N - 1]


def test_21_the_printed_tree_multiplies_in_a_rotated_order():
    printed = leaves(3, lambda j: (2 * j - 1, 2 * j))
    assert printed == [3, 1, 2]
    right = [N for N in range(2, 200) if leaves(N, lambda j: (2 * j - 1, 2 * j)) == list(range(1, N + 1))]
    assert right == [2, 4, 8, 16, 32, 64, 128], "powers of two alone"


def test_21_the_positions_and_the_indicator():
    N = 4  # slots at n = 5, 6, 7; ñ = n - N
    children = [(2 * (n - N) - 1, 2 * (n - N)) for n in range(N + 1, 2 * N)]
    printed = [(max(0, 2 * (n - N) - N - 1), max(0, 2 * (n - N) - N)) for n in range(N + 1, 2 * N)]
    assert children == [(1, 2), (3, 4), (5, 6)]
    assert printed == [(0, 0), (0, 0), (1, 2)]
    reads_input = [2 * (n - N) <= N for n in range(N + 1, 2 * N)]
    assert reads_input != [2 * (n - N) >= N for n in range(N + 1, 2 * N)]


def test_22_the_last_slot_is_workspace():
    N, P = 1, 1
    slots, output = P + (N + P) ** 2, range(P)
    assert slots - 1 not in output, "acceptance reads slot P + (N + P)², the output is slot 1"
    T, block = 3, 2
    assert all((t - 1) * block + (T - t) * block != T * block for t in range(1, T + 1)), "(T - t + 1)·P' masks remain"


def test_23_the_divisors_of_the_positions():
    T, L, N, P = 3, 1, 1, 1
    block = L * (N + P)
    rows = range(T * block)
    assert [n // T for n in rows] == [0, 0, 0, 1, 1, 1]
    assert [n // block for n in rows] == [0, 0, 1, 1, 2, 2], "the step of a row"


def test_24_the_inclusion_costs_more_than_n_slots():
    N, T = 16, 4
    source = random_model(0, "cot", N, steps=T, layers=1, width=3)
    *_, (_, conversion) = convert(source, "mdm")
    rows = source.rows  # N + T, and one more with a begin symbol
    assert conversion.model.steps == T
    assert N < conversion.model.padding == T + rows * ((rows - 1).bit_length() - 1) < T + rows**2


def test_25_parity_takes_log_n_loops_and_is_not_in_ac0():
    model = compile_problem("group:Z2", "plt", length=8)
    assert model.steps == 3
    assert run_word(model, "+1 +0 +0 +0 +0 +0 +0 +0").accepted is False
    assert run_word(model, "+1 +0 +0 +0 +0 +0 +0 +1").accepted is True


def test_26_merged_heads_clip_before_the_residual_is_added():
    old, new = P2.bound, -P2.bound
    heads_first = add(add(-old, new, P2), old, P2)
    assert heads_first != new, "W - W + W_new on one buffer"


def test_27_the_printed_chances_do_not_sum_to_one():
    alpha, symbols = Fraction(1, 2), 2
    assert (1 - alpha) + symbols * alpha == Fraction(3, 2)


def test_28_accepting_and_rejecting_are_not_exclusive():
    """A model that writes 0 in its first step and 1 in its second: T = 1 rejects, T = 2 accepts."""
    for seed in range(400):
        model = random_model(seed, "mdm", 1, padding=1, steps=2)
        states = by_definition(model, [0])
        if [model.vocabulary[s[-1]] for s in states] == [model.reject, model.accept]:
            return
    pytest.fail("no such model among the random ones")
