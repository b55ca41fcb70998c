"""Trace × Trace → their first difference."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unmask.traces.trace import Trace, TraceError

_NAME = re.compile(r"(?:steps\.(\d+)|initial|final)\.(\w+)\.(?:embed|layers\.(\d+)\.(residual|heads\.(\d+)\.weights))")
_MOMENT = re.compile(r"(initial|final|steps\.(\d{1,15}))\.")
BEFORE, AFTER = -1, 1 << 62


@dataclass(frozen=True)
class Difference:
    """The first difference of two traces; fields that do not apply are None."""

    step: int | None
    row: int
    left: str
    right: str
    transformer: str | None = None
    layer: int | None = None
    head: int | None = None
    register: str | None = None

    def __str__(self) -> str:
        where = [] if self.step is None else [f"step {self.step}"]
        where += [name for name in (self.transformer,) if name]
        where += [f"layer {self.layer}"] if self.layer is not None else []
        where += [f"head {self.head}"] if self.head is not None else []
        where += [f"row {self.row}"] if self.transformer else [f"slot {self.row}"]
        where += [name for name in (self.register,) if name]
        return f"{', '.join(where)}: {self.left} against {self.right}"


def first_difference(left: Trace, right: Trace) -> Difference | None:
    """Return the first difference in the order of the run, or None.

    Within a step, the activations that both traces recorded come first, then the planner's choice, then the canvas.

    Examples:
        >>> model = compile_problem("(a|b)*abb", "mdm", length=9)
        >>> own, other = run_word(model, "aababbabb"), run_word(model, "aababbabb", planner="left-to-right:1")
        >>> print(first_difference(own, other))
        step 0, slot 1, choice of slot: True against False
    """
    if left.symbols(left.word) != right.symbols(right.word):
        raise TraceError("the two traces read different words; compare runs of one word")
    recorded = _by_step(name for name in left.activations if name in right.activations)
    for moment in sorted({*recorded, *_steps_recorded(left, right)}):
        for name in recorded.get(moment, ()):
            difference = _activation_difference(name, left, right)
            if difference:
                return difference
        if BEFORE < moment < AFTER and left.kind != "plt":
            difference = _canvas_difference(moment, left, right)
            if difference:
                return difference
    return _canvas_difference(0, left, right) if left.kind == "plt" else None


def _by_step(names: Iterable[str]) -> dict[int, list[str]]:
    """Return step → names of activations of that step; BEFORE and AFTER for names before and after all steps."""
    names_by_step: dict[int, list[str]] = {}
    for name in names:
        match = _MOMENT.match(name)
        if match is not None:
            moment = {"initial": BEFORE, "final": AFTER}.get(match[1])
            names_by_step.setdefault(int(match[2]) if moment is None else moment, []).append(name)
    return names_by_step


def _steps_recorded(left: Trace, right: Trace) -> set[int]:
    """Return the steps with a canvas in one of the traces, and the step in which one trace has already ended."""
    recorded = {t for trace in (left, right) for t in range(trace.steps_taken - len(trace.canvas), trace.steps_taken)}
    ended = {min(left.steps_taken, right.steps_taken)} if left.steps_taken != right.steps_taken else set()
    return {step for step in recorded | ended if step >= 0}


def _activation_difference(name: str, left: Trace, right: Trace) -> Difference | None:
    a, b = left.activations[name], right.activations[name]
    match = _NAME.fullmatch(name)
    if match is None:
        raise TraceError(f"{name!r} is not the name of an activation")
    step, transformer, layer, _, head = match.groups()
    if np.array_equal(a, b):
        return None
    row, register, ours, theirs = 0, None, f"shape {list(a.shape)}", f"shape {list(b.shape)}"
    if a.shape == b.shape:
        row, column = (int(k) for k in np.argwhere(a != b)[0])
        register = f"key row {column}" if head is not None else left.register_name(transformer, column)
        ours, theirs = str(a[row, column]), str(b[row, column])
    numbers = [None if number is None else int(number) for number in (step, layer, head)]
    return Difference(
        step=numbers[0],
        row=row,
        left=ours,
        right=theirs,
        transformer=transformer,
        layer=numbers[1],
        head=numbers[2],
        register=register,
    )


def _canvas_difference(step: int, left: Trace, right: Trace) -> Difference | None:
    """Return the first difference of the choices or the canvases after a step."""
    ended = [step >= trace.steps_taken and trace.kind != "plt" for trace in (left, right)]
    if ended[0] != ended[1]:
        words = ["ended" if over else "goes on" for over in ended]
        return Difference(step, 0, words[0], words[1])
    ours, theirs = _canvas_index(step, left), _canvas_index(step, right)
    if ours is None or theirs is None:
        return None
    for quantity, a, b in (
        ("choice of slot", left.chosen[ours].tolist(), right.chosen[theirs].tolist()),
        ("symbol", left.symbols(left.canvas[ours]), right.symbols(right.canvas[theirs])),
    ):
        if len(a) != len(b):
            return Difference(step, 0, f"{len(a)} slots", f"{len(b)} slots")
        for slot, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y:
                return Difference(step, slot, repr(x), repr(y), register=quantity)
    return None


def _canvas_index(step: int, trace: Trace) -> int | None:
    """Return the index of the canvas after a step, or None; a run without a recorded canvas has only the last one."""
    if trace.kind == "plt":
        return 0
    index = step - (trace.steps_taken - len(trace.canvas))
    return index if 0 <= index < len(trace.canvas) else None
