"""Alignment: which rows, columns and slots of a converted model hold which state of its source.

A check compares the whole state after every step, not only the answer; a disagreement names step, row, register.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.programs.simulation import Simulation
from unmask.traces.trace import Trace, TraceError
from unmask.traces.trace_differences import Difference


def _same(t: int) -> int:
    return t


@dataclass(frozen=True, eq=False)
class StreamCopy:
    """An activation of the source and where the converted model holds it, both named with {t} for the step.

    Row i of the source's rows(t)[0] is row i of the converted model's rows(t)[1]; `columns` are those of the
    converted model, in the source's order.
    """

    source: str
    converted: str
    rows: Callable[[int], tuple[np.ndarray, np.ndarray]]
    columns: np.ndarray
    step: Callable[[int], int] = _same
    """The step of the converted model that shows the source's step t; the name contains it as {last}."""


@dataclass(frozen=True, eq=False)
class StoredStream:
    """An activation of the source, named with {t}, all of which `read(trace, t)` finds in what the slots hold."""

    source: str
    read: Callable[[Trace, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Alignment:
    """`canvas(trace, t)` reads the source's canvas after step t off the converted model's trace.

    None stands for a slot that the converted model does not write.
    """

    canvas: Callable[[Trace, int], Sequence[str | None]]
    copies: tuple[StreamCopy | StoredStream, ...] = ()


def layer_copies(
    source: str,
    converted: str,
    simulation: Simulation,
    rows: Callable[[int], tuple[np.ndarray, np.ndarray]],
    *,
    later: int = 0,
    step: Callable[[int], int] = _same,
) -> tuple[StreamCopy, ...]:
    """Return the copies of a transformer's stream after each layer, which another simulates `later` layers later."""
    return tuple(
        StreamCopy(
            source=f"steps.{{t}}.{source}.layers.{number}.residual",
            converted=f"steps.{{last}}.{converted}.layers.{number + later}.residual",
            rows=rows,
            columns=simulation.work,
            step=step,
        )
        for number in range(simulation.depth)
    )


def slots(
    at: Callable[[int], np.ndarray], step: Callable[[int], int] = lambda t: t
) -> Callable[[Trace, int], list[str]]:
    """Return the alignment in which the slots at(t) of the converted model hold the source's canvas after step(t)."""

    def canvas(trace: Trace, t: int) -> list[str]:
        return trace.symbols(trace.canvas[step(t)][at(t)])

    return canvas


def register_symbols(
    name: str, rows: np.ndarray, columns: np.ndarray, symbols: tuple[str, ...]
) -> Callable[[Trace, int], list[str]]:
    """Return the alignment in which a one-hot register of an activation named with {t} is the source's canvas."""

    def canvas(trace: Trace, t: int) -> list[str]:
        held = trace.activations[name.format(t=t)][np.ix_(rows, columns)]
        return [symbols[k] if row.any() else "?" for row, k in zip(held, held.argmax(axis=1), strict=True)]

    return canvas


def aligned_difference(
    source: Trace, converted: Trace, alignment: Alignment, aliases: dict[str, str]
) -> Difference | None:
    """Describe the first place where the converted model's state differs from the source's, up to symbol aliases."""
    steps = len(source.canvas) if source.kind != "plt" else max(1, source.steps_taken)
    for t in range(steps):
        for copy in alignment.copies:
            difference = _in_copy(source, converted, copy, t)
            if difference:
                return difference
        if source.kind == "plt" and t < steps - 1:
            continue
        held = source.symbols(source.canvas[t if source.kind != "plt" else 0])
        ours = [aliases.get(s, s) for s in held]
        theirs = [None if s is None else aliases.get(s, s) for s in alignment.canvas(converted, t)]
        for i, (left, right) in enumerate(zip(ours, theirs, strict=True)):
            if right is not None and left != right:
                return Difference(t, i, repr(left), repr(right), register="symbol")
    return None


def _in_copy(source: Trace, converted: Trace, copy: StreamCopy | StoredStream, t: int) -> Difference | None:
    if not source.activations:
        return None  # the traces were not recorded: only their canvases can be compared
    ours = source.activations.get(copy.source.format(t=t))
    if ours is None:
        raise _missing(copy.source, t)
    if isinstance(copy, StoredStream):
        here, left, right = np.arange(len(ours)), ours, copy.read(converted, t)
    else:
        theirs = converted.activations.get(copy.converted.format(t=t, last=copy.step(t)))
        if theirs is None:
            raise _missing(copy.converted, t)
        here, there = copy.rows(t)
        left, right = ours[here], theirs[np.ix_(there, copy.columns)]
    if np.array_equal(left, right):
        return None
    i, column = (int(k) for k in np.argwhere(left != right)[0])
    parts = copy.source.split(".")
    transformer, *rest = parts[2:] if copy.source.startswith("steps") else parts[1:]
    layer = int(rest[1]) if len(rest) > 1 and rest[0] == "layers" else None
    return Difference(
        step=t,
        row=int(here[i]),
        left=str(left[i, column]),
        right=str(right[i, column]),
        transformer=transformer,
        layer=layer,
        register=source.register_name(transformer, column),
    )


def _missing(name: str, t: int) -> TraceError:
    return TraceError(f"the alignment names {name}, which the trace does not have at step {t}; record both runs")
