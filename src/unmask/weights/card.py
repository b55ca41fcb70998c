"""Model → what it is, in a line or as a small table of HTML; what a folder says of itself is quoted, not trusted."""

import json
from html import escape
from typing import TYPE_CHECKING

from unmask.errors import shortened

if TYPE_CHECKING:
    from unmask.weights.model import Model
    from unmask.weights.transformer import Transformer

LONGEST = 80


def line_of(model: "Model") -> str:
    """`Model(mdm, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb)`."""
    sizes = f"N = {model.length}, P = {model.padding}, T = {model.steps}, F_{model.precision.p}"
    return f"Model({model.kind}, {sizes}, {origin_of(model)})"


def table_of(model: "Model") -> str:
    """The same, with the widths of its transformers, for a notebook."""
    rows = [
        ("kind", model.kind),
        ("problem", origin_of(model)),
        ("N, letters of a word", str(model.length)),
        ("P, slots or pads", str(model.padding)),
        ("T, steps", str(model.steps)),
        ("precision", f"F_{model.precision.p}"),
        ("vocabulary", f"{len(model.vocabulary)} symbols, {len(model.input_symbols)} of them letters"),
        *((name, _size_of(transformer)) for name, transformer in model.transformers.items()),
    ]
    cells = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return f"<table>{cells}</table>"


def origin_of(model: "Model") -> str:
    """What it was compiled from and converted by, as its folder says: comments, which nothing else relies on."""
    made = model.provenance if isinstance(model.provenance, list) else []
    told = [entry.get("compiled") or entry.get("converted") for entry in made if isinstance(entry, dict)]
    words = [word for word in told if isinstance(word, str)]
    if not words and model.problem:
        words = [json.dumps(model.problem, ensure_ascii=False)]
    return shortened(" → ".join(words) or "no problem named", most=LONGEST)


def _size_of(transformer: "Transformer") -> str:
    heads = sum(len(layer.heads) for layer in transformer.layers)
    sizes = {"width": transformer.width, "layers": len(transformer.layers), "heads": heads}
    return ", ".join(f"{name} {size}" for name, size in sizes.items()) + f"; {transformer.parameters} nonzero weights"
