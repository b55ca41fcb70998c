"""Trace × Trace → the first place where they differ."""

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
    """The first place where two traces differ; fields that do not apply are None."""

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
        where += [part for part in (self.transformer,) if part]
        where += [f"layer {self.layer}"] if self.layer is not None else []
        where += [f"head {self.head}"] if self.head is not None else []
        where += [f"row {self.row}"] if self.transformer else [f"slot {self.row}"]
        where += [part for part in (self.register,) if part]
        return f"{', '.join(where)}: {self.left} against {self.right}"


def first_difference(left: Trace, right: Trace) -> Difference | None:
    """The first difference in the order in which things happened, or None.

    Within a step, what both traces recorded inside the transformers comes first, then the planner's choice,
    then the canvas.

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
            difference = _inside(name, left, right)
            if difference:
                return difference
        if BEFORE < moment < AFTER and left.kind != "plt":
            difference = _outside(moment, left, right)
            if difference:
                return difference
    return _outside(0, left, right) if left.kind == "plt" else None


def _by_step(names: Iterable[str]) -> dict[int, list[str]]:
    """Step → names of that step; BEFORE and AFTER for names before and after all steps."""
    found: dict[int, list[str]] = {}
    for name in names:
        match = _MOMENT.match(name)
        if match is not None:
            moment = {"initial": BEFORE, "final": AFTER}.get(match[1])
            found.setdefault(int(match[2]) if moment is None else moment, []).append(name)
    return found


def _steps_recorded(left: Trace, right: Trace) -> set[int]:
    """The steps with a canvas in one of the traces, and the step in which one trace has already ended."""
    kept = {t for trace in (left, right) for t in range(trace.steps_taken - len(trace.canvas), trace.steps_taken)}
    ended = {min(left.steps_taken, right.steps_taken)} if left.steps_taken != right.steps_taken else set()
    return {step for step in kept | ended if step >= 0}


def _inside(name: str, left: Trace, right: Trace) -> Difference | None:
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
    numbers = [None if part is None else int(part) for part in (step, layer, head)]
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


def _outside(step: int, left: Trace, right: Trace) -> Difference | None:
    """The place where the choices or the canvases after a step differ."""
    ended = [step >= trace.steps_taken and trace.kind != "plt" for trace in (left, right)]
    if ended[0] != ended[1]:
        words = ["ended" if over else "goes on" for over in ended]
        return Difference(step, 0, words[0], words[1])
    ours, theirs = _kept(step, left), _kept(step, right)
    if ours is None or theirs is None:
        return None
    for what, a, b in (
        ("choice of slot", left.chosen[ours].tolist(), right.chosen[theirs].tolist()),
        ("symbol", left.symbols(left.canvas[ours]), right.symbols(right.canvas[theirs])),
    ):
        if len(a) != len(b):
            return Difference(step, 0, f"{len(a)} slots", f"{len(b)} slots")
        for slot, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y:
                return Difference(step, slot, repr(x), repr(y), register=what)
    return None


def _kept(step: int, trace: Trace) -> int | None:
    """The index of the canvas after a step; a run without a recorded canvas has only the last one."""
    if trace.kind == "plt":
        return 0
    place = step - (trace.steps_taken - len(trace.canvas))
    return place if 0 <= place < len(trace.canvas) else None
