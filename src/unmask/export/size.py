"""What a form takes in memory when every matrix is dense, so that what does not fit is refused before it is built.

numbers of the form × BYTES        the weights as doubles, repaired, widened, in single precision, as a file
words · passes · (slots · outputs + rows)    what F_p read and said, with which the export is compared
words · rows · (heads · (rows + width) + hidden)    a pass of the check: its largest layer, of ONNX all of them
"""

import numpy as np

from unmask.budget import foresee
from unmask.weights.model import DIFFUSION, Model
from unmask.weights.transformer import Head, Transformer

BYTES = 48  # of a number, from its double to its place in the file
OTHER_ORDERS = 2  # further runs of a predictor, in orders that are not its own


def check_size(model: Model, form: str, parts: list[str], words: int) -> None:
    """Refuse, with the estimate."""
    foresee(memory_of(model, form, parts, words), f"the {form} form")


def memory_of(model: Model, form: str, parts: list[str], words: int) -> int:
    """Bytes that an export takes."""
    count = {
        **dict.fromkeys(("bert", "gpt2", "albert"), stock_numbers),
        **dict.fromkeys(("torch", "onnx"), dense_numbers),
    }.get(form, rotary_numbers)
    numbers = sum(count(model.transformers[part]) for part in parts)
    outputs = sum(model.transformers[part].out.shape[0] for part in parts)
    written = model.padding if model.kind in DIFFUSION else model.block or 1
    passes = 1 if model.kind == "plt" else model.steps * (1 + OTHER_ORDERS * (model.kind in DIFFUSION))
    kept = words * passes * (written * outputs + model.rows * len(parts))
    kept += words * sum(activations(model, model.transformers[part], form) for part in parts)
    return BYTES * numbers + 8 * kept


def activations(model: Model, transformer: Transformer, form: str) -> int:
    """What a pass over one word holds: its largest layer; of ONNX all of them, those of a loop for every round."""
    layers = [0]
    for layer in transformer.layers:
        heads = sum(3 * (model.rows + head.wq.shape[1]) + 3 * transformer.width for head in layer.heads)
        layers.append(model.rows * (heads + 6 * transformer.width + 4 * layer.mlp.w1.shape[1]))
    return sum(layers) * (model.steps if model.kind == "plt" else 1) if form == "onnx" else max(layers)


def dense_numbers(transformer: Transformer) -> int:
    """Of the torch and ONNX forms."""
    width = transformer.width
    total = transformer.positions.size + width * (transformer.embed.shape[0] + transformer.out.shape[0])
    for layer in transformer.layers:
        total += sum(width * (width + 2 * head.wq.shape[1]) for head in layer.heads)
        total += 2 * width * layer.mlp.w1.shape[1]
    return total


def rotary_numbers(transformer: Transformer) -> int:
    """The same with further columns and layers for positions: a bit per head, and a hidden unit per row."""
    return stock_numbers(transformer, columns=32, layers=4, hidden=len(transformer.positions))


def stock_numbers(transformer: Transformer, *, columns: int = 0, layers: int = 0, hidden: int = 0) -> int:
    """Every layer of a stock architecture is as wide as all heads of the widest together, and may be split in two."""
    heads = max((len(layer.heads) for layer in transformer.layers), default=0)
    widest = max((_width(head) for layer in transformer.layers for head in layer.heads), default=0)
    width = max(transformer.width + columns, heads * widest)
    hidden = max(hidden, *(layer.mlp.w1.shape[1] for layer in transformer.layers), 0)
    tables = len(transformer.positions) + transformer.embed.shape[0] + transformer.out.shape[0]
    return width * (tables + (2 * len(transformer.layers) + layers) * (4 * width + 2 * hidden))


def _width(head: Head) -> int:
    return max(head.wq.shape[1], min(np.unique(head.wv.row).size, np.unique(head.wv.column).size))
