"""Checks of masking and of one denoising step: what is drawn, and with which law."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from unmask.engines.fast import FastEngine
from unmask.numerics.precision import Precision
from unmask.paper.checks.binomial import UNLIKELY, tail
from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.reasoners.masking import forward_mask
from unmask.reasoners.perfection import Canvas, Task, model_conditionals, perfect
from unmask.reasoners.planners import LeftToRight
from unmask.reasoners.run import run
from unmask.reasoners.tape import Tape
from unmask.testing.draws import Draws
from unmask.testing.random_model import drawn, sample_words
from unmask.weights.model import Model

CHOOSES = 6
"""A seed whose random model leaves several symbols a chance in both of its slots."""


def forward_process(effort: Effort) -> Evidence:
    """Times 0, T and T/4: nothing is masked, everything, about a quarter."""
    word, cases = list("abcabcab"), 0
    kept = 0
    for seed in range(effort.of(500)):
        tape = Tape(seed)
        require(forward_mask(word, 0, 4, mask="m", tape=tape) == word, "a symbol is masked at time 0")
        require(set(forward_mask(word, 4, 4, mask="m", tape=tape)) == {"m"}, "a symbol stays at time T")
        noisy = forward_mask(word, 1, 4, mask="m", tape=tape)
        require(all(a in (b, "m") for a, b in zip(noisy, word, strict=True)), "a symbol that stays has changed")
        kept += sum(a != "m" for a in noisy)
        cases += 1
    total = cases * len(word)
    require((4 * kept - 3 * total) ** 2 <= 25 * 3 * total, f"{kept} of {total} symbols stay at α = 3/4")
    return Evidence("times 0, T and T/4 over seeds: nothing, everything, a quarter is masked", cases)


def perfection(_: Effort) -> Evidence:
    """The true conditionals are those of Bayes' rule over the forward process; a coin that ignores the context is not.

    Two laws, one of them with chances that differ, so that counting canvases is not enough.
    """
    canvases = list(product("ab", repeat=3))
    even = {c: Fraction(1, 4) if c.count("b") % 2 == 0 else Fraction(0) for c in canvases}
    skewed = {c: Fraction(i, sum(range(len(canvases)))) for i, c in enumerate(canvases)}
    cases = 0
    for law in (even, skewed):
        task = Task(law, "m")
        contexts = list(task.contexts())
        shown = {c for c in product("abm", repeat=3) if "m" in c and any(_joint(law, c).values())}
        require(set(contexts) == shown, "the contexts are not those that the forward process can show")
        wrong = perfect(task.conditionals, lambda context, law=law: by_bayes(law, context), iter(contexts))
        require(wrong == [], f"the conditionals are not those of the reverse process: {wrong[:1]}")
        cases += sum(context.count("m") for context in contexts)
    half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    contexts = list(Task(even, "m").contexts())
    wrong = perfect(
        lambda c: {i: half for i, s in enumerate(c) if s == "m"}, lambda c: by_bayes(even, c), iter(contexts)
    )
    forced = sum(c.count("m") == 1 for c in contexts)
    require(len(wrong) == forced, "a fair coin is wrong where one slot is masked, and nowhere else")
    return Evidence(
        "every masked slot of every context of two laws over three slots, against Bayes' rule over the forward "
        "process at α = 1/3; and a coin, which is imperfect exactly where one slot is masked",
        cases,
    )


def by_bayes(law: Mapping[Canvas, Fraction], context: Canvas, mask: str = "m") -> dict[int, dict[str, Fraction]]:
    """P(y⁰_n = s | yᵗ = context) ∝ Σ over canvases with s at n of law(y⁰)·Π_i q(yᵗ_i | y⁰_i), at α = 1/3."""
    joint = _joint(law, context, mask)
    evidence = sum(joint.values())
    symbols = sorted({s for y in law for s in y})
    return {
        i: {s: sum((weight for y, weight in joint.items() if y[i] == s), Fraction(0)) / evidence for s in symbols}
        for i, held in enumerate(context)
        if held == mask
    }


def _joint(law: Mapping[Canvas, Fraction], context: Canvas, mask: str = "m") -> dict[Canvas, Fraction]:
    """P(y⁰, yᵗ = context) for every canvas y⁰."""
    alpha = Fraction(1, 3)

    def q(after: str, before: str) -> Fraction:
        return 1 - alpha if after == mask else alpha if after == before else Fraction(0)

    return {y: chance * prod(map(q, context, y), start=Fraction(1)) for y, chance in law.items()}


@dataclass(frozen=True)
class Spliced(Tape):
    """The tape of a seed in one row, that of another seed in all others."""

    row: int
    elsewhere: int

    def noise(self, step: int, stream: int, rows: tuple[int, int], symbols: int, precision: Precision) -> np.ndarray:
        noise = Tape(self.elsewhere).noise(step, stream, rows, symbols, precision).copy()
        place = self.row - rows[0]
        noise[place] = Tape(self.seed).noise(step, stream, rows, symbols, precision)[place]
        return noise


def factorised(effort: Effort) -> Evidence:
    """One sampled step that writes every slot: a slot draws from its own noise alone, and the joint law is the product.

    The first part runs the step again with other noise in all rows but one: the symbol of that row must stay. The
    second counts canvases over many tapes and holds every count against the product of the exact laws of the slots.
    """
    drawn_seeds = range(effort.of(12))
    cases = exchanged = 0
    for seed in drawn_seeds:
        model = drawn(seed, "mdm", seed % 3, precision=2, padding=2 + seed % 2)
        word = sample_words(model, Draws(seed, 4), 1)[0].tolist()
        for draw in range(4):
            together = _step(model, word, Tape(draw))
            for slot in range(model.padding):
                alone = _step(model, word, Spliced(draw, model.rows - model.padding + slot, 1000 + draw))
                require(alone[slot] == together[slot], f"random:{seed}: what slot {slot} draws depends on other noise")
                exchanged += alone != together
                cases += 1
    require(exchanged, "no noise makes a difference")
    runs, canvases = _joint_law(effort)
    return Evidence(
        f"one sampled step of {len(drawn_seeds)} random models, every slot written: the symbol of a slot with the "
        f"noise of all others exchanged; and how often each of {canvases} canvases is drawn in {runs} runs, against "
        "the product of the exact laws of its slots",
        cases + runs,
    )


def _step(model: Model, word: list[int], tape: Tape) -> Canvas:
    """The canvas after one sampled step in which every slot is written."""
    everything = LeftToRight(model.padding)
    return tuple(run(model, word, engine=FastEngine(), tape=tape, planner=everything, canvas=False).output)


def _joint_law(effort: Effort) -> tuple[int, int]:
    """(runs, canvases that can be drawn), for one random model whose two slots both have a choice."""
    model, runs = drawn(CHOOSES, "mdm", 1, precision=2, padding=2), effort.of(600)
    word = sample_words(model, Draws(CHOOSES, 4), 1)[0].tolist()
    masks = (model.mask or "",) * model.padding
    laws = model_conditionals(model, word, engine=FastEngine(), sampled=True)(masks)
    choices = [[symbol for symbol, chance in laws[slot].items() if chance] for slot in range(model.padding)]
    require(all(len(choice) > 1 for choice in choices), "a slot has no choice")
    counts = Counter(_step(model, word, Tape(seed)) for seed in range(runs))
    for canvas in product(*choices):
        chance = prod((laws[slot][symbol] for slot, symbol in enumerate(canvas)), start=Fraction(1))
        require(
            tail(runs, counts[canvas], chance) > UNLIKELY,
            f"{counts[canvas]} of {runs} runs draw {canvas}; if slots are drawn apart its chance is {chance}",
        )
    require(sum(counts[canvas] for canvas in product(*choices)) == runs, "a symbol without a chance is drawn")
    return runs, prod(map(len, choices))
