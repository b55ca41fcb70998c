"""Model → the files of an export, checked: the one arrow of this folder."""

from typing import Any

from unmask.export.check.words import check_words
from unmask.export.files.folder import Files
from unmask.export.part import Form, Part, chosen_part
from unmask.export.size import check_size
from unmask.export.stock.folder import albert_folder, bert_folder, gpt2_folder
from unmask.weights.model import Model

MOST_WORDS = 24
WORK = 1 << 34  # multiplications of the check, so that a large model takes seconds, not hours


def export_files(
    model: Model, form: Form, *, part: Part | None = None, exact: bool = False
) -> tuple[Files, dict[str, Any]]:
    """The files, and what export.json says; a form that would not decide as the model does is refused."""
    name = chosen_part(model, form, part, exact=exact)
    count = word_count(model)
    check_size(model, form, list(model.transformers) if form == "torch" else [name], count)
    words = check_words(model, count)
    if form == "bert":
        return bert_folder(model, name, words)
    if form == "gpt2":
        return gpt2_folder(model, name, words)
    if form == "albert":
        return albert_folder(model, name, words)
    if form == "torch":
        from unmask.export.torch.folder import torch_folder

        return torch_folder(model, words, exact=exact)
    from unmask.export.onnx.folder import onnx_folder

    return onnx_folder(model, name, words, exact=exact)


def word_count(model: Model) -> int:
    """As many words as the work allows, at least four."""
    cost = 0
    for transformer in model.transformers.values():
        for layer in transformer.layers:
            width = transformer.width
            cost += model.rows * width * (2 * layer.mlp.w1.shape[1] + len(layer.heads) * (width + 2 * model.rows))
    return max(4, min(MOST_WORDS, WORK // max(1, cost * model.steps)))
