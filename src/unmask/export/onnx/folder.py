"""Model → the files of an ONNX folder: one pass of one transformer, plain or exact."""

from dataclasses import replace
from typing import Any

import numpy as np

from unmask.export.check.agreement import Disagreement, compare, logit_scale
from unmask.export.check.observed import Pass, observe
from unmask.export.check.order import planned_order
from unmask.export.files.card import plain_card
from unmask.export.files.folder import Files, as_json
from unmask.export.files.register_map import register_map
from unmask.export.files.summary import summary
from unmask.export.onnx.answer import program, reading
from unmask.export.onnx.forms import exact_graph, plain_graph
from unmask.export.onnx.graph import Graph, model_bytes
from unmask.export.onnx.run import run_graph
from unmask.export.real.forward import in_parts
from unmask.export.real.repairs import repaired
from unmask.export.real.weights import real_weights
from unmask.export.torch.folder import EXACT_LOGIT_SCALE, merged, scaled_level
from unmask.weights.model import Model

EXACT_WORDS = 3  # bit by bit, so that few say much


def onnx_folder(model: Model, part: str, words: np.ndarray, *, exact: bool) -> tuple[Files, dict[str, Any]]:
    """The files, and what export.json says."""
    transformer = model.transformers[part]
    passes = observe(model, part, words[:EXACT_WORDS] if exact else words)
    scale = EXACT_LOGIT_SCALE if exact else logit_scale(passes, model, part)
    real = repaired(real_weights(transformer), model.precision)
    real = real if exact else replace(real, out=real.out * scale)
    graph = exact_graph(transformer, model.steps) if exact else plain_graph(real, model.steps)
    report = {
        **summary(model, "onnx", part, exact=exact),
        "nodes": graph.size,
        **reading(model),
        "logit_scale": scale,
        "order": planned_order(model, words),
    }
    hidden = max((layer.mlp.w1.shape[1] for layer in transformer.layers), default=0)
    if exact:
        report["chosen_above"] = -model.precision.bound
        report["passes_compared"] = _same_integers(part, passes[: 2 * EXACT_WORDS], graph)
    else:
        exported = in_parts(_passes(graph), model.rows, hidden)
        report["agreement"] = merged([compare(model, part, passes, exported, scale=scale)])
        report["chosen_above"] = scaled_level(report)
        report["repairs"] = list(real.repairs)
    card = plain_card(model, report, program(model, report, words))
    files = {
        "model.onnx": model_bytes(graph, f"{report['problem'] or 'a model of unmask'}, {part} of a {model.kind}"),
        "registers.json": as_json(register_map(real)),
        "export.json": as_json(report),
        "README.md": card.encode("utf-8", "backslashreplace"),
    }
    return files, report


def _passes(graph: Graph):
    return lambda tokens: run_graph(graph, {"tokens": tokens})["logits"]


def _same_integers(part: str, passes: list[Pass], graph: Graph) -> int:
    for done in passes:
        outputs = run_graph(graph, {"tokens": done.tokens})
        same = np.array_equal(outputs["logits"][:, done.rows[0] : done.rows[1]], done.logits)
        if not same or outputs["divided_by_zero"].any():
            raise Disagreement(f"the exact form of the {part} is not bit-identical; please report this model")
    return len(passes)
