"""`unmask extract`: model folder → circuit."""

from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.options import DEFAULT_LIMIT, Folder, Json, LimitOption, TimeoutOption


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
    from unmask.commands.output_file import CIRCUIT, check_writable, write_text
    from unmask.console import console
    from unmask.pipeline import load_model
    from unmask.problems.circuits.aiger import write_aiger
    from unmask.terminal import literal, print_document
    from unmask.verification.circuits.extracted import extracted_circuit
    from unmask.verification.question.standard import answer_count

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
