"""Majority by top-k unmasking, in two steps: ranking slots is counting (beside thm:single-model-equivalence).

Statement:    a top-k model with N + 1 slots and k = ⌊N/2⌋ + 1 decides in two steps whether more than half of N letters
              are b. Majority is not in AC0 (cited), and masked diffusion of constantly many steps is
              (cor:mdms-with-constant-steps): a k that may grow with N is more than a planner. Not a statement of the
              paper, which states no converse of thm:single-model-equivalence.
Construction: first step: the largest logit of slot i < N is B where letter i is b, with the symbol x, and -B where it
              is not; that of the last slot is 0. If k letters are b, the last slot is not among the k surest and stays
              masked; else it is, and takes 0. Second step, once some x stands: a last slot that is still masked is at
              2^-p, below the at most N - k < k unwritten slots of a b alone, and takes 1. One that is written is at
              -B (B subtracted twice), and all others are above it.
Bounds:       2 steps, N + 1 slots, 2 layers, 6 symbols, width 2⌈log2(2N + 1)⌉ + 13.
Exactness:    every word, for p >= 2.
Caveats:      k must grow with N: for a constant k the k surest slots are found in constant depth, so that top-k is
              within AC0. And it leans on the lowest slot winning a tie: if no letter is b, no x stands, and in the
              second step all slots are at -B. With the other rule the word aaaa, one of 16, fails.
"""

from unmask.numerics.precision import Precision
from unmask.programs.gadgets.detection import detect, everywhere
from unmask.programs.gadgets.logic import conjunction
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.assemble import assemble
from unmask.programs.language.coefficients import ONE, ULP, B
from unmask.programs.language.positions import N, choose, n
from unmask.programs.language.program import Program
from unmask.weights.model import Model

SYMBOLS = ("a", "b", "m", "x", "0", "1")
A, LETTER_B, MASK, DONE, REJECT, ACCEPT = range(len(SYMBOLS))


def majority_by_topk(length: int, precision: Precision) -> Model:
    """Accept iff more than half of the letters are b. Slot i < N copies letter i, slot N answers."""
    return Model(
        kind="topk",
        length=length,
        padding=length + 1,
        steps=2,
        k=length // 2 + 1,
        vocabulary=SYMBOLS,
        input_symbols=SYMBOLS[:2],
        accept=SYMBOLS[ACCEPT],
        reject=SYMBOLS[REJECT],
        mask=SYMBOLS[MASK],
        transformers={"model": assemble(_program(length), precision)},
    )


def _program(length: int) -> Program:
    program = Program(SYMBOLS, len(SYMBOLS), length, 2 * length + 1)
    here = program.code("here", n)
    address = program.code("letter address", choose(n >= N, choose(n < 2 * N, n - N, n), n))
    answer, counter = program.flag("answer slot", n.equals(2 * N)), program.flag("counting slot", n < 2 * N)
    is_b, done, written = (program.register(name) for name in ("is b", "done", "own slot written"))
    bit, average, begun = (program.register(name) for name in ("bit", "average", "begun"))
    closed = program.register("closed", 2)
    high, low = program.register("high"), program.register("low")
    program.embed(LETTER_B, is_b)
    program.embed(DONE, done)
    program.embed([DONE, REJECT, ACCEPT], written)

    layer = program.layer()
    lookup(layer, address, here).copy(is_b, bit)
    detect(everywhere(layer), layer.mlp, done, average, begun)
    second = program.layer().mlp
    second.write(conjunction(second, bit, [answer]), high)
    second.write(conjunction(second, counter, [bit]), low)
    for column in closed:
        second.write(conjunction(second, written, [[]]), column)

    program.read_out([A, LETTER_B], program.one, -B)
    program.read_out(DONE, answer, -B)
    program.read_out([REJECT, ACCEPT], counter, -B)
    program.read_out(DONE, high, B)
    program.read_out(DONE, low, -B)
    program.read_out(REJECT, begun, -ONE)
    program.read_out(ACCEPT, begun, ULP)
    for column in closed:
        program.read_out([DONE, REJECT, ACCEPT], column, -B)
    return program
