"""Alignment: where a converted model stores each state of its source, as rows, columns and slots.

A check compares the whole state after every step, not only the answer. A difference names step, row and register.
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
    """An activation of the source and its copy in the converted model. Both names contain {t}, the step.

    Row rows(t)[0][i] of the source is row rows(t)[1][i] of the converted model. `columns` are columns of the converted
    model, in the order of the source.
    """

    source: str
    converted: str
    rows: Callable[[int], tuple[np.ndarray, np.ndarray]]
    columns: np.ndarray
    step: Callable[[int], int] = _same
    """The step of the converted model whose activation is the source's at step t; `converted` contains it as {last}."""


@dataclass(frozen=True, eq=False)
class StoredStream:
    """An activation of the source, named with {t}; `read(trace, t)` computes all of it from the converted trace."""

    source: str
    read: Callable[[Trace, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where a converted model stores the states of its source.

    `canvas(trace, t)` reads the source's canvas after step t off the converted model's trace. None stands for a slot
    that the converted model does not write.
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
    """Return the copies of a transformer's stream after each layer; the simulation is `later` layers behind."""
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
        one_hot = trace.activations[name.format(t=t)][np.ix_(rows, columns)]
        return [symbols[k] if row.any() else "?" for row, k in zip(one_hot, one_hot.argmax(axis=1), strict=True)]

    return canvas


def aligned_difference(
    source: Trace, converted: Trace, alignment: Alignment, aliases: dict[str, str]
) -> Difference | None:
    """Return the first difference between the states of the source and of the converted model, up to symbol aliases."""
    steps = len(source.canvas) if source.kind != "plt" else max(1, source.steps_taken)
    for t in range(steps):
        for copy in alignment.copies:
            difference = _copy_difference(source, converted, copy, t)
            if difference:
                return difference
        if source.kind == "plt" and t < steps - 1:
            continue
        symbols = source.symbols(source.canvas[t if source.kind != "plt" else 0])
        expected = [aliases.get(s, s) for s in symbols]
        actual = [None if s is None else aliases.get(s, s) for s in alignment.canvas(converted, t)]
        for i, (left, right) in enumerate(zip(expected, actual, strict=True)):
            if right is not None and left != right:
                return Difference(t, i, repr(left), repr(right), register="symbol")
    return None


def _copy_difference(source: Trace, converted: Trace, copy: StreamCopy | StoredStream, t: int) -> Difference | None:
    if not source.activations:
        return None  # the traces were not recorded: only their canvases can be compared
    expected = source.activations.get(copy.source.format(t=t))
    if expected is None:
        raise _missing_activation(copy.source, t)
    if isinstance(copy, StoredStream):
        source_rows, actual = np.arange(len(expected)), copy.read(converted, t)
    else:
        residual = converted.activations.get(copy.converted.format(t=t, last=copy.step(t)))
        if residual is None:
            raise _missing_activation(copy.converted, t)
        source_rows, converted_rows = copy.rows(t)
        expected, actual = expected[source_rows], residual[np.ix_(converted_rows, copy.columns)]
    if np.array_equal(expected, actual):
        return None
    i, column = (int(k) for k in np.argwhere(expected != actual)[0])
    parts = copy.source.split(".")
    transformer, *rest = parts[2:] if copy.source.startswith("steps") else parts[1:]
    layer = int(rest[1]) if len(rest) > 1 and rest[0] == "layers" else None
    return Difference(
        step=t,
        row=int(source_rows[i]),
        left=str(expected[i, column]),
        right=str(actual[i, column]),
        transformer=transformer,
        layer=layer,
        register=source.register_name(transformer, column),
    )


def _missing_activation(name: str, t: int) -> TraceError:
    return TraceError(f"the alignment names {name}, which the trace does not have at step {t}; record both runs")
