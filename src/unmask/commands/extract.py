"""`unmask extract`: model folder → circuit."""

import json
from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.options import Folder, Json


def extract(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="ASCII AIGER to write.", show_default=False)],
    outputs: Annotated[
        int | None,
        typer.Option("--outputs", metavar="K", min=1, help="How many slots at the end to take."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Read a model's weights as a Boolean circuit: the same answers, on every word of its length.

    The last two outputs are `undecided` (a slot holds neither accept nor reject) and `undefined` (the run fails).

    Example: [bold]unmask extract models/abb --out abb.aag[/bold]
    """
    from unmask.commands.output_file import write_text
    from unmask.console import console
    from unmask.pipeline import load_model
    from unmask.problems.aiger import write_aiger
    from unmask.terminal import working
    from unmask.verification.extracted_circuit import extracted_circuit
    from unmask.verification.outputs import output_count

    model = load_model(folder)
    with working("extracting"):
        circuit = extracted_circuit(model, outputs=outputs or (1 if model.kind == "plt" else output_count(model)))
    write_text(out, write_aiger(circuit))
    sizes = {
        "inputs": len(circuit.inputs),
        "gates": len(circuit.gates),
        "wires": circuit.wires,
        "depth": circuit.depth,
        "outputs": list(circuit.output_names),
    }
    if as_json:
        print(json.dumps({"file": str(out), **sizes}))
    else:
        console().print(
            f"wrote {out}: {sizes['inputs']} inputs, {sizes['gates']} AND and OR gates, depth {sizes['depth']}, "
            f"outputs {', '.join(circuit.output_names)}",
            highlight=False,
            markup=False,
        )
