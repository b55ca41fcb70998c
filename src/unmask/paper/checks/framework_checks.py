"""Checks of the frameworks: runs of the library compared with a plain implementation of the definitions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np

from unmask.engines.engine import forward
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, EditsWrittenSlot
from unmask.numerics.arithmetic import Precision, add
from unmask.paper.checks.evidence import Check, Effort, Evidence, require
from unmask.paper.checks.masking_process import Canvas, CanvasLaw, forward_mask, model_conditionals, perfect
from unmask.paper.lemmas import uniform_models
from unmask.reasoners.decoding import OTHER, PLANNER, Tape
from unmask.reasoners.planners import LeftToRight, Situation, Uniform
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import cached_model, sample_words
from unmask.weights.kinds import DIFFUSION, Kind
from unmask.weights.model import Model


def runs_as_defined(kind: Kind, *, sampled: bool = False, read: str = "output") -> Check:
    """Return the check that random models of a kind run as defined: every step, or only the answer."""

    def check(effort: Effort) -> Evidence:
        cases = 0
        for seed in range(effort.of(24)):
            model = random_model(seed, kind, seed % 4, precision=2 + seed % 2, stochastic=True if sampled else None)
            tape = Tape(seed) if sampled else None
            for word in sample_words(model, Draws(seed, 2), 2).tolist():
                where = f"random:{seed}, N = {model.length}, on {model.symbols(word)}"
                try:
                    states = by_definition(model, word, tape)
                except AttendsToNothing:
                    require(_divides_by_zero(model, word, tape), f"{where} does not divide by zero")
                    continue
                trace = run(model, word, engine=FastEngine(), tape=tape)
                if read == "output":
                    canvases = [canvas.tolist() for canvas in trace.canvas]
                    require(canvases == states, f"{where} takes another path")
                else:
                    last = {model.accept: True, model.reject: False}.get(model.vocabulary[states[-1][-1]])
                    require(trace.accepted is last, f"{where} gives another answer")
                cases += 1
        scope = "the answer" if read != "output" else "every step"
        noise = "with noise from a tape, " if sampled else ""
        return Evidence(f"random {kind} models against the definition, {noise}{scope}, p = 2, 3", cases)

    return check


def _divides_by_zero(model: Model, word: list[int], tape: Tape | None) -> bool:
    try:
        run(model, word, engine=FastEngine(), tape=tape)
    except AttendsToNothing:
        return True
    return False


def by_definition(model: Model, word: list[int], tape: Tape | None = None) -> list[list[int]]:
    """Return the state after each step of the definition: slots, all generated symbols, or a looped model's answer."""
    prefix = [*([model.token[model.begin]] if model.begin else []), *word]
    mask = model.token[model.mask] if model.mask else -1
    if model.kind == "plt":
        return [[_looped(model, [*prefix, *[model.token[model.pad or ""]] * model.padding], tape)]]
    states: list[list[int]] = []
    canvas = [mask] * model.padding if model.kind in DIFFUSION else []
    for _ in range(model.steps):
        masks = [mask] * (model.block or 0)
        string = [*prefix, *canvas, *masks]
        name = "predictor" if "predictor" in model.transformers else "model"
        rows = range(len(prefix), len(string)) if model.kind in DIFFUSION else range(len(string))
        rows = rows[-(model.block or 1) :] if model.kind in ("cot", "pcot") else rows
        logits = _logits(model, name, string)
        symbols = [_argmax(logits[row], None if model.kind in ("cot", "pcot") else mask) for row in rows]
        if model.kind in ("cot", "pcot"):
            canvas = [*canvas, *symbols]
        else:
            chosen = _chosen(model, string, logits, mask, rows)
            canvas = [new if take else old for new, take, old in zip(symbols, chosen, canvas, strict=True)]
        states.append(list(canvas))
    return states


def _chosen(model: Model, string: list[int], logits: np.ndarray, mask: int, rows: range) -> list[bool]:
    if model.kind in ("mdm", "smdm"):
        decisions = _logits(model, "planner", string)
        return [bool(decisions[row][1] > decisions[row][0]) for row in rows]
    largest = [max(int(v) for s, v in enumerate(logits[row]) if s != mask) for row in rows]
    if model.k is None:
        return [value > -model.precision.bound for value in largest]
    best = sorted(range(len(largest)), key=lambda i: (-largest[i], i))[: model.k]
    return [i in best for i in range(len(largest))]


def _looped(model: Model, string: list[int], tape: Tape | None) -> int:
    transformer = model.transformers["model"]
    session = ReferenceEngine().session(transformer)
    first, last = transformer.loop or (0, 0)
    residual = session.layers(session.embed(np.array([string])), 0, first)
    for t in range(model.steps):
        if tape is not None and transformer.noise is not None:
            for columns, stream, size in (
                (transformer.noise.planner, PLANNER, 2),
                (transformer.noise.predictor, OTHER, len(model.vocabulary)),
            ):
                noise = tape.noise(t, stream, (0, len(string)), size, model.precision)
                for symbol, column in enumerate(columns):
                    residual[0, :, column] = add(residual[0, :, column], noise[:, symbol], model.precision)
        residual = session.layers(residual, first, last)
    residual = session.layers(residual, last, len(transformer.layers))
    return _argmax(session.logits(residual)[0, -1], None)


def _logits(model: Model, name: str, string: list[int]) -> np.ndarray:
    transformer = model.transformers[name]
    session = ReferenceEngine().session(transformer)
    return session.logits(forward(session, transformer, np.array([string])))[0]


def _argmax(logits: np.ndarray, without: int | None) -> int:
    return max((s for s in range(len(logits)) if s != without), key=lambda s: (logits[s], -s))


def mask_dominated(effort: Effort) -> Evidence:
    """Check that an smdm never edits a written slot: if an mdm does, running it as an smdm is an error."""
    cases = edited = 0
    for seed in range(effort.of(40)):
        model = random_model(seed, "mdm", seed % 3, precision=2)
        word = sample_words(model, Draws(seed, 3), 1)[0].tolist()
        trace = run(model, word, engine=FastEngine())
        mask = model.token[model.mask or ""]
        canvases = [np.full(model.padding, mask), *trace.canvas]
        edits = any(bool((c & (y != mask)).any()) for y, c in zip(canvases, trace.chosen, strict=False))
        try:
            run(replace(model, kind="smdm"), word, engine=FastEngine())
            refused = False
        except EditsWrittenSlot:
            refused = True
        require(refused == edits, f"random:{seed} edits {edits}, and is refused {refused}")
        cases, edited = cases + 1, edited + edits
    require(edited or effort.percent < 100, "no random planner edits")
    return Evidence("random planners with and without editing; a mask-dominated run refuses to edit", cases)


def uniform_planner(effort: Effort) -> Evidence:
    """Check that each of three masked slots is chosen about equally often, and a written slot never."""
    seeds = effort.of(3000)
    masked = np.array([[True, False, True, True]])
    counts = np.zeros(4, dtype=int)
    for seed in range(seeds):
        situation = Situation(seed % 5, 2, masked, np.zeros((1, 4), dtype=np.int64), one=4)
        chosen = Uniform(1, Tape(seed)).choose(situation)[0]
        require(chosen.sum() == 1, "another number of slots is chosen")
        counts += chosen
    require(counts[1] == 0, "a written slot is chosen")
    # five standard deviations of a binomial law: 25·n·(1/3)·(2/3) >= (count - n/3)²
    require(all((9 * (3 * c - seeds) ** 2) <= 9 * 25 * 2 * seeds for c in counts[[0, 2, 3]]), f"not uniform: {counts}")
    return Evidence("how often each of three masked slots is chosen, over seeds", seeds)


UNLIKELY = Fraction(1, 10**6)


def tail(runs: int, hits: int, chance: Fraction) -> Fraction:
    """Return the smaller of the two tail probabilities of this count."""
    scale = chance.limit_denominator(10**4)  # close enough for a bound of 1e-6, and its powers stay small
    low = sum(comb(runs, k) * scale**k * (1 - scale) ** (runs - k) for k in range(hits + 1))
    exactly = comb(runs, hits) * scale**hits * (1 - scale) ** (runs - hits)
    return Fraction(min(low, 1 - low + exactly))


# Checks of masking and of one denoising step: the laws of their draws.


CHOOSES = 6
"""A seed whose random model gives several symbols a positive probability in both of its slots."""


def forward_process(effort: Effort) -> Evidence:
    """Check times 0, T and T/4: nothing, everything, and about a quarter is masked."""
    word, cases = list("abcabcab"), 0
    unmasked = 0
    for seed in range(effort.of(500)):
        tape = Tape(seed)
        require(forward_mask(word, 0, 4, mask="m", tape=tape) == word, "a symbol is masked at time 0")
        require(set(forward_mask(word, 4, 4, mask="m", tape=tape)) == {"m"}, "a symbol stays at time T")
        noisy = forward_mask(word, 1, 4, mask="m", tape=tape)
        require(all(a in (b, "m") for a, b in zip(noisy, word, strict=True)), "a symbol that stays has changed")
        unmasked += sum(a != "m" for a in noisy)
        cases += 1
    total = cases * len(word)
    require((4 * unmasked - 3 * total) ** 2 <= 25 * 3 * total, f"{unmasked} of {total} symbols stay at α = 3/4")
    return Evidence("times 0, T and T/4 over seeds: nothing, everything, a quarter is masked", cases)


def perfection(_: Effort) -> Evidence:
    """Check that the true conditionals are those of Bayes' rule over the forward process, and a fair coin is imperfect.

    There are two laws. One of them is not uniform, so that counting canvases is not enough.
    """
    canvases = list(product("ab", repeat=3))
    even = {c: Fraction(1, 4) if c.count("b") % 2 == 0 else Fraction(0) for c in canvases}
    skewed = {c: Fraction(i, sum(range(len(canvases)))) for i, c in enumerate(canvases)}
    cases = 0
    for law in (even, skewed):
        task = CanvasLaw(law, "m")
        contexts = list(task.contexts())
        possible = {c for c in product("abm", repeat=3) if "m" in c and any(_joint(law, c).values())}
        require(set(contexts) == possible, "the contexts are not those that the forward process can show")
        wrong = perfect(task.conditionals, lambda context, law=law: by_bayes(law, context), iter(contexts))
        require(wrong == [], f"the conditionals are not those of the reverse process: {wrong[:1]}")
        cases += sum(context.count("m") for context in contexts)
    half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    contexts = list(CanvasLaw(even, "m").contexts())
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
    """Return P(y⁰_n = s | yᵗ = context) ∝ Σ over canvases with s at n of law(y⁰)·Π_i q(yᵗ_i | y⁰_i), at α = 1/3."""
    joint = _joint(law, context, mask)
    evidence = sum(joint.values())
    symbols = sorted({s for y in law for s in y})
    return {
        i: {s: sum((weight for y, weight in joint.items() if y[i] == s), Fraction(0)) / evidence for s in symbols}
        for i, symbol in enumerate(context)
        if symbol == mask
    }


def _joint(law: Mapping[Canvas, Fraction], context: Canvas, mask: str = "m") -> dict[Canvas, Fraction]:
    """Return P(y⁰, yᵗ = context) for every canvas y⁰."""
    alpha = Fraction(1, 3)

    def q(after: str, before: str) -> Fraction:
        return 1 - alpha if after == mask else alpha if after == before else Fraction(0)

    return {y: chance * prod(map(q, context, y), start=Fraction(1)) for y, chance in law.items()}


@dataclass(frozen=True)
class SplicedTape(Tape):
    """A tape with the noise of one seed in one row, and of another seed in all other rows."""

    row: int
    other_seed: int

    def noise(self, step: int, stream: int, rows: tuple[int, int], symbols: int, precision: Precision) -> np.ndarray:
        noise = Tape(self.other_seed).noise(step, stream, rows, symbols, precision).copy()
        i = self.row - rows[0]
        noise[i] = Tape(self.seed).noise(step, stream, rows, symbols, precision)[i]
        return noise


def factorised(effort: Effort) -> Evidence:
    """Check one sampled step that writes every slot: each slot depends only on its own noise, and the law is a product.

    First, the step runs again with other noise in all rows but one: the symbol of that row must not change. Second,
    canvases are counted over many tapes, and each count is compared with the product of the exact laws of the slots.
    """
    drawn_seeds = range(effort.of(12))
    cases = exchanged = 0
    for seed in drawn_seeds:
        model = cached_model(seed, "mdm", seed % 3, precision=2, padding=2 + seed % 2)
        word = sample_words(model, Draws(seed, 4), 1)[0].tolist()
        for draw in range(4):
            together = _step(model, word, Tape(draw))
            for slot in range(model.padding):
                alone = _step(model, word, SplicedTape(draw, model.rows - model.padding + slot, 1000 + draw))
                require(alone[slot] == together[slot], f"random:{seed}: what slot {slot} draws depends on other noise")
                exchanged += alone != together
                cases += 1
    require(exchanged, "no noise makes a difference")
    runs, canvases = _joint_law(effort)
    return Evidence(
        f"one sampled step of {len(drawn_seeds)} random models, every slot written: the symbol of a slot when the "
        f"noise of all others changes; and how often each of {canvases} canvases is drawn in {runs} runs, against "
        "the product of the exact laws of its slots",
        cases + runs,
    )


def _step(model: Model, word: list[int], tape: Tape) -> Canvas:
    """Return the canvas after one sampled step in which every slot is written."""
    everything = LeftToRight(model.padding)
    return tuple(run(model, word, engine=FastEngine(), tape=tape, planner=everything, canvas=False).output)


def _joint_law(effort: Effort) -> tuple[int, int]:
    """Check the joint law of a random model whose two slots both have a choice; return (runs, possible canvases)."""
    model, runs = cached_model(CHOOSES, "mdm", 1, precision=2, padding=2), effort.of(600)
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


# The check of def:uniform-transformers: positions of every compiler and conversion, and weights that one program writes
# for every N.


def uniformity(_: Effort) -> Evidence:
    """Check the positions and weights of every compiler and conversion, at several N, against what is claimed."""
    results = uniform_models.checked_results()
    statuses = Counter(result.growth.status for result in results)
    entries = [result.entries for result in results if result.entries is not None]
    return Evidence(
        f"every compiler and every conversion at several N: the positions of {statuses['uniform']} are formulas on "
        f"numbers of O(log N) bits, those of {statuses['relative']} are such formulas over their source's positions, "
        f"{statuses['given as a table']} are tables of a circuit, an expression or a program and cannot be claimed to "
        f"be uniform; the weights of {len(entries)} are those of one program for every N ({sum(entries):,} entries "
        "compared), those of the others are not checked",
        len(results),
    )
