"""`unmask compile`, `unmask convert`, `unmask extract`: problem → model folder → model folder or circuit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.options import (
    DEFAULT_LIMIT,
    KIND_NAMES,
    Folder,
    HopsOption,
    Json,
    LimitOption,
    PrecisionOption,
    ProblemArgument,
    TimeoutOption,
    budgeted,
    complete_theorem,
)
from unmask.cli.output_files import CIRCUIT, check_writable, write_text
from unmask.cli.terminal import console, literal, print_document
from unmask.errors import UnmaskError
from unmask.weights.kinds import Kind

if TYPE_CHECKING:
    from unmask.theorems.theorem import Theorem
    from unmask.weights.model import Model


# `unmask compile`: PROBLEM → model folder.


def compile_(
    problem: ProblemArgument,
    to: Annotated[Kind, typer.Option("--to", metavar="KIND", help=f"Framework: {KIND_NAMES}.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Model folder to write.", show_default=False)],
    length: Annotated[
        int | None,
        typer.Option(
            "--length",
            metavar="N",
            help="Length of the input words; circuits and expressions have their own.",
            show_default=False,
        ),
    ] = None,
    precision: PrecisionOption = 2,
    hops: HopsOption = 1,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Compile PROBLEM into a model folder.

    Example: [bold]unmask compile '(a|b)*abb' --length 16 --to mdm --out models/abb[/bold]
    """
    from unmask.api import check_replaceable, compile_problem, save_model

    check_replaceable(out)
    with budgeted("compiling", limit=limit, timeout=timeout, as_json=as_json):
        model = compile_problem(problem, to, length=length, precision=precision, hops=hops)
        save_model(model, out)
    show_compiled(model, out, as_json=as_json)


def show_compiled(model: "Model", folder: Path, *, as_json: bool) -> None:
    """Print one line about a model that was just written."""
    from unmask.weights.storage import stored_hash

    widest = max(model.transformers.values(), key=lambda t: t.width)
    facts = {
        "folder": str(folder),
        "reasoner": model.kind,
        "precision": model.precision.p,
        "length": model.length,
        "steps": model.steps,
        "padding": model.padding,
        "width": widest.width,
        "layers": max(len(t.layers) for t in model.transformers.values()),
        "parameters": sum(t.parameters for t in model.transformers.values()),
        "layout": chosen_layout(model),
    }
    if as_json:
        print_document({**facts, "hash": stored_hash(model, folder)})
        return
    console().print(
        f"[bold]{literal(folder)}[/bold]: {model.kind}, "
        f"N = {model.length}, T = {model.steps}, P = {model.padding}, "
        f"width {facts['width']}, {facts['layers']} layers, {facts['parameters']} nonzero weights, "
        f"F_{model.precision.p}"
    )
    if facts["layout"] is not None:
        console().print(f"[dim]{literal(facts['layout'])}[/dim]")


def chosen_layout(model: "Model") -> str | None:
    """Return which layout the compiler chose for a regular problem, and why."""
    first_entry = model.provenance[0] if isinstance(model.provenance, list) and model.provenance else {}
    return first_entry.get("layout") if isinstance(first_entry, dict) else None


# `unmask convert`: model folder → model folder of another framework.


def convert(
    folder: Folder,
    to: Annotated[Kind, typer.Option("--to", metavar="KIND", help=f"Framework: {KIND_NAMES}.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR2", help="Model folder to write.", show_default=False)],
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="STEM", help="Use this conversion, such as mdm_to_plt.", autocompletion=complete_theorem
        ),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Convert a model into another framework, as the paper's theorems do, and print what each conversion costs.

    Example: [bold]unmask convert models/abb --to plt --out models/abb-plt[/bold]
    """
    from unmask.api import check_replaceable, convert_model, load_model, save_model

    model = load_model(folder)
    check_replaceable(out)
    if out.exists() and out.resolve() == folder.resolve():
        raise UnmaskError(
            f"--out is the source folder itself, {out}; choose another folder, so that the source is kept"
        )
    hops = []
    with budgeted("converting", limit=limit, timeout=timeout):
        for theorem, conversion in convert_model(model, to, by=by):
            hops.append(show_hop(theorem, model, conversion.model, quiet=as_json))
            model = conversion.model
        save_model(model, out)
    if as_json:
        print_document({"folder": str(out), "hops": hops})


def show_hop(theorem: "Theorem", source: "Model", result: "Model", *, quiet: bool) -> dict[str, Any]:
    """Print one line about a conversion, its cost next to the bounds. Return the same as JSON."""
    from unmask.theorems.theorem import SourceSize
    from unmask.weights.model import Price

    price, bound, law = Price.of(result), theorem.bound(source), theorem.law(source)
    facts = {
        "by": theorem.stem,
        "label": theorem.label,
        "from": theorem.source,
        "to": theorem.target,
        **price.to_json(),
        "bound": bound.to_json(),
        "within_bound": price.within(bound),
        "growth": theorem.growth(SourceSize.of(source)).to_json(),
        "law": None if law is None else law.to_json(),
    }
    if not quiet:
        before = Price.of(source)
        console().print(
            f"[bold]{theorem.stem}[/bold] ({theorem.label}): "
            f"steps {before.steps} → {price.steps} (<= {bound.steps}), "
            f"space {before.padding} → {price.padding} (<= {bound.padding}), "
            f"layers {before.layers} → {price.layers} (<= {bound.layers}), "
            f"width {before.width} → {price.width} (<= {bound.width}, {facts['growth']['width']}), "
            f"symbols {before.symbols} → {price.symbols} (<= {bound.symbols})"
        )
        if law is not None:
            console().print(law.description)
    return facts


# `unmask extract`: model folder → circuit.


def extract(
    folder: Folder,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Circuit file to write, in ASCII AIGER.", show_default=False)
    ],
    outputs: Annotated[
        int | None,
        typer.Option("--outputs", metavar="K", min=1, help="Number of slots at the end that are outputs."),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Extract a Boolean circuit from the weights of a model. It gives the same answers on every word of its length.

    The last two outputs are `undecided` (a slot holds neither accept nor reject) and `undefined` (the run fails).

    Example: [bold]unmask extract models/abb --out abb.aag[/bold]
    """
    from unmask.api import load_model
    from unmask.problems.circuits.circuit_files import write_aiger
    from unmask.verification.words.deciders import extracted_circuit
    from unmask.verification.words.references import answer_count

    check_writable(out, "circuit.aag", earlier=CIRCUIT)
    with budgeted("extracting", limit=limit, timeout=timeout):
        model = load_model(folder)
        circuit = extracted_circuit(model, outputs=outputs or answer_count(model))
        text = write_aiger(circuit)
    write_text(out, text, earlier=CIRCUIT)
    sizes = {
        "inputs": len(circuit.inputs),
        "gates": len(circuit.gates),
        "wires": circuit.wires,
        "depth": circuit.depth,
        "outputs": list(circuit.output_names),
    }
    if as_json:
        print_document({"file": str(out), **sizes})
    else:
        console().print(
            f"wrote {literal(out)}: {sizes['inputs']} inputs, {sizes['gates']} AND and OR gates, "
            f"depth {sizes['depth']}, outputs {literal(', '.join(circuit.output_names))}"
        )
