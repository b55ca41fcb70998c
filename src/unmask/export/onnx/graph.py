"""Graph: nodes over named values, as ONNX has them, and the bytes of the file.

The format is that of protocol buffers, whose few rules are written out here: a field is its number and wire type as a
varint, then a varint, or a length and that many bytes. So writing needs no package, and `onnx.checker` can check it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

IR_VERSION, OPSET = 8, 17
TYPES = {np.dtype("float32"): 1, np.dtype("int64"): 7, np.dtype("bool"): 9}


@dataclass(frozen=True)
class Node:
    """output = op(inputs)."""

    op: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, "int | list[int] | np.ndarray | Graph"] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """An input or output of the graph: a type, and a shape whose named axes are free."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass
class Graph:
    """Built node by node; `constant` and `node` return the name of what they make."""

    name: str
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    _known: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def constant(self, array: np.ndarray | int | list[int]) -> str:
        """A constant; equal ones are stored once."""
        value = np.ascontiguousarray(array)
        value = value.astype(np.float32 if value.dtype.kind == "f" else np.int64).reshape(np.shape(array))
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._known:
            self._known[key] = f"{self.name}_constant_{len(self.constants)}"
            self.constants[self._known[key]] = value
        return self._known[key]

    def node(self, op: str, *inputs: str, **attributes: "int | list[int] | np.ndarray | Graph") -> str:
        output = f"{self.name}_{op}_{len(self.nodes)}"
        self.nodes.append(Node(op, inputs, output, attributes))
        return output

    def result(self, value: str, name: str, dtype: str, shape: tuple[int | str, ...]) -> None:
        """An output of the graph, under a name of its own."""
        self.nodes.append(Node("Identity", (value,), name))
        self.outputs.append(Value(name, dtype, shape))

    @property
    def size(self) -> int:
        """How many nodes, those of inner graphs included."""
        inner = (a for node in self.nodes for a in node.attributes.values() if isinstance(a, Graph))
        return len(self.nodes) + sum(graph.size for graph in inner)


def model_bytes(graph: Graph, about: str) -> bytes:
    """The content of an .onnx file."""
    return b"".join(
        [
            _number(1, IR_VERSION),
            _text(2, "unmask"),
            _text(6, about),
            _part(7, _graph(graph)),
            _part(8, _text(1, "") + _number(2, OPSET)),
        ]
    )


def _graph(graph: Graph) -> bytes:
    return b"".join(
        [
            *(_part(1, _node(node)) for node in graph.nodes),
            _text(2, graph.name),
            *(_part(5, _tensor(name, array)) for name, array in graph.constants.items()),
            *(_part(11, _value(value)) for value in graph.inputs),
            *(_part(12, _value(value)) for value in graph.outputs),
        ]
    )


def _node(node: Node) -> bytes:
    return b"".join(
        [
            *(_text(1, name) for name in node.inputs),
            _text(2, node.output),
            _text(3, node.output),
            _text(4, node.op),
            *(_part(5, _text(1, name) + b"".join(_attribute(value))) for name, value in node.attributes.items()),
        ]
    )


def _attribute(value: "int | list[int] | np.ndarray | Graph") -> Iterator[bytes]:
    if isinstance(value, Graph):
        yield from (_part(6, _graph(value)), _number(20, 5))
    elif isinstance(value, np.ndarray):
        yield from (_part(5, _tensor("", value)), _number(20, 4))
    elif isinstance(value, list):
        yield from (*(_number(8, i) for i in value), _number(20, 7))
    else:
        yield from (_number(3, value), _number(20, 2))


def _tensor(name: str, array: np.ndarray) -> bytes:
    dims = b"".join(_number(1, size) for size in array.shape)
    raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return dims + _number(2, TYPES[array.dtype]) + _text(8, name) + _part(9, raw)


def _value(value: Value) -> bytes:
    axes = (_number(1, axis) if isinstance(axis, int) else _text(2, axis) for axis in value.shape)
    shape = b"".join(_part(1, axis) for axis in axes)
    kind = _number(1, TYPES[np.dtype(value.dtype)]) + _part(2, shape)
    return _text(1, value.name) + _part(2, _part(1, kind))


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1  # negative numbers take ten bytes
    parts = bytearray()
    while n > 0x7F:
        parts.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*parts, n])


def _number(tag: int, n: int) -> bytes:
    return _varint(tag << 3) + _varint(n)


def _part(tag: int, content: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(content)) + content


def _text(tag: int, text: str) -> bytes:
    return _part(tag, text.encode("utf-8", "replace"))
