"""Checks for cor:mdm-lt-equivalence: a one-tape machine in S + 1 slots, and the space of looped transformers.

The left side of the corollary contains all languages that a machine with S cells decides, in any number of steps. The
right side has fewer bits, so its runs are periodic: only the number of loops modulo the period matters.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from unmask.api import compile_program
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.run_words import answers, run
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.weights.model import Model

BLANK = "_"
MOVES = {
    ("carry", "b"): ("a", "carry", 1),
    ("carry", "a"): ("b", "back", -1),
    ("back", "a"): ("a", "back", -1),
    ("back", "b"): ("b", "back", -1),
    ("back", "<"): ("<", "carry", 1),
    ("carry", BLANK): (BLANK, "home", -1),
    ("home", "a"): ("a", "home", -1),
    ("home", "<"): ("<", "yes", 0),
}
"""A binary counter (a = 0, b = 1, lowest digit first): add 1 until all digits are 0 again, return to `<`, accept."""
STATES = ("carry", "back", "home", "yes")


def _moved(cell: tuple[str, str | None]) -> tuple[str, str | None, int]:
    """Return (symbol, state, direction) of a cell after a step of the machine; without a move, the cell stays."""
    symbol, state = cell
    return (symbol, None, 0) if state is None else MOVES.get((state, symbol), (symbol, state, 0))


def tape_program(steps: int) -> System:
    """Return the counter as a program of N + 2 cells and one answer slot, with one step of the machine per pass."""
    (i,) = indices("i")
    values = [(symbol, state) for symbol in ("<", "a", "b", BLANK) for state in (None, *STATES)]
    tape = Slots("tape", i.range(N + 2), values)
    tape.start((), lambda: ("<", None), where=i.equals(0))
    tape.start(letter(i - 1).or_else(BLANK), lambda x: (x, "carry"), where=i.equals(1))
    tape.start(letter(i - 1).or_else(BLANK), lambda x: (x, None))

    def head_from(direction: int):
        return lambda cell: _moved(cell)[1] if _moved(cell)[2] == direction else None

    def next_cell(cell, from_left, from_right):
        symbol, state, direction = _moved(cell)
        return symbol, from_left or from_right or (state if direction == 0 else None)

    outside = (BLANK, None)
    reads = (
        tape[i],
        tape[i - 1].or_else(outside).map(head_from(1)),
        tape[i + 1].or_else(outside).map(head_from(-1)),
    )
    tape.rule(reads, next_cell)
    accepted = Slots("accepted", (), BOOLEAN)
    accepted.start((), lambda: False)
    accepted.rule(tape[0], lambda cell: cell[1] == "yes")
    return System("ab", (tape, accepted), answer=accepted[()], steps=steps)


def machine_steps(word: Sequence[str]) -> int:
    """Run the machine on a plain tape; return the number of steps until it accepts."""
    tape, state, head, steps = ["<", *word, BLANK], "carry", 1, 0
    while state != "yes":
        tape[head], state, direction = MOVES[state, tape[head]]
        head, steps = head + direction, steps + 1
    return steps


def machine_in_slots(effort: Effort) -> Evidence:
    """Check that the counter accepts every word in the predicted pass; S cells take S + 1 slots and 2^Ω(S) passes."""
    cases, lengths = 0, (1, 2, 3) if effort.percent >= 100 else (1, 2)
    slowest = {}
    for length in lengths:
        words = list(product("ab", repeat=length))
        needed = {word: machine_steps(word) for word in words}
        slowest[length] = max(needed.values())
        for word in words:
            # one pass for each step of the machine, and one in which the answer slot reads the first cell
            for steps, accepted in ((needed[word], 0), (needed[word] + 1, 1)):
                model = compile_program(tape_program(steps), "mdm", length=length)
                require(model.padding == length + 3, f"{length + 2} cells take {model.padding} slots")
                tokens = np.array([[model.token[letter] for letter in word]])
                answer = int(answers(model, tokens, engine=FastEngine()).accepted[0])
                require(model.steps == steps, f"{steps} steps take {model.steps} passes")
                require(answer == accepted, f"after {steps} steps on {''.join(word)} the answer is {answer}")
                cases += 1
    require(all(steps >= 2**length for length, steps in slowest.items()), f"the counter is fast: {slowest}")
    return Evidence(
        f"a binary counter on a tape of S = N + 2 cells as mdm with S + 1 slots, every word of N = {lengths[0]} … "
        f"{lengths[-1]}, accepts in the pass that a plain simulation predicts, after at least 2^N steps",
        cases,
    )


def periodic_loops(effort: Effort) -> Evidence:
    """Check random looped transformers: streams repeat, and the answer depends on T modulo the period."""
    cases, seeds, longest = 0, effort.of(12), 0
    for seed, length in product(range(seeds), (1, 2)):
        model = random_model(seed, "plt", length, precision=1, padding=1, steps=1, layers=1, width=3, stochastic=False)
        for word in all_words(model).tolist():
            start, period = _cycle(model, word)
            longest = max(longest, start + period)
            bits = _stream_bits(model)
            require(start + period <= 2**bits, f"random:{seed} visits more streams than there are")
            for loops in (start + 5 * period, start + 7 * period + 3):
                fewer = start + (loops - start) % period
                same = _answer(model, word, loops) == _answer(model, word, fewer)
                require(same, f"random:{seed}: {loops} loops answer otherwise than {fewer}")
                cases += 1
    return Evidence(
        f"{2 * seeds} random looped transformers, seeds 0 … {seeds - 1}, N = 1 … 2, p = 1, every word: streams repeat "
        f"after at most {longest} loops, and T loops answer like T modulo the period",
        cases,
    )


def _stream_bits(model: Model) -> int:
    """Return the number of bits of a residual stream: rows × width × bits of a number of F_p."""
    transformer = model.transformers["model"]
    numbers = 2 * 4**model.precision.p - 1
    return (model.length + model.padding) * transformer.width * numbers.bit_length()


def _answer(model: Model, word: Sequence[int], loops: int) -> list[int]:
    return list(run(replace(model, steps=loops), word, engine=ReferenceEngine()).canvas[-1])


def _cycle(model: Model, word: Sequence[int]) -> tuple[int, int]:
    """Return (loops before the first stream that recurs, period)."""
    frame = RunSetup(model, np.array([word]), ReferenceEngine())
    session, (first, last, _) = frame.session("model"), model.loop
    stream = session.layers(session.embed(frame.before(frame.copies(model.pad, model.padding))), 0, first)
    loops_before: dict[bytes, int] = {}
    while stream.tobytes() not in loops_before:
        loops_before[stream.tobytes()] = len(loops_before)
        stream = session.layers(stream, first, last)
    start = loops_before[stream.tobytes()]
    return start, len(loops_before) - start
