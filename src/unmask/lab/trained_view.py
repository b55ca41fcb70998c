"""Trained × word → View: a run of a trained model, shown like a run of a compiled model.

A page holds integers: streams and logits are rounded to 1/UNITS, and attention below LEAST_SHOWN/UNITS is left out.
"""

from typing import Any

import numpy as np
from torch import Tensor

from unmask.errors import WordError, shortened
from unmask.lab.memory_estimates import view_memory
from unmask.lab.task_sources import ProgramSource, unused_name
from unmask.lab.trained_model import NetworkMedium, Trained
from unmask.lab.trained_network import Watch
from unmask.lab.trained_sampling import TrainedPredictor
from unmask.limits import check_memory
from unmask.reasoners.loops import canvases, masked_diffusion
from unmask.samplers.sampler_names import parse_sampler
from unmask.samplers.sampling_loop import masks, sample
from unmask.traces.trace import Trace
from unmask.viewer.html_page import View
from unmask.viewer.panel import Panel
from unmask.viewer.run_history import history_of
from unmask.viewer.run_recording import Recording
from unmask.weights.kinds import DIFFUSION

UNITS = 100  # integers per 1
LEAST_SHOWN = 5  # attention below LEAST_SHOWN / UNITS is left out, because a softmax is never 0


def read_task_letters(trained: Trained, word: str) -> np.ndarray:
    """Convert a word as a user types it to tokens [1, length]."""
    names = trained.task.source.names
    letters = [names[e] for e in trained.task.source.letters]
    symbols = word.split() if " " in word.strip() or not all(len(name) == 1 for name in letters) else list(word)
    unknown = next((symbol for symbol in symbols if symbol not in letters), None)
    if unknown is not None:
        raise WordError(f"{shortened(unknown)!r} is not a letter of this task; use {shortened(' '.join(letters))}")
    if len(symbols) != trained.length:
        raise WordError(
            f"this model reads words of length {trained.length}, not {len(symbols)}; train it at that length"
        )
    return np.array([[names.index(symbol) for symbol in symbols]], dtype=np.int64)


def view_of(trained: Trained, word: str, *, sampler: str | None = None) -> View:
    """Return the view of a run with the model's own planner, or with a published sampler."""
    tokens = read_task_letters(trained, word)
    shape, rows = trained.config.shape, trained.task.rows
    passes = max(trained.steps, trained.padding)  # a run by a sampler, one slot at a time
    check_memory(
        view_memory(shape, len(trained.vocabulary), rows, passes), f"a view of {passes} passes over {rows} rows"
    )
    recording = Recording(
        trained.kind,
        trained.steps,
        trained.length,
        1,
        trained.task.mask if trained.kind in DIFFUSION else None,
        logits_of=None,
    )
    trace = _sampled(trained, tokens, sampler) if sampler else _own(trained, tokens, _telling(recording))
    answers = trained.task.answers(tokens)
    answer = " ".join(trained.vocabulary[token] for token in answers[0])
    panel = Panel(history_of(trace, recording, ()), recording, {}, scale=UNITS, bound=None, planner=sampler)
    judgement = "right" if (trained.task.shown_answers(trace.canvas[-1][None]) == answers).all() else "wrong"
    what = "answer" if isinstance(trained.task.source, ProgramSource) else "product"
    return View(
        trained.config.problem, word, (panel,), (f"A trained model: the {what} is {answer}, and it is {judgement}.",)
    )


def _own(trained: Trained, tokens: np.ndarray, watch: Watch) -> Trace:
    medium = NetworkMedium(trained, tokens, watch)
    if trained.kind in DIFFUSION:
        steps = [(canvas[0], chosen[0]) for canvas, chosen in masked_diffusion(medium)]
    else:
        steps = [(canvas[0], np.arange(canvas.shape[1]) == canvas.shape[1] - 1) for canvas in canvases(medium)]
    return _trace(trained, tokens, steps, trained.steps)


def _sampled(trained: Trained, tokens: np.ndarray, name: str) -> Trace:
    predictor = TrainedPredictor(trained, tokens)
    result = sample(predictor, parse_sampler(name).make(trained.padding), masks(predictor, 1, trained.padding))
    pairs = zip(result.histories, result.histories[1:], strict=False)
    steps = [(after[0].astype(np.int64), before[0] != after[0]) for before, after in pairs]
    return _trace(trained, tokens, steps, len(steps))


def _trace(trained: Trained, tokens: np.ndarray, steps: list[Any], taken: int) -> Trace:
    accept, reject = (unused_name(name, trained.vocabulary) for name in ("1", "0"))
    return Trace(
        kind=trained.kind,
        length=trained.length,
        padding=trained.padding,
        vocabulary=trained.vocabulary,
        accept=accept,
        reject=reject,
        mask=trained.mask,
        word=tuple(tokens[0].tolist()),
        canvas=tuple(canvas for canvas, _ in steps),
        chosen=tuple(chosen for _, chosen in steps),
        steps_taken=taken,
        aliases={name: accept if yes else reject for name, yes in trained.task.source.verdicts.items()},
    )


def _telling(recording: Recording) -> Watch:
    """Return a watch that converts the tensors of a pass to the integers and names of a recording."""

    def watch(name: str, value: Tensor) -> None:
        scaled = _integers(value)
        name = name.replace(".planner.", ".predictor.")
        if name.endswith(".weights"):
            scaled = np.where(scaled < LEAST_SHOWN, 0, scaled)
            for head in range(scaled.shape[1]):
                recording(f"{name.removesuffix('.weights')}.heads.{head}.weights", scaled[:, head])
        else:
            recording(name, scaled)

    return watch


def _integers(value: Tensor) -> np.ndarray:
    return (value.double() * UNITS).round().long().cpu().numpy()
