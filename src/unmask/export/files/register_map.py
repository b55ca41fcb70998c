"""Which coordinates of the residual stream are which register, and what each head compares: registers.json.

The names are those of the model folder: comments, on which no result depends.
"""

from typing import Any

import numpy as np

from unmask.export.real.weights import RealTransformer

OF_EVERY_HEAD = ("zero", "minus the sum", "outside", "constant")  # what hides spare rows, and what a norm needs


def register_map(transformer: RealTransformer) -> dict[str, Any]:
    """`columns` in order, `registers` by name, and per layer its heads with the registers that they read and write."""
    names = transformer.names
    registers: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        registers.setdefault(_register(name), []).append(column)
    layers, before = [], None
    for layer in transformer.layers:
        what = f"layer {layer.source}" if layer.source != before else f"outer ReLU of layer {layer.source}"
        what, before = layer.does or what, layer.source
        heads = [
            {
                "head": i,
                "source": head.source,
                "queries": _named(head.wq, names),
                "keys": _named(head.wk, names),
                "reads": _named(head.wv, names),
                "writes": _named(head.wo.T, names),
            }
            for i, head in enumerate(layer.heads)
        ]
        layers.append({"does": what, "heads": heads})
    return {"width": transformer.width, "columns": list(names), "registers": registers, "layers": layers}


def _register(name: str) -> str:
    return name.split(":")[0] if not name.startswith("column ") else name


def _named(matrix: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """The registers whose columns have a weight."""
    registers = (_register(names[column]) for column in np.flatnonzero(matrix.any(axis=1)))
    return [name for name in dict.fromkeys(registers) if name not in OF_EVERY_HEAD]
