"""Model → the files of an export, checked: the one arrow of this folder."""

import os
from pathlib import Path
from typing import Any

from unmask.errors import UnmaskError
from unmask.export.check.words import check_words
from unmask.export.files.folder import Files, check_free, write_folder
from unmask.export.part import Form, Part, chosen_part
from unmask.export.rope.containers import CONTAINERS
from unmask.export.rope.folder import rope_folder
from unmask.export.rope.gguf import GgufChoice, gguf_folder
from unmask.export.rope.weights import RopeChoice
from unmask.export.size import check_size
from unmask.export.stock.folder import albert_folder, bert_folder, gpt2_folder
from unmask.weights.model import Model

MOST_WORDS = 24
WORK = 1 << 34  # multiplications of the check, so that a large model takes seconds, not hours


def export_model(
    model: Model,
    form: Form,
    folder: str | os.PathLike[str],
    *,
    part: Part | None = None,
    exact: bool = False,
    order: str | None = None,
    rope: RopeChoice | None = None,
    gguf: GgufChoice | None = None,
) -> Path:
    """Write a model in one of the forms of `unmask export`, and return the new folder.

    The export is compared with the model before anything is written, and refused if it would decide otherwise. `part`
    chooses planner or predictor of an mdm or smdm; `exact` keeps the integers of F_p (torch and onnx).

    Examples:
        >>> folder = export_model(compile_problem("(a|b)*abb", "mdm", length=8), "bert", "models/abb-bert")
        >>> sorted(file.name for file in folder.iterdir())[:3]
        ['README.md', 'config.json', 'export.json']
    """
    check_free(Path(folder))
    files, _ = export_files(model, form, part=part, exact=exact, order=order, rope=rope, gguf=gguf)
    return write_folder(files, folder)


def export_files(
    model: Model,
    form: Form,
    *,
    part: Part | None = None,
    exact: bool = False,
    order: str | None = None,
    rope: RopeChoice | None = None,
    gguf: GgufChoice | None = None,
) -> tuple[Files, dict[str, Any]]:
    """Return the files, and what export.json says; a form that would not decide as the model does is refused.

    `order` arranges the slots of a stock form, `rope` fixes θ and the head width of a rotary one, `gguf` the
    architecture and the number type of a GGUF file.
    """
    check_options(form, order, rope, gguf)
    name = chosen_part(model, form, part, exact=exact)
    count = word_count(model)
    check_size(model, form, list(model.transformers) if form == "torch" else [name], count)
    words = check_words(model, count)
    if form == "bert":
        return bert_folder(model, name, words, order=order)
    if form in CONTAINERS:
        return rope_folder(model, form, name, words, order=order, choice=rope or RopeChoice())
    if form == "gguf":
        chosen = gguf or GgufChoice()
        return gguf_folder(model, name, words, order=order, choice=rope or RopeChoice(), gguf=chosen)
    if form == "gpt2":
        return gpt2_folder(model, name, words)
    if form == "albert":
        return albert_folder(model, name, words)
    if form == "torch":
        from unmask.export.torch.folder import torch_folder

        return torch_folder(model, words, exact=exact)
    from unmask.export.onnx.folder import onnx_folder

    return onnx_folder(model, name, words, exact=exact)


def check_options(form: Form, order: str | None, rope: RopeChoice | None, gguf: GgufChoice | None) -> None:
    """Refuse options that this form does not have."""
    if order is not None and form not in ("bert", "gguf", *CONTAINERS):
        raise UnmaskError(f"--order is for bert, gguf, {', '.join(CONTAINERS)}, not for {form}; leave it out")
    if rope not in (None, RopeChoice()) and form not in ("gguf", *CONTAINERS):
        raise UnmaskError(
            f"--rope-theta and --head-dim are for gguf, {', '.join(CONTAINERS)}, not for {form}; leave them out"
        )

    if gguf not in (None, GgufChoice()) and form != "gguf":
        raise UnmaskError(f"--arch and --dtype are for gguf, not for {form}; leave them out")


def word_count(model: Model) -> int:
    """As many words as the work allows, at least four."""
    cost = 0
    for transformer in model.transformers.values():
        for layer in transformer.layers:
            width = transformer.width
            cost += model.rows * width * (2 * layer.mlp.w1.shape[1] + len(layer.heads) * (width + 2 * model.rows))
    return max(4, min(MOST_WORDS, WORK // max(1, cost * model.steps)))
