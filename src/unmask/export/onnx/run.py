"""A graph of ONNX, node by node in NumPy: the check at export needs no runtime."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unmask.export.onnx.graph import Graph, Node
from unmask.export.real.forward import softmax

Values = dict[str, np.ndarray]


def run_graph(graph: Graph, inputs: Mapping[str, np.ndarray], outer: Mapping[str, np.ndarray] | None = None) -> Values:
    """The outputs by name."""
    values: Values = {**(outer or {}), **graph.constants, **inputs}
    for node in graph.nodes:
        values[node.output] = _node(node, values)
    return {value.name: values[value.name] for value in graph.outputs}


def _node(node: Node, values: Values) -> np.ndarray:
    x = [values[name] for name in node.inputs]
    if node.op == "Scan":
        return _scan(node, x, values)
    with np.errstate(invalid="ignore"):
        return OPERATORS[node.op](*x, **node.attributes)


def _scan(node: Node, x: list[np.ndarray], values: Values) -> np.ndarray:
    body = node.attributes["body"]
    assert isinstance(body, Graph)
    state, *scanned = x
    names = [value.name for value in body.inputs]
    for parts in zip(*scanned, strict=True):
        (state,) = run_graph(body, dict(zip(names, (state, *parts), strict=True)), values).values()
    return state


def _reshape(x: np.ndarray, shape: np.ndarray, allowzero: int = 0) -> np.ndarray:  # noqa: ARG001
    return x.reshape(shape.tolist())


OPERATORS: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "Cast": lambda x, to: x.astype({7: np.int64, 9: np.bool_}[to]),
    "Clip": np.clip,
    "Concat": lambda *x, axis: np.concatenate(x, axis=axis),
    "ConstantOfShape": lambda shape, value: np.full(shape.tolist(), value[0]),
    "Div": lambda x, y: x // y,  # numbers that are not negative
    "Equal": np.equal,
    "Gather": lambda x, index, axis=0: np.take(x, index, axis=axis),
    "Identity": lambda x: x,
    "MatMul": np.matmul,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "ReduceSum": lambda x, axes, keepdims: x.sum(axis=tuple(axes.tolist()), keepdims=bool(keepdims)),
    "Relu": lambda x: np.maximum(x, 0),
    "Reshape": _reshape,
    "Shape": lambda x: np.array(x.shape, dtype=np.int64),
    "Sign": np.sign,
    "Slice": lambda x, first, last: x[int(first[0]) : int(last[0])],
    "Softmax": lambda x, axis: softmax(x),  # noqa: ARG005
    "Sub": np.subtract,
    "Transpose": lambda x, perm: np.transpose(x, perm),
    "Trilu": lambda x, upper: np.tril(x),  # noqa: ARG005
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes.tolist())),
    "Where": np.where,
}
