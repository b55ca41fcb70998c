"""Trace → the document that `run --json` prints."""

from typing import Any

from unmask.traces.trace import Trace


def result(trace: Trace, *, canvas: bool = True, outputs: int = 1) -> dict[str, Any]:
    """What came out, in how many steps; the last slots are the `outputs` of a circuit that has several."""
    document: dict[str, Any] = {
        "accepted": trace.accepted,
        "steps": trace.steps_taken,
        "length": trace.length,
        "padding": trace.padding,
        "output": trace.output,
    }
    if 1 < outputs <= len(trace.output):
        bits = {trace.reject: 0, trace.accept: 1}
        document["outputs"] = [bits.get(symbol) for symbol in trace.output[-outputs:]]
    if canvas:
        document["canvas"] = trace.canvas_symbols
        if trace.left_out is not None:
            document["left_out"] = trace.left_out
    return document
