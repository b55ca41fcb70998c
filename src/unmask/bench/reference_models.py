"""The reference models of the bench: a fixed set of rows, and row × form → the files of a bench folder.

A row is data: a new model is a new row. `VERSION` changes when a row or the truth about it changes, so that cached
folders of other versions are not used.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.bench.loaded_model import DESCRIPTION, FORMAT, RESIDUAL, UNJUDGED, BenchError
from unmask.errors import UnmaskError, shortened

VERSION = 2
PROGRAMS = Path(__file__).parent / "programs"
WORDS = 16
SEED = 0
MOST_BYTES = 5_000_000
FORMS = ("bert", "eurobert", "llama", "qwen2", "llada", "dream")
"""Forms that a bench folder can have; `llada` and `dream` need the published modelling files to be loaded."""
AUTO_CLASSES = {"bert": "AutoModelForMaskedLM", "eurobert": "AutoModelForMaskedLM"}


@dataclass(frozen=True)
class ReferenceRow:
    """A reference model: what it computes, how its slots are arranged, and which set it belongs to.

    `shape` says how slots depend on each other; `hops` is the number of tree levels that one pass computes.
    """

    name: str
    problem: str
    length: int
    shape: str
    form: str = "bert"
    order: str | None = None
    hops: int = 1
    quick: bool = False

    @property
    def source(self) -> str:
        """Return the PROBLEM; a file of this package is named by its path."""
        prefix, _, file = self.problem.partition(":")
        return f"{prefix}:{PROGRAMS / file}" if prefix in ("program", "cfg") else self.problem


REFERENCE_MODELS = (
    ReferenceRow("tree-16", "group:S4", 16, "tree", quick=True),
    ReferenceRow("tree-16-reversed", "group:S4", 16, "tree", order="reversed", quick=True),
    ReferenceRow("regex-16", "(a|b)*abb", 16, "tree", form="eurobert", quick=True),
    ReferenceRow("grid-6", "program:grid.py", 6, "grid", quick=True),
    ReferenceRow("in-place-12", "program:smallest.py", 12, "in place", quick=True),
    ReferenceRow("hops-16-skip", "group:S3", 16, "tree", order="skip", hops=2, quick=True),
    ReferenceRow("hops-16-work", "group:S3", 16, "tree", order="work", hops=2, quick=True),
    ReferenceRow("hops-16-reversed", "(a|b)*abb", 16, "tree", order="reversed", hops=2),
    ReferenceRow("rotary-hops-16-skip", "(a|b)*abb", 16, "tree", form="eurobert", order="skip", hops=2),
    ReferenceRow("rotary-hops-16-work", "(a|b)*abb", 16, "tree", form="eurobert", order="work", hops=2),
    ReferenceRow("tree-64", "group:S4", 64, "tree"),
    ReferenceRow("tree-64-reversed", "group:S3", 64, "tree", order="reversed"),
    ReferenceRow("rotary-16-reversed", "group:S3", 16, "tree", form="eurobert", order="reversed"),
    ReferenceRow("chain-12", "program:chain.py", 12, "chain"),
    ReferenceRow("grid-12", "program:grid.py", 12, "grid"),
    ReferenceRow("resets-12", "program:resets.py", 12, "in place, order depends on the word"),
    ReferenceRow("addition-12", "program:addition.py", 12, "carry"),
    ReferenceRow("grammar-6", "cfg:brackets.cfg", 6, "CYK"),
)


def reference_row(name: str) -> ReferenceRow:
    """Return the row of this name."""
    for row in REFERENCE_MODELS:
        if row.name == name:
            return row
    raise UnmaskError(
        f"unknown reference model {shortened(name)!r}; `unmask bench list` names {len(REFERENCE_MODELS)} models"
    )


def chosen_rows(models: str) -> tuple[ReferenceRow, ...]:
    """Return the rows of `quick`, of `full`, or of names separated by commas."""
    if models in ("quick", "full"):
        return tuple(row for row in REFERENCE_MODELS if row.quick or models == "full")
    return tuple(reference_row(name.strip()) for name in models.split(","))


def reference_files(row: ReferenceRow, form: str | None = None) -> dict[str, bytes]:
    """Compile and export a model, and describe it: the files of a bench folder without `check.py`."""
    from safetensors.numpy import save

    from unmask.export.export_model import export_files
    from unmask.export.export_task import work_slots
    from unmask.export.folder_files import as_json
    from unmask.samplers.problem_subject import Subject

    form = form or row.form
    if form not in FORMS:
        raise UnmaskError(f"a bench folder cannot have the form {shortened(form)!r}; use one of {', '.join(FORMS)}")
    subject = Subject.of(row.source, row.length, words=WORDS, seed=SEED, hops=row.hops)
    subject = replace(subject, read_only=work_slots(subject.predictor.model, row.order))
    files, report = export_files(subject.predictor.model, form, order=row.order)
    described = bench_description(row, form, subject, files, report)
    streams = residual_streams(files, form, np.array(described["words"][0]["input_ids"]))
    stored = {f"layers.{layer}": np.ascontiguousarray(stream) for layer, stream in enumerate(streams)}
    return {**files, DESCRIPTION: as_json(described), RESIDUAL: save(stored)}


def residual_streams(files: dict[str, bytes], form: str, ids: np.ndarray) -> list[np.ndarray]:
    """Return the residual stream after each layer in the first pass of a word, [rows, width], computed with NumPy."""
    import json

    from safetensors.numpy import load

    from unmask.bench.ablated_bert import AblatedBert

    if form == "bert":
        return AblatedBert.of(files, 1).forward(ids).streams
    from unmask.export.real_transformer import rounding
    from unmask.export.rope_folder import CONTAINERS
    from unmask.export.rope_transformer import residual

    weights = CONTAINERS[form].read_back(load(files["model.safetensors"]), json.loads(files["config.json"]))
    exact = rounding("float32")
    return [residual(weights, ids[None], layer + 1, exact)[0] for layer in range(len(weights.layers))]


def bench_description(
    row: ReferenceRow, form: str, subject: Any, files: dict[str, bytes], report: dict[str, Any]
) -> dict[str, Any]:
    """Return the content of bench.json; its schema is bench.schema.json."""
    import json

    from unmask.samplers.problem_subject import dependencies

    model, config = subject.predictor.model, json.loads(files["config.json"])
    work, vocabulary = report.get("work", {"slots": 0}), json.loads(files["tokenizer.json"])["model"]["vocab"]
    mask, order = subject.predictor.mask_id, np.array(report["slots"])[work["slots"] :]
    depends = dependencies(subject)
    if depends is None:
        raise BenchError(f"{row.name} is too large to find out which slot reads which")
    begin = config["bos_token_id"] if "rope" in report and model.begin is None else None
    front = [] if begin is None else [begin]
    read_only = [vocabulary[work["token"]]] * work["slots"] if work["slots"] else []
    write_once = not any(_edits(subject.own, b) for b in range(len(subject.words)))
    reads = depends[:, order][:, :, order]
    same_reads = bool((reads == reads[0]).all())
    prompts = [[*front, *model_begin(model), *word.tolist(), *read_only] for word in subject.predictor.words]
    words = list(_described_words(subject, order, reads, prompts, write_once=write_once))
    if same_reads:
        for word in words:
            del word["reads"]
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": row.name,
        "problem": row.problem,
        "length": row.length,
        "shape": row.shape,
        "slot_order": row.order or "heap",
        "hops": row.hops,
        "form": form,
        "auto_class": AUTO_CLASSES.get(form, "AutoModelForCausalLM"),
        "shifted": bool(report.get("shifted", False)),
        "write_once": write_once,
        "mask_token_id": mask,
        "pad_token_id": config["pad_token_id"],
        "begin_token_id": begin,
        "prompt_length": subject.predictor.first_row + len(front) + len(read_only),
        "slots": len(order),
        "max_rows": report["max_rows"],
        "answer_slot": report["answer_slot"] - len(read_only),
        "least_passes": max(word["least_passes"] for word in words),
        "most_frequent_answer": subject.chance,
        "reads": _lists(reads[0]) if same_reads else None,
        "residual": {"file": RESIDUAL, "word": 0},
        "words": words,
    }


def _described_words(
    subject: Any, order: np.ndarray, reads: np.ndarray, prompts: list[list[int]], *, write_once: bool
) -> Iterator[dict[str, Any]]:
    """Yield the truth about every word: right values, what a slot reads, and the earliest pass of every slot."""
    mask = subject.predictor.mask_id
    values = np.where(subject.expected == mask, UNJUDGED, subject.expected)[:, order]
    for b, text in enumerate(subject.words):
        earliest = _first_passes(reads[b], values[b]) if write_once else subject.own.step_map[b, order]
        yield {
            "text": text,
            "input_ids": [*prompts[b], *[mask] * len(order)],
            "answer": subject.answers[b],
            "values": values[b].tolist(),
            "reads": _lists(reads[b]),
            "earliest": earliest.tolist(),
            "least_passes": int(earliest.max()),
        }


def model_begin(model: Any) -> list[int]:
    """Return the begin symbol of the model itself, which precedes the input."""
    return [] if model.begin is None else [model.token[model.begin]]


def _edits(sample: Any, row: int) -> bool:
    slots = [write.slot for write in sample.writes(row)]
    return len(slots) > len(set(slots))


def _lists(reads: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in reads]


def _first_passes(reads: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return 1 + the length of the longest chain of reads; 0 for a slot without a right value."""
    passes = np.zeros(len(values), dtype=np.int64)
    for _ in range(len(values) + 1):
        longest = 1 + np.where(reads, passes[None, :], 0).max(axis=1, initial=0)
        later = np.where(values == UNJUDGED, 0, longest)
        if np.array_equal(later, passes):
            return passes
        passes = later
    raise BenchError("slots read each other in a circle")
