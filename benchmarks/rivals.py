"""Other programs for the same work: a product tree in NumPy for words, ABC (`berkeley-abc`) for netlist equivalence."""

import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def product_tree(monoid, letters):
    """Return whether each word is accepted, for letter numbers [words, N]: multiply neighbours until one is left."""
    table, size = monoid.product_table.ravel().astype(np.int64), monoid.size
    elements = monoid.generators.astype(np.int64).take(letters)
    while elements.shape[1] > 1:
        if elements.shape[1] % 2:
            elements = np.concatenate([elements, np.full((len(elements), 1), monoid.identity)], axis=1)
        elements = table.take(elements[:, ::2] * size + elements[:, 1::2])
    return monoid.accepting[elements[:, 0]]


def abc_seconds(first, second, *, seconds=300):
    """Return (seconds of `cec` on two circuits with the same inputs, its answer); None if ABC is not installed."""
    program = shutil.which("berkeley-abc") or shutil.which("abc")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, circuit in (("left.blif", first), ("right.blif", second)):
            names.append(str(Path(folder) / name))
            Path(names[-1]).write_text(blif(circuit), encoding="ascii")
        start = children_seconds()
        try:
            command = [program, "-c", f"cec {names[0]} {names[1]}"]
            process = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return seconds, "gives up"
    answer = "proves it" if "are equivalent" in process.stdout else "does not prove it"
    return children_seconds() - start, answer


def children_seconds():
    """Return the CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def blif(circuit):
    """Return a circuit as BLIF, with a table for each gate and for each output."""
    lines = [".model circuit", f".inputs {' '.join(f'n{i + 1}' for i in range(len(circuit.inputs)))}"]
    lines += [f".outputs {' '.join(f'o{i}' for i in range(len(circuit.outputs)))}", ".names n0"]
    for k, gate in enumerate(circuit.gates):
        lines.append(f".names {' '.join(f'n{x >> 1}' for x in gate.inputs)} n{circuit.first_gate + k}")
        if gate.kind == "and":
            lines.append(f"{''.join('01'[not x & 1] for x in gate.inputs)} 1".strip())
        for i, x in enumerate(gate.inputs) if gate.kind == "or" else ():
            lines.append(f"{'-' * i}{'01'[not x & 1]}{'-' * (len(gate.inputs) - i - 1)} 1")
    for i, x in enumerate(circuit.outputs):
        lines += [f".names n{x >> 1} o{i}", f"{'01'[not x & 1]} 1"]
    return "\n".join([*lines, ".end", ""])
