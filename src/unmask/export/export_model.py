"""Model × form → a folder that was compared with the model.

`export_model` refuses a form that the kind does not have (`exported_transformer`) or that does not fit into memory
(`check_export_size`), and calls the writer of the form. `write_collection` writes the reference models in all
containers, with a list of checksums.

    memory = numbers of the form × BYTES + words · passes · (slots · outputs + rows) + one pass of the check
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from unmask.api import compile_problem
from unmask.errors import UnmaskError
from unmask.export.agreement import words_to_compare
from unmask.export.bert_gpt2_albert import albert_folder, bert_folder, gpt2_folder
from unmask.export.folder_files import Files, check_free, write_new_folder
from unmask.export.gguf_file import GgufChoice, gguf_folder
from unmask.export.rope_folder import CONTAINERS, rope_folder
from unmask.export.rope_transformer import RopeChoice
from unmask.files import write_folder
from unmask.limits import check_memory, stage
from unmask.weights.kinds import DIFFUSION, Kind
from unmask.weights.model import Model
from unmask.weights.transformer import Head, Transformer

ExportForm = Literal["bert", "gpt2", "albert", "torch", "onnx", "eurobert", "llama", "qwen2", "llada", "dream", "gguf"]
FORMS: tuple[ExportForm, ...] = get_args(ExportForm)
Part = Literal["planner", "predictor"]
KINDS_OF: dict[ExportForm, tuple[Kind, ...]] = {
    "bert": ("mdm", "smdm", "topk"),
    "gpt2": ("cot",),
    "albert": ("plt",),
    "torch": ("mdm", "smdm", "topk", "plt", "cot", "pcot"),
    "onnx": ("mdm", "smdm", "topk", "plt", "cot", "pcot"),
    "eurobert": ("mdm", "smdm", "topk"),
    "llama": ("mdm", "smdm", "topk", "cot"),
    "qwen2": ("mdm", "smdm", "topk"),
    "llada": ("mdm", "smdm", "topk"),
    "dream": ("mdm", "smdm", "topk"),
    "gguf": ("mdm", "smdm", "topk", "cot"),
}


def exported_transformer(model: Model, form: ExportForm, part: Part | None, *, exact: bool) -> str:
    """Return the name of the transformer: `planner`, `predictor`, or `model` if there is only one."""
    if model.kind not in KINDS_OF[form]:
        alternatives = ", ".join(other for other in FORMS if model.kind in KINDS_OF[other])
        raise UnmaskError(
            f"{form} can store only {', '.join(KINDS_OF[form])}, and this model is of kind {model.kind}; "
            f"use --to {alternatives}"
        )
    if exact and form not in ("torch", "onnx"):
        raise UnmaskError(
            f"--exact is not possible for {form}, which computes with floats; use --to torch or --to onnx"
        )
    if part is not None and len(model.transformers) == 1:
        raise UnmaskError(f"a model of kind {model.kind} has a single transformer and no {part}; leave out --part")
    if part is not None and form == "torch":
        raise UnmaskError("the torch form always contains both planner and predictor; leave out --part")
    name = next(iter(model.transformers)) if len(model.transformers) == 1 else part or "predictor"
    if form not in ("torch", "onnx") and model.kind != "cot" and model.transformers[name].attention == "causal":
        raise UnmaskError(
            f"{form.upper()} attends in both directions, but the {name} is causal; use --to torch or --to onnx"
        )
    return name


BYTES = 48  # bytes per number, from its double to its copy in the file
OTHER_ORDERS = 2  # further runs of a predictor, in other orders


def check_export_size(model: Model, form: str, names: list[str], words: int) -> None:
    """Raise if the export would not fit into memory; the message has the estimate."""
    check_memory(export_memory(model, form, names, words), f"the {form} form")


def export_memory(model: Model, form: str, names: list[str], words: int) -> int:
    """Return the bytes that an export takes."""
    count = {
        **dict.fromkeys(("bert", "gpt2", "albert"), stock_numbers),
        **dict.fromkeys(("torch", "onnx"), dense_numbers),
    }.get(form, rotary_numbers)
    numbers = sum(count(model.transformers[name]) for name in names)
    outputs = sum(model.transformers[name].out.shape[0] for name in names)
    written = model.padding if model.kind in DIFFUSION else model.block or 1
    passes = 1 if model.kind == "plt" else model.steps * (1 + OTHER_ORDERS * (model.kind in DIFFUSION))
    stored = words * passes * (written * outputs + model.rows * len(names))
    stored += words * sum(activations(model, model.transformers[name], form) for name in names)
    return BYTES * numbers + 8 * stored


def activations(model: Model, transformer: Transformer, form: str) -> int:
    """Return the memory of a pass over one word: its largest layer; for ONNX all layers, repeated in a loop."""
    layers = [0]
    for layer in transformer.layers:
        heads = sum(3 * (model.rows + head.wq.shape[1]) + 3 * transformer.width for head in layer.heads)
        layers.append(model.rows * (heads + 6 * transformer.width + 4 * layer.mlp.w1.shape[1]))
    return sum(layers) * (model.steps if model.kind == "plt" else 1) if form == "onnx" else max(layers)


def dense_numbers(transformer: Transformer) -> int:
    """Return the numbers of the torch and ONNX forms."""
    width = transformer.width
    total = transformer.positions.size + width * (transformer.embed.shape[0] + transformer.out.shape[0])
    for layer in transformer.layers:
        total += sum(width * (width + 2 * head.wq.shape[1]) for head in layer.heads)
        total += 2 * width * layer.mlp.w1.shape[1]
    return total


def rotary_numbers(transformer: Transformer) -> int:
    """Return the numbers of a rotary form: positions need columns and layers, a bit per head, a hidden unit per row."""
    return stock_numbers(transformer, columns=32, layers=4, hidden=len(transformer.positions))


def stock_numbers(transformer: Transformer, *, columns: int = 0, layers: int = 0, hidden: int = 0) -> int:
    """Return the numbers of a stock form: all layers have the width of the widest heads together, and may be split."""
    heads = max((len(layer.heads) for layer in transformer.layers), default=0)
    widest = max((_width(head) for layer in transformer.layers for head in layer.heads), default=0)
    width = max(transformer.width + columns, heads * widest)
    hidden = max(hidden, *(layer.mlp.w1.shape[1] for layer in transformer.layers), 0)
    tables = len(transformer.positions) + transformer.embed.shape[0] + transformer.out.shape[0]
    return width * (tables + (2 * len(transformer.layers) + layers) * (4 * width + 2 * hidden))


def _width(head: Head) -> int:
    return max(head.wq.shape[1], min(np.unique(head.wv.row).size, np.unique(head.wv.column).size))


MOST_WORDS = 24
WORK = 1 << 34  # multiplications of the check, so that a large model takes seconds, not hours


def export_model(
    model: Model,
    form: ExportForm,
    folder: str | os.PathLike[str],
    *,
    part: Part | None = None,
    exact: bool = False,
    order: str | None = None,
    rope: RopeChoice | None = None,
    gguf: GgufChoice | None = None,
) -> Path:
    """Write a model in one of the forms of `unmask export`, and return the new folder.

    The export is compared with the model before anything is written, and refused if it would decide differently. `part`
    selects the planner or the predictor of an mdm or smdm; `exact` keeps the integers of F_p (torch and onnx).

    Examples:
        >>> folder = export_model(compile_problem("(a|b)*abb", "mdm", length=8), "bert", "models/abb-bert")
        >>> sorted(file.name for file in folder.iterdir())[:3]
        ['README.md', 'config.json', 'export.json']
    """
    check_free(Path(folder))
    files, _ = export_files(model, form, part=part, exact=exact, order=order, rope=rope, gguf=gguf)
    return write_new_folder(files, folder)


def export_files(
    model: Model,
    form: ExportForm,
    *,
    part: Part | None = None,
    exact: bool = False,
    order: str | None = None,
    rope: RopeChoice | None = None,
    gguf: GgufChoice | None = None,
) -> tuple[Files, dict[str, Any]]:
    """Return the files, and the content of export.json; refuse a form that would decide differently from the model.

    `order` arranges the slots of a stock form, `rope` fixes θ and the head width of a rotary one, `gguf` the
    architecture and the number type of a GGUF file.
    """
    check_options(form, order, rope, gguf)
    name = exported_transformer(model, form, part, exact=exact)
    count = word_count(model)
    check_export_size(model, form, list(model.transformers) if form == "torch" else [name], count)
    words = words_to_compare(model, count)
    if form == "bert":
        return bert_folder(model, name, words, order=order)
    if form in CONTAINERS:
        return rope_folder(model, form, name, words, order=order, choice=rope or RopeChoice())
    if form == "gguf":
        choice = gguf or GgufChoice()
        return gguf_folder(model, name, words, order=order, choice=rope or RopeChoice(), gguf=choice)
    if form == "gpt2":
        return gpt2_folder(model, name, words)
    if form == "albert":
        return albert_folder(model, name, words)
    if form == "torch":
        from unmask.export.torch_folder import torch_folder

        return torch_folder(model, words, exact=exact)
    from unmask.export.onnx_folder import onnx_folder

    return onnx_folder(model, name, words, exact=exact)


def check_options(form: ExportForm, order: str | None, rope: RopeChoice | None, gguf: GgufChoice | None) -> None:
    """Refuse options that this form does not have."""
    if order == "work" and form == "gguf":
        raise UnmaskError(
            "--order work is not offered for gguf; export to eurobert, llama, qwen2, llada, dream or bert"
        )
    if order is not None and form not in ("bert", "gguf", *CONTAINERS):
        raise UnmaskError(f"--order is for bert, gguf, {', '.join(CONTAINERS)}, not for {form}; leave it out")
    if rope not in (None, RopeChoice()) and form not in ("gguf", *CONTAINERS):
        raise UnmaskError(
            f"--rope-theta and --head-dim are for gguf, {', '.join(CONTAINERS)}, not for {form}; leave them out"
        )

    if gguf not in (None, GgufChoice()) and form != "gguf":
        raise UnmaskError(f"--arch and --dtype are for gguf, not for {form}; leave them out")


def word_count(model: Model) -> int:
    """Return the number of words to compare: as many as the limit on work allows, and at least four."""
    cost = 0
    for transformer in model.transformers.values():
        for layer in transformer.layers:
            width = transformer.width
            cost += model.rows * width * (2 * layer.mlp.w1.shape[1] + len(layer.heads) * (width + 2 * model.rows))
    return max(4, min(MOST_WORDS, WORK // max(1, cost * model.steps)))


DIFFUSION_FORMS: tuple[ExportForm, ...] = ("bert", "eurobert", "llama", "qwen2", "llada", "dream")
GGUF_FILES = (GgufChoice("llada", "f32"), GgufChoice("dream", "f16"), GgufChoice("llama", "q8_0"))
CHECKSUMS = "SHA256SUMS"


@dataclass(frozen=True)
class CollectionModel:
    """A model of the collection, and the containers that it is written in."""

    name: str
    problem: str
    kind: Kind
    length: int | None
    order: str | None = None
    forms: tuple[ExportForm, ...] = DIFFUSION_FORMS
    gguf: tuple[GgufChoice, ...] = ()

    def exports(self) -> Iterator[tuple[str, ExportForm, GgufChoice | None]]:
        """Return (name of the folder, form, options of a GGUF file)."""
        for form in self.forms:
            yield f"{self.name}-{form}", form, None
        for choice in self.gguf:
            yield f"{self.name}-gguf-{choice.arch}-{choice.dtype}", "gguf", choice


REFERENCES = (
    CollectionModel("a5-16", "group:A5", "mdm", 16, gguf=GGUF_FILES),
    CollectionModel("s3-16-reversed", "group:S3", "mdm", 16, order="reversed", gguf=GGUF_FILES[:1]),
    CollectionModel("abb-8", "(a|b)*abb", "mdm", 8, gguf=GGUF_FILES[:1]),
    CollectionModel("contains-aba-6", "family:contains-aba", "mdm", 6),
    CollectionModel("abb-8-topk", "(a|b)*abb", "topk", 8, forms=("bert", "eurobert", "llama")),
    CollectionModel("abb-8-cot", "(a|b)*abb", "cot", 8, forms=("gpt2", "llama"), gguf=(GgufChoice("llama", "f32"),)),
)


def write_collection(out: Path, references: tuple[CollectionModel, ...] = REFERENCES) -> list[dict[str, Any]]:
    """Write all folders, an index and the checksums, completely or not at all; return one entry per folder."""
    entries: list[dict[str, Any]] = []
    write_folder(out, collection_files(references, entries), check=check_free)
    return entries


def collection_files(
    references: tuple[CollectionModel, ...], entries: list[dict[str, Any]]
) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of every file, the checksums last, and append an entry for every folder."""
    sums = {}
    for reference in stage("exporting", references):
        model = compile_problem(reference.problem, reference.kind, length=reference.length)
        for name, form, gguf in reference.exports():
            order = None if form == "gpt2" else reference.order
            files, report = export_files(model, form, order=order, gguf=gguf)
            for file, content in files.items():
                sums[f"{name}/{file}"] = sha256(content).hexdigest()
                yield f"{name}/{file}", content
            size = sum(len(content) for content in files.values())
            entries.append({"folder": name, "problem": reference.problem, "bytes": size, "margins": report["margins"]})
    index = index_page(entries).encode()
    yield "README.md", index
    sums["README.md"] = sha256(index).hexdigest()
    yield CHECKSUMS, "".join(f"{sums[path]}  {path}\n" for path in sorted(sums)).encode()


def index_page(entries: list[dict[str, Any]]) -> str:
    """Return the README of the collection."""
    rows = [
        f"| [{entry['folder']}]({entry['folder']}/README.md) | `{entry['problem'].replace('|', chr(92) + '|')}` | "
        f"{entry['bytes'] / 1e6:.1f} | {entry['margins']['float32']} |"
        for entry in entries
    ]
    return "\n".join(
        [
            "# Reference models\n",
            "Compiled models in the containers of several engines. The answers, the least number of passes and the",
            "margin of every decision are known; each card says how its folder is loaded. Check the files with",
            f"`sha256sum -c {CHECKSUMS}`.\n",
            "| folder | problem | MB | least margin, float32 |",
            "|---|---|--:|--:|",
            *rows,
            "",
        ]
    )
