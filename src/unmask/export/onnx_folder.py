"""Model → the files of an ONNX folder: one pass of one transformer, plain or exact, and a card with a program.

The program on the card needs onnxruntime, NumPy and export.json: it reads a word and prints its answer.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from unmask.export.agreement import ExportDisagreement, ObservedPass, compare, logit_scale, observe, planned_order
from unmask.export.folder_files import Files, as_json, as_text, plain_card, register_map, summary, written_word
from unmask.export.onnx_graph import Graph, exact_graph, model_bytes, plain_graph, run_graph
from unmask.export.real_transformer import in_parts, real_weights, repaired
from unmask.export.tokenizer import token_names
from unmask.export.torch_folder import EXACT_LOGIT_SCALE, merged, scaled_level
from unmask.weights.model import Model

READ_WORD = """```python
import json

import numpy as np
import onnxruntime

about = json.load(open("export.json", encoding="utf-8"))
session = onnxruntime.InferenceSession("model.onnx")
token = {{symbol: i for i, symbol in enumerate(about["vocabulary"])}}
word = {word!r}
letters = {letters}
assert len(letters) == about["length"] and set(letters) <= set(about["input_symbols"])
given = [token[symbol] for symbol in ([about["begin"]] if about["begin"] else []) + letters]


def logits(rest):
    found, *zero_rows = session.run(None, {{"tokens": np.array([given + rest])}})
    assert not any(rows.any() for rows in zero_rows)  # an exact form counts the rows that divide by zero
    return found[0].astype(float)


"""

RANGES = '[next((s for first, last, s in about["characters"] if first <= ord(c) <= last), None) for c in word]'

CANVAS = """canvas = np.full(about["padding"], token[about["mask"]])
{loop}    predicted = logits(canvas.tolist())[-len(canvas):]
    predicted[:, token[about["mask"]]] = -np.inf
{chosen}    canvas[chosen] = predicted.argmax(-1)[chosen]
last = canvas[-1]
"""
IN_ORDER = {"loop": 'for chosen in about["order"]:  # the order of the planner\n', "chosen": ""}
SUREST = {
    "loop": 'for _ in range(about["steps"]):\n',
    "chosen": """    sure = predicted.max(-1)
    chosen = np.argsort(-sure, kind="stable")[: about["k"]] if about["k"] else sure > about["chosen_above"]
""",
}

PREDICT = """masks = [token[about["mask"]]] * about["padding"]
predicted = logits(masks)[-len(masks):]  # of the first pass; the planner says which slots are written
predicted[:, token[about["mask"]]] = -np.inf
print([about["vocabulary"][symbol] for symbol in predicted.argmax(-1)])
"""

PLAN = """masks = [token[about["mask"]]] * about["padding"]
print(np.flatnonzero(logits(masks)[-len(masks):].argmax(-1) == 1).tolist())  # the slots that the first step writes
"""

LOOP = """last = logits([token.get(about["pad"], 0)] * about["padding"])[-1].argmax()
"""

LOOP_OF_MANY = """rows = logits([token.get(about["pad"], 0)] * about["padding"])[-about["outputs"]:]
print([about["vocabulary"][symbol] for symbol in rows.argmax(-1)])  # all answers, in order; the last is the verdict
last = rows[-1].argmax()
"""

CHAIN = """block, made = [token.get(about["mask"], 0)] * (about["block"] or 0), []
for _ in range(about["steps"]):
    made += logits(made + block)[-max(1, len(block)):].argmax(-1).tolist()
last = made[-1]
"""

TELL = """answer = about["vocabulary"][last]
answer = about["aliases"].get(answer, answer)
print(answer, {about["accept"]: "accepted", about["reject"]: "rejected"}.get(answer, ""))
"""


def card_program(model: Model, report: dict[str, Any], words: np.ndarray) -> str:
    """Return the Python program of a kind; a planner, or a predictor without a fixed order, is one pass of a pair."""
    of_characters = model.characters is not None or all(len(symbol) == 1 for symbol in model.input_symbols)
    if model.characters is not None:
        word, letters = written_word(model, token_names(model), words), RANGES
    else:
        symbols = model.symbols(words[len(words) // 2]) if len(words) else []
        word = ("" if of_characters else " ").join(symbols)
        letters = "list(word)" if of_characters else "word.split()"
    return READ_WORD.format(word=word, letters=letters) + _body(model, report) + "```\n"


def _body(model: Model, report: dict[str, Any]) -> str:
    if model.kind in ("mdm", "smdm"):
        if report["part"] == "planner":
            return PLAN
        return CANVAS.format(**IN_ORDER) + TELL if report["order"] is not None else PREDICT
    if model.kind == "topk":
        return CANVAS.format(**SUREST) + TELL
    loop = LOOP if model.answer_rows == 1 else LOOP_OF_MANY
    return (loop if model.kind == "plt" else CHAIN) + TELL


def reading_fields(model: Model) -> dict[str, Any]:
    """Return what a reader of export.json needs besides the sizes, under the names of the model folder.

    What is typed is looked up among `input_symbols`, or in `characters`, never in the vocabulary: its other symbols,
    such as the mask `m` and the answer `1`, are letters that a user may type.
    """
    return {
        "vocabulary": list(model.vocabulary),
        "input_symbols": list(model.input_symbols),
        "characters": None if model.characters is None else [list(entry) for entry in model.characters],
        **{name: getattr(model, name) for name in ("mask", "pad", "begin", "accept", "reject", "block", "k")},
        **({} if model.outputs is None else {"outputs": model.outputs}),
        "aliases": dict(model.aliases),
    }


EXACT_WORDS = 3  # compared bit by bit, so few passes are enough


def onnx_folder(model: Model, part: str, words: np.ndarray, *, exact: bool) -> tuple[Files, dict[str, Any]]:
    """Return the files, and the content of export.json."""
    transformer = model.transformers[part]
    passes = observe(model, part, words[:EXACT_WORDS] if exact else words)
    scale = EXACT_LOGIT_SCALE if exact else logit_scale(passes, model, part)
    real = repaired(real_weights(transformer), model.precision)
    real = real if exact else replace(real, out=real.out * scale)
    graph = exact_graph(transformer, model.steps) if exact else plain_graph(real, model.steps)
    report = {
        **summary(model, "onnx", part, exact=exact),
        "nodes": graph.size,
        **reading_fields(model),
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
    card = plain_card(model, report, card_program(model, report, words))
    files = {
        "model.onnx": model_bytes(graph, f"{report['problem'] or 'a model of unmask'}, {part} of a {model.kind}"),
        "registers.json": as_json(register_map(real)),
        "export.json": as_json(report),
        "README.md": as_text(card),
    }
    return files, report


def _passes(graph: Graph):
    return lambda tokens: run_graph(graph, {"tokens": tokens})["logits"]


def _same_integers(part: str, passes: list[ObservedPass], graph: Graph) -> int:
    for done in passes:
        outputs = run_graph(graph, {"tokens": done.tokens})
        same = np.array_equal(outputs["logits"][:, done.rows[0] : done.rows[1]], done.logits)
        if not same or outputs["divided_by_zero"].any():
            raise ExportDisagreement(f"the exact form of the {part} is not bit-identical; please report this model")
    return len(passes)
