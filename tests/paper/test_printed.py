"""The smallest case of each erratum, in which the printed form fails. docs/paper/errata.md names these tests."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from unmask.api import compile_problem, compile_program, run_word
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.numerics.arithmetic import Precision, add, clip, divide, exp, multiply, product, total
from unmask.numerics.noise import gumbel_law
from unmask.numerics.number_lemmas import LemmaFails, scaled_codes
from unmask.paper.checks.framework_checks import by_definition
from unmask.programs.gadgets.attention import hide
from unmask.programs.program import ONE, B, whole
from unmask.reasoners.decoding import OTHER, PLANNER, Tape, decode
from unmask.reasoners.run_words import run
from unmask.recurrences import BOOLEAN, Slots, System
from unmask.testing import random_model
from unmask.testing.gadget_runs import bits, blank, run_gadget
from unmask.testing.random_model import all_words
from unmask.theorems.all_theorems import convert
from unmask.theorems.conversion_checks import random_saturating_transformer
from unmask.theorems.mdm_to_plt import mdm_to_plt
from unmask.theorems.plt_to_mdm import plt_to_mdm

P2 = Precision(2)


def test_27_the_upper_triangle_shows_the_first_row_the_future():
    scores = np.zeros((2, 2), dtype=np.int64)  # row = query, column = key
    printed = np.where(np.triu(np.ones((2, 2), dtype=bool)), scores, -P2.bound)
    assert (exp(printed, P2) > 0).tolist() == [[True, True], [False, True]], "row 1 sees row 2, row 2 itself alone"


def test_28_noise_on_probabilities_draws_a_symbol_of_probability_zero():
    probabilities = [P2.one, 0]
    assert gumbel_law(probabilities, P2)[1] > Fraction(1, 5)
    assert gumbel_law([P2.bound, -P2.bound], P2)[1] == 0, "on the logits B and -B it never does"


@pytest.mark.parametrize("p", range(1, 9))
def test_19_the_softmax_ties_where_the_logits_do_not(p):
    precision = Precision(p)
    logits = np.array([precision.bound - 1, precision.bound])
    exps = exp(logits, precision)
    softmax = divide(exps, int(total(exps, precision)), precision)
    assert softmax.tolist() == [precision.one, precision.one], "two probabilities of 1"
    assert (int(np.argmax(softmax)), int(decode(logits[None], precision)[0])) == (0, 1)


def test_29_the_planner_bit_of_a_slot_is_not_that_of_an_input():
    model = compile_problem("group:Z2", "mdm", length=2)
    tokens = np.array([[0, 1, model.token[model.mask]]])
    decisions = ReferenceEngine().session(model.transformers["planner"]).read(tokens, (0, 3))[0]
    u = (decisions[:, 1] > decisions[:, 0]).astype(int).tolist()
    assert u == [0, 0, 1], "slot 1 is u_3 = u_(N+1); by u_1 it would never be written"


def test_noise_after_each_loop_samples_every_step():
    """The loop body rotated: it decodes first, and once more in the final layers; noise t is added after loop t."""
    draws = set()
    for seed in range(30):
        steps = 1 + seed % 3
        source = random_model(seed, "mdm", 1, steps=steps, padding=2)
        sampled = run(source, [0], engine=ReferenceEngine(), tape=Tape(seed)).output[-1]
        looped = mdm_to_plt(source).model
        assert answer_with_noise_after_each_loop(looped, [0], Tape(seed)) == sampled
        draws.add(sampled == run(source, [0], engine=ReferenceEngine()).output[-1])
    assert draws == {True, False}, "the noise decides in some of the runs"


def answer_with_noise_after_each_loop(looped, word, tape):
    transformer, precision = looped.transformers["model"], looped.precision
    first, last = transformer.loop
    body, rest = transformer.layers[first:last], transformer.layers[last:]
    decoding = len(body) - 3  # the layers that decode, choose and clear
    session = ReferenceEngine().session(
        replace(transformer, layers=(*body[decoding:], *body[:decoding], *body[decoding:], *rest), loop=None)
    )
    begin = [] if looped.begin is None else [looped.token[looped.begin]]
    stream = session.embed(np.array([[*begin, *word, *[looped.token[looped.pad]] * looped.padding]]))
    for step in range(looped.steps):
        stream = session.layers(stream, 0, len(body))
        for columns, transformer_of_noise, symbols in (
            (transformer.noise.planner, PLANNER, 2),
            (transformer.noise.predictor, OTHER, len(looped.vocabulary)),
        ):
            noise = tape.noise(step, transformer_of_noise, (0, stream.shape[1]), symbols, precision)
            stream[:, :, columns] = add(stream[:, :, columns], noise, precision)
    stream = session.layers(stream, len(body), len(body) + 3 + len(rest))
    return looped.vocabulary[decode(session.logits(stream[:, -1:]), precision)[0, 0]]


def test_13_a_mask_row_attends_to_itself():
    """N = 1, P' = 1: the row that predicts has a key of its own, which a chain of thought does not have yet."""
    weights = []
    for seed in range(20):
        model = random_model(seed, "pcot", 1, steps=2)
        if model.block == 1:
            trace = run(model, [0], engine=ReferenceEngine(), record=True)
            weights.append(trace.activations["steps.0.model.layers.0.heads.0.weights"][-1, -1])
    assert max(weights) > 0


def test_03_subtracting_b_once_lets_an_unchosen_slot_win():
    """Two slots, of which the planner chooses the first; k = 1 picks the slot with the largest maximal logit."""
    logits = np.array([[-1, -2], [P2.bound, 0]])
    unchosen = np.array([[False], [True]])
    once = np.where(unchosen, clip(logits - P2.bound, P2), logits)
    twice = np.where(unchosen, clip(once - P2.bound, P2), once)
    assert [int(weights.max(axis=1).argmax()) for weights in (once, twice)] == [1, 0]


def test_03_no_fixed_k_chooses_what_a_planner_chooses():
    model = compile_problem("group:Z2", "mdm", length=4)
    trace = run_word(model, "+0 +1 +1 +0")
    assert [int(chosen.sum()) for chosen in trace.chosen] == [2, 1]


def test_20_a_kept_slot_may_still_be_masked():
    model = compile_problem("group:Z2", "mdm", length=4)
    trace = run_word(model, "+0 +1 +1 +0")
    assert model.mask in trace.symbols(trace.canvas[0]), "which a predictor cannot write into the next block"


def test_30_one_differing_bit_scores_above_the_printed_bound():
    with pytest.raises(LemmaFails, match="score -14 with m = 2"):
        scaled_codes(P2, 1, 2, printed=True)


def mismatch_score(precision, copies):
    """The running sum of FOCUS on one differing bit, from the score B: (+c·1·-1) and (c·-1), `copies` times."""
    score = precision.bound
    for _ in range(copies):
        for _ in range(2):
            score = int(add(score, -precision.half_bound, precision))
    return score


def test_21_a_mismatch_does_not_reach_minus_b():
    assert mismatch_score(P2, 2) == -P2.bound + 2, "-B + 2^(1-p)"
    assert int(exp(np.array([mismatch_score(P2, 2)]), P2)[0]) == 0, "which is enough for p >= 2"
    p1 = Precision(1)
    assert int(exp(np.array([mismatch_score(p1, 2)]), p1)[0]) > 0, "but not for p = 1"
    assert int(exp(np.array([mismatch_score(p1, 3)]), p1)[0]) == 0


def test_22_a_marked_row_divides_by_zero():
    program = blank(2)
    one = program.one
    marked = program.register("marked")
    head = program.layer().head()
    head.column([(marked, -B)], [(one, ONE)])  # the simulated layer: the marked row scores -B everywhere
    hide(head, marked)
    with pytest.raises(AttendsToNothing):
        run_gadget(program, P2, (marked, P2.one * np.array([[[0], [1]]])))


def test_23_a_signed_code_has_no_sign_bit():
    codes = 2 * bits(2) - 1  # sbin of 0, 1, 2, 3
    assert codes[:, 0].tolist() == [-1, -1, 1, 1], "its first entry tells 2 from 1, and not numbers from negative ones"


def test_23_an_mlp_has_no_negative_output():
    program = blank()
    x, y = program.register("x"), program.register("y")
    mlp = program.layer().mlp
    unit = mlp.units(1)
    mlp.read(unit, x)
    mlp.write(unit, y, whole(2))
    mlp.offset(y, -ONE)
    result = run_gadget(program, P2, (x, P2.one * bits(1)))[:, 0, y[0]]
    assert result.min() == 0, "sbin(0) = -1 cannot be written"


@pytest.mark.parametrize("p", range(1, 9))
def test_24_the_factor_of_argmax_is_not_a_number(p):
    assert 2**p > Precision(p).meaning(Precision(p).bound)


def printed_argmax(x, precision, factor):
    """g_d = factor·ReLU(2^-p - Σ_{j≠d} ReLU(x_j - x_d)), every operation in F_p; numbers in units of 2^-p."""
    results = []
    for d, entry in enumerate(x):
        above = [max(0, int(clip(other - entry, precision))) for j, other in enumerate(x) if j != d]
        left = max(0, int(add(1, -int(total(np.array(above), precision)), precision)))
        results.append(int(multiply(factor, left, precision)))
    return results


def test_24_with_b_for_the_factor_one_is_not_reached_at_p_1():
    """2^p is not in F_p, so take B: [B·2^-p] is 1 for p >= 2, and 1/2 for p = 1."""
    reached = [
        printed_argmax([3, 1], precision, precision.bound) == [precision.one, 0]
        for precision in map(Precision, (1, 2, 3))
    ]
    assert reached == [False, True, True]


def test_24_a_tie_has_no_winner_as_printed():
    """x = (1, 1): both entries are 1, and decoding needs one symbol."""
    assert printed_argmax([P2.one, P2.one], P2, P2.bound) == [P2.one, P2.one]


def test_25_the_first_block_looks_at_rows_that_do_not_exist():
    """N = 1, P = 3: the slots of the first block are the rows 1, 2, 3 (from 0), and n - P is -2, -1, 0."""
    length, block = 1, 3
    assert [n - block for n in range(length, length + block)] == [-2, -1, 0]


def test_31_the_last_position_needs_one_bit_more():
    N = 4
    size = (N - 1).bit_length()  # ⌈log2 4⌉ = 2
    codes = {n: tuple(n >> i & 1 for i in reversed(range(size))) for n in range(1, N + 1)}
    assert codes == {1: (0, 1), 2: (1, 0), 3: (1, 1), 4: (0, 0)}, "the code of n = N = 4 is that of 0"


def test_14_the_first_causal_row_cannot_know_the_second_symbol():
    """L = 1, N = 2: the stated rows 0 … N are the input itself. The causal row 0 never depends on w_2."""
    for seed in range(50):
        source = random_saturating_transformer(seed, "unmasked", precision=2, layers=1)
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


def test_14_the_block_of_a_row():
    """Printed: row n is in block ⌊n/L⌋ + 1, and each block holds N rows (from 0)."""
    N, L = 3, 2
    blocks = [n // L + 1 for n in range(N * L)]
    assert [blocks.count(b) for b in sorted(set(blocks))] == [2, 2, 2], "three blocks of L rows, not L blocks of N"


def test_15_the_printed_copy_layer_reads_the_pads():
    """N = 2, rows 1 … 4: queries B·(⟨sbin r, 1⟩, -1), keys (⟨sbin r, -1⟩, [n <= N])."""
    N = 2
    printed_place = [n % N + 1 for n in range(1, 2 * N + 1)]
    sbin = [2 * (r % 2) - 1 for r in printed_place]  # of ⌈log2 N⌉ = 1 bit
    queries = P2.bound * np.array([[bit, 1, -1] for bit in sbin])
    keys = P2.one * np.array([[bit, -1, int(n <= N)] for n, bit in enumerate(sbin, 1)])
    visible = exp(product(queries, keys.T, P2), P2) > 0
    assert [np.flatnonzero(row).tolist() for row in visible] == [[2], [3], [2], [3]], "rows 3 and 4, which hold pads"


def test_15_blocks_count_positions_from_zero():
    """b_n = ⌊n/N⌋ + 1 and r_n = (n mod N) + 1 on the positions 1 … N² of N blocks."""
    N = 3
    blocks = {n: (n // N + 1, n % N + 1) for n in range(1, N * N + 1)}
    assert blocks[1] == (1, 2), "the first symbol is in place 2"
    assert blocks[N] == (2, 1), "the last input is in the second block"
    assert blocks[N * N] == (N + 1, 1), "there are N blocks"


def test_15_a_single_b_is_survived():
    left = 2 ** (P2.p - 1) * P2.one  # what FOCUS may leave of a score
    assert int(exp(np.array([left - P2.bound]), P2)[0]) > 0
    p3 = Precision(3)
    assert int(exp(np.array([2**2 * p3.one - p3.bound]), p3)[0]) == 0, "from p = 3 on one B is enough there"


def test_06_a_residual_stream_is_not_binary():
    model = random_model(0, "plt", 1, precision=2)
    trace = run(model, [0], engine=ReferenceEngine(), record=True)
    last = model.transformers["model"].loop[1] - 1
    stream = trace.activations[f"steps.0.model.layers.{last}.residual"]
    assert not set(np.unique(stream).tolist()) <= {0, P2.one}


def test_06_the_printed_read_out_recovers_bits_alone():
    """An average over D slots with weight 1/min(D, B), then (-∞, 0] to 0 and [1/B, ∞) to 1."""
    D = 2
    weight = int(divide(P2.one, int(clip(D * P2.one, P2)), P2))
    averages = product(np.array([[weight]]), np.array([[0, P2.one, 3 * P2.one // 4, -P2.one]]), P2)[0]
    read = np.where(averages <= 0, 0, P2.one)
    assert read.tolist() == [0, P2.one, P2.one, 0], "0 and 1 come back, 3/4 and -1 do not"
    third = int(divide(P2.one, 3 * P2.one, P2))
    assert int(clip(3 * third, P2)) == 3 * P2.one // 4, "3·[1/3] = 3/4: an average is not undone by multiplying"


def test_06_the_row_of_a_slot_is_a_quotient_rounded_up():
    N, D = 2, 2  # slots n = 3, 4 hold row 1, slots 5, 6 row 2; keys are the rows 1 … N
    slots = range(N + 1, N + N * D + 1)
    assert [-(-(n - N) // D) for n in slots] == [1, 1, 2, 2]
    assert [(n - N) / D for n in slots] == [0.5, 1.0, 1.5, 2.0], "as printed: no row for every second slot"


def test_16_there_are_fewer_hosts_than_rows():
    model = random_model(1, "plt", 1, padding=1)
    source = replace(model, transformers={"model": replace(model.transformers["model"], noise=None)})
    assert source.length < source.rows, "the first N positions cannot hold N + P rows"
    rows, width = source.rows, source.transformers["model"].width
    assert plt_to_mdm(source).model.padding == rows * width + 1
    assert plt_to_mdm(source, packed=True).model.padding == rows * width


def order_of_the_inputs(N):
    """Under the last slot ñ = N - 1, as printed but for 2ñ in L2162 and the indicator turned round.

    Slots ñ <= N/2 multiply the inputs 2ñ - 1 and 2ñ, the others the slots 2ñ - N - 1 and 2ñ - N.
    """
    inputs, slots = {i: [i] for i in range(1, N + 1)}, {0: [N]}  # slot 0 stands for the last input, next to slot 1
    for slot in range(1, N):
        source, left, right = (
            (inputs, 2 * slot - 1, 2 * slot) if 2 * slot <= N else (slots, 2 * slot - N - 1, 2 * slot - N)
        )
        slots[slot] = source[left] + source[right]
    return slots[N - 1]


def test_26_the_printed_tree_multiplies_in_a_rotated_order():
    assert order_of_the_inputs(6) == [5, 6, 1, 2, 3, 4]
    correct_lengths = [N for N in range(2, 200) if order_of_the_inputs(N) == list(range(1, N + 1))]
    assert correct_lengths == [2, 4, 8, 16, 32, 64, 128], "powers of two alone"


def test_26_the_addresses_of_inputs_and_the_indicator():
    N = 4  # slots ñ = 1, 2, 3 at n = 5, 6, 7; the first two multiply the inputs (1, 2) and (3, 4)
    printed = [(2 * n - N - 1, 2 * n - N) for n in (5, 6)]
    assert printed == [(5, 6), (7, 8)], "no inputs"
    assert [(2 * slot - 1, 2 * slot) for slot in (1, 2)] == [(1, 2), (3, 4)]
    assert [slot >= N / 2 for slot in (1, 2, 3)] == [False, True, True], "slots 1 and 2 read inputs, slot 3 does not"
    assert [slot <= N / 2 for slot in (1, 2, 3)] == [True, True, False]


def test_17_the_last_slot_is_workspace():
    N, P = 1, 1
    slots, output = P + (N + P) ** 2, range(P)
    assert slots - 1 not in output, "acceptance reads slot P + (N + P)², the output is slot 1"
    T, block = 3, 2
    written_and_printed = [(t - 1) * block + (T - t) * block for t in range(1, T + 1)]
    assert written_and_printed == [4, 4, 4], "of T·P' = 6: a block is missing, (T - t + 1)·P' masks remain"


def test_18_the_divisors_of_the_positions():
    T, L, N, P = 3, 1, 1, 1
    block = L * (N + P)
    rows = range(T * block)
    assert [n // T for n in rows] == [0, 0, 0, 1, 1, 1]
    assert [n // block for n in rows] == [0, 0, 1, 1, 2, 2], "the step of a row"
    T, L, N, P = 2, 2, 1, 1
    block = L * (N + P)
    rows = [n - N for n in range(N, N + T * block)]  # n from 0, as printed
    assert [(n // block, n % block // (N + P), n % block % (N + P)) for n in rows] == [
        (step, layer, row) for step in range(T) for layer in range(L) for row in range(N + P)
    ]
    assert [n // L for n in rows] == [0, 0, 1, 1, 2, 2, 3, 3], "printed: counts on through the steps"
    assert [n % P for n in rows] == [0] * len(rows), "printed: one place for all"


def test_04_one_head_per_head_costs_more_than_n_slots():
    N, T = 16, 4
    source = random_model(0, "cot", N, steps=T, layers=1, width=3)
    *_, (_, conversion) = convert(source, "mdm")
    rows = source.rows  # N + T, and one more with a begin symbol
    assert conversion.model.steps == T
    assert N < conversion.model.padding == T + rows * ((rows - 1).bit_length() - 1) < T + rows**2


def test_11_parity_takes_log_n_loops_and_is_not_in_ac0():
    model = compile_problem("group:Z2", "plt", length=8)
    assert model.steps == 3
    assert run_word(model, "+1 +0 +0 +0 +0 +0 +0 +0").accepted is False
    assert run_word(model, "+1 +0 +0 +0 +0 +0 +0 +1").accepted is True


def test_32_merged_heads_clip_before_the_residual_is_added():
    old, new = P2.bound, -P2.bound
    heads_first = add(add(-old, new, P2), old, P2)
    assert heads_first != new, "W - W + W_new on one buffer"


def test_33_the_printed_chances_do_not_sum_to_one():
    alpha, symbols = Fraction(1, 2), 2
    assert (1 - alpha) + symbols * alpha == Fraction(3, 2)


def test_01_unrestricted_steps_decide_any_set_of_lengths():
    """A slot that every step inverts, with T(N) = 2 for N in H and 1 otherwise: the lengths in H are accepted."""
    slot = Slots("slot", (), BOOLEAN)
    slot.start((), lambda: True)
    slot.rule(slot[()], lambda value: not value)
    system = System("ab", (slot,), answer=slot[()], steps=2)
    for lengths in ({1}, {2, 3}, set()):
        for N in (1, 2, 3):
            model = replace(compile_program(system, "mdm", length=N), steps=2 if N in lengths else 1)
            for word in all_words(model).tolist():
                (*_, last) = run(model, word, engine=ReferenceEngine()).canvas
                assert (model.vocabulary[last[-1]] == model.accept) == (N in lengths)


def test_05_accepting_and_rejecting_are_not_exclusive():
    """A model that writes 0 in its first step and 1 in its second: T = 1 rejects, T = 2 accepts."""
    for seed in range(400):
        model = random_model(seed, "mdm", 1, padding=1, steps=2)
        states = by_definition(model, [0])
        if [model.vocabulary[s[-1]] for s in states] == [model.reject, model.accept]:
            return
    pytest.fail("no such model among the random ones")


def test_12_mod_of_a_position_is_a_circuit_of_depth_two():
    """n mod 3, n of log2 N bits: every output is an OR of at most N ANDs of at most log2 N literals."""
    N, modulus = 64, 3
    width = (N - 1).bit_length()
    for output in range(2):
        terms = [n for n in range(N) if n % modulus >> output & 1]
        assert len(terms) <= N
        for n in range(N):
            satisfied = [all(n >> i & 1 == term >> i & 1 for i in range(width)) for term in terms]
            assert any(satisfied) == bool(n % modulus >> output & 1)
