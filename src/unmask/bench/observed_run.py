"""generate × model → ObservedRun: the canvases that a sampler shows the model, the predictions, and the result.

The model is not replaced: hooks on the torch module record every call, so that a sampler sees the class that it knows.

    pass t       the t-th call of the model; its canvas is what was written before it
    writes of t  what differs between the canvas of pass t and that of pass t + 1, or the result after the last pass

This file uses nothing of unmask: `check.py` of a bench folder contains it as it is.
"""

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from types import FrameType
from typing import Any

import numpy as np

CERTAIN = 0.9  # a decided slot of a reference model has probability 1, an undecided one at most 1/2


class StopRun(BaseException):
    """Raised when a limit is reached; not an `Exception`, so that a sampler that catches those does not swallow it."""


@dataclass(frozen=True, eq=False)
class ModelCall:
    """The input and the predictions of one call, [batch, rows] each; None if the model was not given token ids."""

    ids: np.ndarray | None
    predicted: np.ndarray
    probability: np.ndarray


@dataclass(frozen=True)
class SlotWrite:
    """A change of a slot from one token to another in pass `step` (from 1)."""

    step: int
    slot: int
    before: int
    after: int


@dataclass(eq=False)
class ObservedRun:
    """One run of a sampler on canvases [batch, rows], of which the first `prompt_length` columns are the prompt.

    `shifted`: row i of the model predicts the token of row i + 1. `stopped` says which limit ended the run, `error`
    what the sampler raised or returned instead of token ids.
    """

    start: np.ndarray
    prompt_length: int
    mask_id: int
    shifted: bool = False
    calls: list[ModelCall] = field(default_factory=list)
    result: np.ndarray | None = None
    returned_step_map: np.ndarray | None = None
    stopped: str | None = None
    error: str | None = None
    input_changed: bool = False

    @property
    def passes(self) -> int:
        return len(self.calls)

    @property
    def slots(self) -> np.ndarray:
        """Return the final content of the slots, [batch, slots]."""
        assert self.result is not None
        return self.result[:, self.prompt_length :]

    def canvases(self) -> list[np.ndarray] | None:
        """Return the slots before every pass and at the end; None if a call did not show the canvas from its start."""
        canvases = [canvas for call in self.calls if (canvas := self._canvas(call)) is not None]
        if not canvases or len(canvases) < len(self.calls) or self.result is None:
            return None
        return [*canvases, self.slots]

    def _canvas(self, call: ModelCall) -> np.ndarray | None:
        """Return the canvas of a call, which may lack rows at the end (a window of blocks) or have more (padding)."""
        ids, start = call.ids, self.start
        if ids is None or ids.shape[0] < start.shape[0] or ids.shape[1] < self.prompt_length:
            return None
        ids = ids[: start.shape[0], : start.shape[1]]
        if not np.array_equal(ids[:, : self.prompt_length], start[:, : self.prompt_length]):
            return None
        return np.hstack([ids, start[:, ids.shape[1] :]])[:, self.prompt_length :]

    def predictions(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (symbols, probabilities) of the slots in a pass (from 1), [batch, slots]; -1 and 0 if unknown."""
        call, (rows, width) = self.calls[step - 1], self.start.shape
        symbols, probability = np.full((rows, width), -1), np.zeros((rows, width))
        first = int(self.shifted)
        columns = min(width - first, call.predicted.shape[1])
        symbols[:, first : first + columns] = call.predicted[:rows, :columns]
        probability[:, first : first + columns] = call.probability[:rows, :columns]
        return symbols[:, self.prompt_length :], probability[:, self.prompt_length :]

    def writes(self, row: int = 0) -> list[SlotWrite]:
        """Return every change of a slot of one row, pass by pass."""
        canvases = self.canvases() or []
        return [
            SlotWrite(t, slot, int(before[row, slot]), int(after[row, slot]))
            for t, (before, after) in enumerate(pairwise(canvases), start=1)
            for slot in np.flatnonzero(before[row] != after[row]).tolist()
        ]

    def step_map(self) -> np.ndarray | None:
        """Return the pass that wrote the final content of each slot (0: none), [batch, slots]; None if unknown."""
        canvases = self.canvases()
        if canvases is None:
            return self.returned_step_map
        when = np.zeros(canvases[0].shape, dtype=np.int64)
        for t, (before, after) in enumerate(pairwise(canvases), start=1):
            when = np.where(before != after, t, when)
        return np.where(canvases[-1] == self.mask_id, 0, when)


def observe_run(
    module: Any,
    generate: Callable[[], Any],
    run: ObservedRun,
    *,
    most_passes: int,
    seconds: float,
    transform: Callable[[Any], Any] | None = None,
) -> ObservedRun:
    """Call `generate`, and complete `run`; `transform` changes the logits that the sampler gets.

    The time limit ends a run at the next call of the model, and in the main thread of a Unix system also between calls.
    """
    end = time.monotonic() + seconds

    def before_call(*_: Any) -> None:
        if len(run.calls) >= most_passes:
            raise StopRun(f"it was stopped after {most_passes} passes")
        if time.monotonic() > end:
            raise StopRun(f"it was stopped after {seconds:g} seconds and {len(run.calls)} passes")

    def after_call(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        logits = output[0] if isinstance(output, tuple) else output.logits
        if transform is not None:
            logits = transform(logits)
            output = (logits, *output[1:]) if isinstance(output, tuple) else _with_logits(output, logits)
        ids = kwargs.get("input_ids", args[0] if args else None)
        chances = logits.detach().float().softmax(-1).max(-1)
        predicted = logits.detach().float().argmax(-1)
        run.calls.append(
            ModelCall(None if ids is None else _array(ids).copy(), _array(predicted), _array(chances.values))
        )
        return output

    hooks = [
        module.register_forward_pre_hook(before_call, with_kwargs=True),
        module.register_forward_hook(after_call, with_kwargs=True),
    ]
    try:
        with _alarm(seconds):
            returned = generate()
        _store_result(run, returned)
    except StopRun as stop:
        run.stopped = str(stop)
    except NotApplicable:
        raise
    except (Exception, SystemExit) as error:  # any exception of a sampler is recorded as a result
        run.error = f"generate raised {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    finally:
        for hook in hooks:
            hook.remove()
    return run


class NotApplicable(Exception):
    """Raised by a check or an adapter that does not apply; its message is the reason."""


def _with_logits(output: Any, logits: Any) -> Any:
    output["logits" if isinstance(output, dict) else 0] = logits
    return output


@contextmanager
def _alarm(seconds: float) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(_: int, __: FrameType | None) -> None:
        raise StopRun(f"it was stopped after {seconds:g} seconds")

    previous_handler = signal.signal(signal.SIGALRM, ring)
    start = time.monotonic()
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)  # the alarm repeats in case a sampler swallows it
    try:
        yield
    finally:
        rest = max(remaining - (time.monotonic() - start), 0.001) if remaining else 0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)
        signal.setitimer(signal.ITIMER_REAL, rest)


def _array(value: Any) -> np.ndarray:
    """Convert a tensor, an array or nested lists to an array of integers or floats."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if value.is_floating_point() else value).numpy()
    return np.asarray(value)


def _store_result(run: ObservedRun, returned: Any) -> None:
    """Store what `generate` returned: ids, (ids, step map or histories), or an object with `sequences`."""
    more = None
    if isinstance(returned, tuple) and len(returned) == 2:
        returned, more = returned
    elif isinstance(returned, dict):
        more = returned.get("step_map", returned.get("histories"))
        returned = returned.get("sequences")
    elif hasattr(returned, "sequences"):
        more = getattr(returned, "step_map", None)
        more = getattr(returned, "histories", None) if more is None else more
        returned = returned.sequences
    try:
        ids = _array(returned)
    except (ValueError, TypeError, RuntimeError):
        ids = np.zeros(0, dtype=object)
    if ids.shape != run.start.shape or not np.issubdtype(ids.dtype, np.integer):
        kind = f"{ids.dtype} of shape {list(ids.shape)}"
        if ids.dtype == object:
            where = getattr(returned, "device", None)
            kind = type(returned).__name__ + ("" if where is None else f" on the device {where}")
        run.error = f"generate returned {kind}; expected token ids of shape {list(run.start.shape)}, as input_ids"
        return
    run.result = ids.astype(np.int64)
    if more is not None:
        try:
            run.returned_step_map = _step_map_of(run, more)
        except (ValueError, TypeError, IndexError, RuntimeError):
            run.returned_step_map = None  # the value is not a step map


def _step_map_of(run: ObservedRun, more: Any) -> np.ndarray | None:
    """Return a step map, from a step map [batch, slots or rows] or histories: canvases [batch, slots or rows]."""
    slots = run.start.shape[1] - run.prompt_length
    if isinstance(more, list | tuple) and more and np.ndim(_array(more[0])) == 2:
        canvases = [run.start[:, run.prompt_length :], *(_array(canvas)[:, -slots:] for canvas in more)]
        when, t = np.zeros(canvases[0].shape, dtype=np.int64), 0
        for before, after in pairwise(canvases):
            t += not np.array_equal(before, after)
            when = np.where(before != after, t, when)
        return when
    step_map = _array(more)
    return step_map[:, -slots:] if step_map.ndim == 2 and step_map.shape[1] >= slots else None
