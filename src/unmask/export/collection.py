"""Reference models → one folder with every container, their cards and a list of checksums, ready to be uploaded.

Each model is written in each container that its kind has. `SHA256SUMS` is written last, in the format of `sha256sum`: a
collection without it is incomplete.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from unmask.budget import stage
from unmask.export.export import export_files
from unmask.export.files.folder import check_free, write_folder
from unmask.export.part import Form
from unmask.export.rope.gguf import GgufChoice
from unmask.pipeline import compile_problem
from unmask.weights.model import Kind

DIFFUSION_FORMS: tuple[Form, ...] = ("bert", "eurobert", "llama", "qwen2", "llada", "dream")
GGUF_FILES = (GgufChoice("llada", "f32"), GgufChoice("dream", "f16"), GgufChoice("llama", "q8_0"))
CHECKSUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Reference:
    """A model of the collection, and the containers that it is written in."""

    name: str
    problem: str
    kind: Kind
    length: int | None
    order: str | None = None
    forms: tuple[Form, ...] = DIFFUSION_FORMS
    gguf: tuple[GgufChoice, ...] = ()

    def exports(self) -> Iterator[tuple[str, Form, GgufChoice | None]]:
        """(name of the folder, form, what a GGUF file is made of)."""
        for form in self.forms:
            yield f"{self.name}-{form}", form, None
        for choice in self.gguf:
            yield f"{self.name}-gguf-{choice.arch}-{choice.dtype}", "gguf", choice


REFERENCES = (
    Reference("a5-16", "group:A5", "mdm", 16, gguf=GGUF_FILES),
    Reference("s3-16-reversed", "group:S3", "mdm", 16, order="reversed", gguf=GGUF_FILES[:1]),
    Reference("abb-8", "(a|b)*abb", "mdm", 8, gguf=GGUF_FILES[:1]),
    Reference("contains-aba-6", "family:contains-aba", "mdm", 6),
    Reference("abb-8-topk", "(a|b)*abb", "topk", 8, forms=("bert", "eurobert", "llama")),
    Reference("abb-8-cot", "(a|b)*abb", "cot", 8, forms=("gpt2", "llama"), gguf=(GgufChoice("llama", "f32"),)),
)


def write_collection(out: Path, references: tuple[Reference, ...] = REFERENCES) -> list[dict[str, Any]]:
    """Write all folders, an index and the checksums; return one entry per folder."""
    check_free(out)
    entries = []
    for reference in stage("exporting", references):
        model = compile_problem(reference.problem, reference.kind, length=reference.length)
        for name, form, gguf in reference.exports():
            order = None if form == "gpt2" else reference.order
            files, report = export_files(model, form, order=order, gguf=gguf)
            write_folder(files, out / name)
            size = sum(len(content) for content in files.values())
            margins = report.get("margins", {"float32": report["agreement"]["least_margin"]})
            entries.append({"folder": name, "problem": reference.problem, "bytes": size, "margins": margins})
    (out / "README.md").write_text(index_page(entries), encoding="utf-8")
    listed = [
        f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(out).as_posix()}\n"
        for path in sorted(out.rglob("*"))
        if path.is_file()
    ]
    (out / CHECKSUMS).write_text("".join(listed), encoding="utf-8")
    return entries


def index_page(entries: list[dict[str, Any]]) -> str:
    """The README of the collection."""
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
