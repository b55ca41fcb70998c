"""Trace → the document that `run --json` prints."""

from typing import Any

from unmask.traces.trace import Trace
from unmask.weights.model import Model


def result(trace: Trace, *, canvas: bool = True, outputs: int = 1) -> dict[str, Any]:
    """What came out, in how many steps; the last slots are the `outputs` of a circuit or program that has several."""
    document: dict[str, Any] = {
        "accepted": trace.accepted,
        "steps": trace.steps_taken,
        "length": trace.length,
        "padding": trace.padding,
        "output": trace.output,
    }
    if 1 < outputs <= len(trace.output):
        document["outputs"] = outputs_of(trace, trace.output[-outputs:])
    if canvas:
        document["canvas"] = trace.canvas_symbols
        if trace.left_out is not None:
            document["left_out"] = trace.left_out
    return document


def outputs_of(of: Trace | Model, symbols: list[str]) -> list[Any]:
    """1 and 0 for the symbols of acceptance and rejection, None for a mask, any other symbol as it is."""
    told = {of.mask: None, of.reject: 0, of.accept: 1}
    return [told.get(meant, meant) for meant in (of.aliases.get(symbol, symbol) for symbol in symbols)]
