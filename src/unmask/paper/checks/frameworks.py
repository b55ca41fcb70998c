"""Checks of the frameworks: a run of the library against the definition, written out plainly here."""

from dataclasses import replace

import numpy as np

from unmask.engines.engine import forward
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, EditsWrittenSlot
from unmask.numerics.arithmetic import add
from unmask.paper.checks.evidence import Check, Effort, Evidence, require
from unmask.reasoners.planners import Situation, Uniform
from unmask.reasoners.run import run
from unmask.reasoners.tape import OTHER, PLANNER, Tape
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems.checking.transformer_conversions import random_transformer
from unmask.weights.model import DIFFUSION, Kind, Model


def runs_as_defined(kind: Kind, *, sampled: bool = False, read: str = "output") -> Check:
    """Random models of a kind: the canvas after every step, or the answer, against the plain loop."""

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
                ours = [canvas.tolist() for canvas in trace.canvas]
                if read == "output":
                    require(ours == states, f"{where} takes another path")
                else:
                    last = {model.accept: True, model.reject: False}.get(model.vocabulary[states[-1][-1]])
                    require(trace.accepted is last, f"{where} gives another answer")
                cases += 1
        what = "the answer" if read != "output" else "every step"
        drawn = "with noise from a tape, " if sampled else ""
        return Evidence(f"random {kind} models against the definition, {drawn}{what}, p = 2, 3", cases)

    return check


def _divides_by_zero(model: Model, word: list[int], tape: Tape | None) -> bool:
    try:
        run(model, word, engine=FastEngine(), tape=tape)
    except AttendsToNothing:
        return True
    return False


def by_definition(model: Model, word: list[int], tape: Tape | None = None) -> list[list[int]]:
    """What each step of the definition leaves: slots, all generated symbols, or the answer of a looped model."""
    before = [*([model.token[model.begin]] if model.begin else []), *word]
    mask = model.token[model.mask] if model.mask else -1
    if model.kind == "plt":
        return [[_looped(model, [*before, *[model.token[model.pad or ""]] * model.padding], tape)]]
    states: list[list[int]] = []
    canvas = [mask] * model.padding if model.kind in DIFFUSION else []
    for _ in range(model.steps):
        masks = [mask] * (model.block or 0)
        string = [*before, *canvas, *masks]
        name = "predictor" if "predictor" in model.transformers else "model"
        rows = range(len(before), len(string)) if model.kind in DIFFUSION else range(len(string))
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
    sure = [max(int(v) for s, v in enumerate(logits[row]) if s != mask) for row in rows]
    if model.k is None:
        return [value > -model.precision.bound for value in sure]
    best = sorted(range(len(sure)), key=lambda i: (-sure[i], i))[: model.k]
    return [i in best for i in range(len(sure))]


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
    """An smdm never edits a written slot; where an mdm would, running it as an smdm is an error."""
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
    return Evidence("random planners, resampling and not; a mask-dominated run refuses to edit", cases)


def uniform_planner(effort: Effort) -> Evidence:
    """One masked slot of three, over many seeds: each about equally often, and never a written one."""
    seeds = effort.of(3000)
    masked = np.array([[True, False, True, True]])
    counts = np.zeros(4, dtype=int)
    precision = random_transformer(0, "unmasked", precision=2).precision
    for seed in range(seeds):
        situation = Situation(seed % 5, 2, masked, np.zeros((1, 4), dtype=np.int64), precision)
        chosen = Uniform(1, Tape(seed)).choose(situation)[0]
        require(chosen.sum() == 1, "another number of slots is chosen")
        counts += chosen
    require(counts[1] == 0, "a written slot is chosen")
    # five standard deviations of a binomial law: 25·n·(1/3)·(2/3) >= (count - n/3)²
    require(all((9 * (3 * c - seeds) ** 2) <= 9 * 25 * 2 * seeds for c in counts[[0, 2, 3]]), f"not uniform: {counts}")
    return Evidence("how often each of three masked slots is chosen, over seeds", seeds)
