"""Model → an ONNX folder: one pass of one transformer as a graph, plain or exact, and a card with a program.

    plain   MatMul, Softmax, Relu, over the repaired weights, in float32
    exact   F_p in 64-bit integers; a sum that clips after every addition is a Scan: state' = clip(state + [a_k·b_k])

A row whose exponentials all underflow is an error in F_p. A graph cannot raise errors, so the exact form has a second
output, `divided_by_zero`: the number of such rows. Its logits are valid only if that number is 0.

The file is a protocol buffer: a field is its number and wire type as a varint, then a varint, or a length and that many
bytes. Writing it needs no package. The check at export evaluates the graph in this module, without a runtime. The
program on the card reads a word and prints its answer; it needs onnxruntime, NumPy and export.json.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unmask.export.agreement import (
    ExportDisagreement,
    ObservedPass,
    compare_passes,
    logit_scale,
    observe_passes,
    planned_order,
)
from unmask.export.folder_files import Files, as_json, as_text, plain_card, register_map, summary, written_word
from unmask.export.real_transformer import RealTransformer, in_batches, layers_in_order, real_weights, repaired, softmax
from unmask.export.tokenizer import token_names
from unmask.export.torch_folder import EXACT_LOGIT_SCALE, merge_agreements, scaled_threshold
from unmask.numerics.arithmetic import exp_table
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Head, Layer, Transformer

IR_VERSION, OPSET = 8, 17
TYPES = {np.dtype("float32"): 1, np.dtype("int64"): 7, np.dtype("bool"): 9}


@dataclass(frozen=True)
class GraphNode:
    """output = op(inputs)."""

    op: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, "int | list[int] | np.ndarray | Graph"] = field(default_factory=dict)


@dataclass(frozen=True)
class GraphValue:
    """An input or output of the graph: a type, and a shape whose named axes are free."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass
class Graph:
    """Built node by node; `constant` and `node` return the name of the new value."""

    name: str
    inputs: list[GraphValue] = field(default_factory=list)
    outputs: list[GraphValue] = field(default_factory=list)
    nodes: list[GraphNode] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    _names_of_constants: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def constant(self, array: np.ndarray | int | list[int]) -> str:
        """Add a constant and return its name; equal constants are stored once."""
        value = np.ascontiguousarray(array)
        value = value.astype(np.float32 if value.dtype.kind == "f" else np.int64).reshape(np.shape(array))
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._names_of_constants:
            self._names_of_constants[key] = f"{self.name}_constant_{len(self.constants)}"
            self.constants[self._names_of_constants[key]] = value
        return self._names_of_constants[key]

    def node(self, op: str, *inputs: str, **attributes: "int | list[int] | np.ndarray | Graph") -> str:
        output = f"{self.name}_{op}_{len(self.nodes)}"
        self.nodes.append(GraphNode(op, inputs, output, attributes))
        return output

    def result(self, value: str, name: str, dtype: str, shape: tuple[int | str, ...]) -> None:
        """Declare a value as an output of the graph, under another name."""
        self.nodes.append(GraphNode("Identity", (value,), name))
        self.outputs.append(GraphValue(name, dtype, shape))

    @property
    def size(self) -> int:
        """The number of nodes, including those of inner graphs."""
        inner = (a for node in self.nodes for a in node.attributes.values() if isinstance(a, Graph))
        return len(self.nodes) + sum(graph.size for graph in inner)


def model_bytes(graph: Graph, about: str) -> bytes:
    """Return the content of an .onnx file."""
    return b"".join(
        [
            _varint_field(1, IR_VERSION),
            _text_field(2, "unmask"),
            _text_field(6, about),
            _bytes_field(7, _graph_bytes(graph)),
            _bytes_field(8, _text_field(1, "") + _varint_field(2, OPSET)),
        ]
    )


def _graph_bytes(graph: Graph) -> bytes:
    return b"".join(
        [
            *(_bytes_field(1, _node_bytes(node)) for node in graph.nodes),
            _text_field(2, graph.name),
            *(_bytes_field(5, _tensor_bytes(name, array)) for name, array in graph.constants.items()),
            *(_bytes_field(11, _value_bytes(value)) for value in graph.inputs),
            *(_bytes_field(12, _value_bytes(value)) for value in graph.outputs),
        ]
    )


def _node_bytes(node: GraphNode) -> bytes:
    return b"".join(
        [
            *(_text_field(1, name) for name in node.inputs),
            _text_field(2, node.output),
            _text_field(3, node.output),
            _text_field(4, node.op),
            *(
                _bytes_field(5, _text_field(1, name) + b"".join(_attribute(value)))
                for name, value in node.attributes.items()
            ),
        ]
    )


def _attribute(value: "int | list[int] | np.ndarray | Graph") -> Iterator[bytes]:
    if isinstance(value, Graph):
        yield from (_bytes_field(6, _graph_bytes(value)), _varint_field(20, 5))
    elif isinstance(value, np.ndarray):
        yield from (_bytes_field(5, _tensor_bytes("", value)), _varint_field(20, 4))
    elif isinstance(value, list):
        yield from (*(_varint_field(8, i) for i in value), _varint_field(20, 7))
    else:
        yield from (_varint_field(3, value), _varint_field(20, 2))


def _tensor_bytes(name: str, array: np.ndarray) -> bytes:
    dims = b"".join(_varint_field(1, size) for size in array.shape)
    raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return dims + _varint_field(2, TYPES[array.dtype]) + _text_field(8, name) + _bytes_field(9, raw)


def _value_bytes(value: GraphValue) -> bytes:
    axes = (_varint_field(1, axis) if isinstance(axis, int) else _text_field(2, axis) for axis in value.shape)
    shape = b"".join(_bytes_field(1, axis) for axis in axes)
    kind = _varint_field(1, TYPES[np.dtype(value.dtype)]) + _bytes_field(2, shape)
    return _text_field(1, value.name) + _bytes_field(2, _bytes_field(1, kind))


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1  # negative numbers take ten bytes
    content = bytearray()
    while n > 0x7F:
        content.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*content, n])


def _varint_field(tag: int, n: int) -> bytes:
    return _varint(tag << 3) + _varint(n)


def _bytes_field(tag: int, content: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(content)) + content


def _text_field(tag: int, text: str) -> bytes:
    return _bytes_field(tag, text.encode("utf-8", "replace"))


Values = dict[str, np.ndarray]


def run_graph(graph: Graph, inputs: Mapping[str, np.ndarray], outer: Mapping[str, np.ndarray] | None = None) -> Values:
    """Evaluate a graph and return its outputs by name."""
    values: Values = {**(outer or {}), **graph.constants, **inputs}
    for node in graph.nodes:
        values[node.output] = _run_node(node, values)
    return {value.name: values[value.name] for value in graph.outputs}


def _run_node(node: GraphNode, values: Values) -> np.ndarray:
    x = [values[name] for name in node.inputs]
    if node.op == "Scan":
        return _run_scan(node, x, values)
    with np.errstate(invalid="ignore"):
        return OPERATORS[node.op](*x, **node.attributes)


def _run_scan(node: GraphNode, x: list[np.ndarray], values: Values) -> np.ndarray:
    body = node.attributes["body"]
    assert isinstance(body, Graph)
    state, *scanned = x
    names = [value.name for value in body.inputs]
    for slices in zip(*scanned, strict=True):
        (state,) = run_graph(body, dict(zip(names, (state, *slices), strict=True)), values).values()
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


TOKENS = GraphValue("tokens", "int64", ("batch", "rows"))


def plain_graph(transformer: RealTransformer, loops: int) -> Graph:
    """Build the float graph; the layers of a loop are written out `loops` times, with one copy of their weights."""
    graph = Graph("plain", [TOKENS])
    H = _embedded(graph, transformer.embed.astype(np.float32), transformer.positions.astype(np.float32))
    for layer in layers_in_order(transformer, loops):
        G = H
        for head in layer.heads:
            Q, K, V = (graph.node("MatMul", H, graph.constant(w)) for w in (head.wq, head.wk, head.wv))
            scores = graph.node("MatMul", Q, graph.node("Transpose", K, perm=[0, 2, 1]))
            if transformer.causal:
                scores = graph.node(
                    "Where", _causal_mask(graph), scores, graph.constant(np.array(-np.inf, dtype=np.float32))
                )
            mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), V)
            G = graph.node("Add", G, graph.node("MatMul", mixed, graph.constant(head.wo)))
        mlp = layer.mlp
        hidden = graph.node("Add", graph.node("MatMul", G, graph.constant(mlp.w1)), graph.constant(mlp.b1))
        inner = graph.node("MatMul", graph.node("Relu", hidden), graph.constant(mlp.w2))
        H = graph.node("Add", G, graph.node("Relu", graph.node("Add", inner, graph.constant(mlp.b2))))
    logits = graph.node("MatMul", H, graph.constant(np.ascontiguousarray(transformer.out.T)))
    graph.result(logits, "logits", "float32", ("batch", "rows", len(transformer.out)))
    return graph


def exact_graph(transformer: Transformer, loops: int) -> Graph:
    """Build the integer graph; its arithmetic is that of `Numbers` in `export/torch_exact_numbers.py`."""
    return _ExactGraphBuilder(transformer).graph(loops)


def _embedded(graph: Graph, embed: np.ndarray, positions: np.ndarray) -> str:
    """Add embed[tokens] + the first rows of the position table."""
    rows = graph.node("Slice", graph.node("Shape", "tokens"), *map(graph.constant, ([1], [2])))
    places = graph.node("Slice", graph.constant(positions), graph.constant([0]), rows)
    return graph.node("Add", graph.node("Gather", graph.constant(embed), "tokens"), places)


def _causal_mask(graph: Graph) -> str:
    """Add the mask of the rows that each row may read, [rows, rows]; its triangle is built once."""
    ones_below = next((node.output for node in graph.nodes if node.attributes.get("upper") == 0), None)
    if ones_below is not None:
        return graph.node("Cast", ones_below, to=9)
    rows = graph.node("Slice", graph.node("Shape", "tokens"), *map(graph.constant, ([1], [2])))
    ones = graph.node("ConstantOfShape", graph.node("Concat", rows, rows, axis=0), value=np.ones(1, dtype=np.int64))
    return graph.node("Cast", graph.node("Trilu", ones, upper=0), to=9)


class _ExactGraphBuilder:
    def __init__(self, transformer: Transformer) -> None:
        self.transformer, self.precision = transformer, transformer.precision
        self.g = Graph("exact", [TOKENS])
        self.zero_rows: list[str] = []

    def graph(self, loops: int) -> Graph:
        t, g = self.transformer, self.g
        H = self.clip(_embedded(g, t.embed.dense(), t.positions.astype(np.int64)))
        for layer in self._order(loops):
            H = self.layer(layer, H)
        g.result(self.times(H, t.out.transposed()), "logits", "int64", ("batch", "rows", t.out.shape[0]))
        counted = g.constant([0])
        for rows in self.zero_rows:
            counted = g.node("Add", counted, rows)
        g.result(counted, "divided_by_zero", "int64", (1,))
        return g

    def _order(self, loops: int) -> Iterator[Layer]:
        layers = self.transformer.layers
        first, last = self.transformer.loop or (0, 0)
        yield from (*layers[:first], *(layers[first:last] * loops), *layers[last:])

    def layer(self, layer: Layer, H: str) -> str:
        g, heads = self.g, None
        for head in layer.heads:
            attended = self.attend(H, head)
            heads = attended if heads is None else self.add(heads, attended)
        G = H if heads is None else self.add(heads, H)
        if not len(layer.mlp.b1):  # no hidden unit: the bias alone
            return self.add(G, self.positive(g.constant(layer.mlp.b2)))
        hidden = self.positive(g.node("Add", self.times(G, layer.mlp.w1), g.constant(layer.mlp.b1)))
        inner = g.node("Add", self.times(hidden, layer.mlp.w2), g.constant(layer.mlp.b2))
        return self.add(G, self.positive(inner))

    def attend(self, H: str, head: Head) -> str:
        g, one, bound = self.g, self.precision.one, self.precision.bound
        Q, K, V = (self.times(H, w) for w in (head.wq, head.wk, head.wv))
        first = [2, 0, 1]
        scores = self.scan(g.node("Transpose", Q, perm=first), g.node("Transpose", K, perm=first))
        table = g.constant(np.asarray(exp_table(self.precision), dtype=np.int64))
        powers = g.node("Gather", table, g.node("Add", scores, g.constant(bound)))
        if self.transformer.attention == "causal":
            powers = g.node("Where", _causal_mask(g), powers, g.constant(0))
        Z = g.node("Min", g.node("ReduceSum", powers, g.constant([2]), keepdims=1), g.constant(bound))
        is_zero = g.node("Cast", g.node("Equal", Z, g.constant(0)), to=7)
        self.zero_rows.append(
            g.node("ReduceSum", g.node("Reshape", is_zero, g.constant([-1])), g.constant([0]), keepdims=1)
        )
        Z = g.node("Max", Z, g.constant(1))
        doubled = g.node("Add", g.node("Mul", powers, g.constant(2 * one)), g.node("Sub", Z, g.constant(1)))
        weights = self.clip(g.node("Div", doubled, g.node("Mul", Z, g.constant(2))))
        return self.scan(g.node("Transpose", weights, perm=first), g.node("Transpose", V, perm=[1, 0, 2]))

    def times(self, x: str, matrix: Matrix) -> str:
        """Add x × W over the rows of W that are not 0, in their order."""
        g = self.g
        used = np.unique(matrix.row) if matrix.nonzeros else np.zeros(1, dtype=np.int64)
        flat = g.node("Reshape", g.node("Gather", x, g.constant(used), axis=2), g.constant([-1, len(used)]))
        a = g.node("Unsqueeze", g.node("Transpose", flat, perm=[1, 0]), g.constant([1]))
        product = self.scan(a, g.constant(matrix.dense()[used][:, None, :]))
        batch = g.node("Slice", g.node("Shape", x), *map(g.constant, ([0], [2])))
        return g.node("Reshape", product, g.node("Concat", batch, g.constant([matrix.shape[1]]), axis=0), allowzero=1)

    def scan(self, a: str, b: str) -> str:
        """Add SUM_k [a_k·b_k], [B, n, m], clipped after every addition, from a [K, B, n] and b [K, B, m]."""
        g = self.g
        shape_a, shape_b = g.node("Shape", a), g.node("Shape", b)
        size = g.node(
            "Concat",
            g.node("Slice", shape_a, *map(g.constant, ([1], [3]))),
            g.node("Slice", shape_b, *map(g.constant, ([2], [3]))),
            axis=0,
        )
        start = g.node("ConstantOfShape", size, value=np.zeros(1, dtype=np.int64))
        return g.node("Scan", start, a, b, body=self.body(), num_scan_inputs=2)

    def body(self) -> Graph:
        one, bound = self.precision.one, self.precision.bound
        inner = Graph(f"step{len(self.g.nodes)}")
        name = inner.name
        # axes of one name must have one size in the whole file
        shape: tuple[int | str, ...] = (f"{name}_B", f"{name}_n", f"{name}_m")
        inner.inputs = [
            GraphValue(f"{name}_state", "int64", shape),
            GraphValue(f"{name}_a", "int64", shape[:2]),
            GraphValue(f"{name}_b", "int64", shape[::2]),
        ]
        state, a, b = (value.name for value in inner.inputs)
        a, b = inner.node("Unsqueeze", a, inner.constant([2])), inner.node("Unsqueeze", b, inner.constant([1]))
        # to the nearest, ties toward zero: sign·((2|ab| + 2^p - 1) div 2·2^p). The sign is that of small numbers:
        # onnxruntime 1.31 takes Sign, Min and Clip of 64-bit integers from their lower 32 bits
        sign = inner.node("Mul", inner.node("Sign", a), inner.node("Sign", b))
        doubled = inner.node("Mul", inner.node("Abs", inner.node("Mul", a, b)), inner.constant(2))
        whole = inner.node("Div", inner.node("Add", doubled, inner.constant(one - 1)), inner.constant(2 * one))
        low, high = inner.constant(-bound), inner.constant(bound)
        term = inner.node("Clip", inner.node("Mul", sign, whole), low, high)
        total = inner.node("Clip", inner.node("Add", state, term), low, high)
        inner.result(total, f"{name}_next", "int64", shape)
        return inner

    def clip(self, x: str) -> str:
        bound = self.precision.bound
        return self.g.node("Clip", x, self.g.constant(-bound), self.g.constant(bound))

    def positive(self, x: str) -> str:
        """ReLU(clip(x))."""
        return self.g.node("Clip", x, self.g.constant(0), self.g.constant(self.precision.bound))

    def add(self, x: str, y: str) -> str:
        return self.clip(self.g.node("Add", x, y))


# The files of the folder.

READ_WORD = """```python
import json

import numpy as np
import onnxruntime

about = json.load(open("export.json", encoding="utf-8"))
session = onnxruntime.InferenceSession("model.onnx")
token = {{symbol: i for i, symbol in enumerate(about["vocabulary"])}}
word = {word!r}
letters = {letters}
assert len(letters) == about["length"] and set(letters) <= set(about["input_symbols"])
given = [token[symbol] for symbol in ([about["begin"]] if about["begin"] else []) + letters]


def logits(rest):
    found, *zero_rows = session.run(None, {{"tokens": np.array([given + rest])}})
    assert not any(rows.any() for rows in zero_rows)  # an exact form counts the rows that divide by zero
    return found[0].astype(float)


"""

RANGES = '[next((s for first, last, s in about["characters"] if first <= ord(c) <= last), None) for c in word]'

CANVAS = """canvas = np.full(about["padding"], token[about["mask"]])
{loop}    predicted = logits(canvas.tolist())[-len(canvas):]
    predicted[:, token[about["mask"]]] = -np.inf
{chosen}    canvas[chosen] = predicted.argmax(-1)[chosen]
last = canvas[-1]
"""
IN_ORDER = {"loop": 'for chosen in about["order"]:  # the order of the planner\n', "chosen": ""}
SUREST = {
    "loop": 'for _ in range(about["steps"]):\n',
    "chosen": """    sure = predicted.max(-1)
    chosen = np.argsort(-sure, kind="stable")[: about["k"]] if about["k"] else sure > about["chosen_above"]
""",
}

PREDICT = """masks = [token[about["mask"]]] * about["padding"]
predicted = logits(masks)[-len(masks):]  # of the first pass; the planner says which slots are written
predicted[:, token[about["mask"]]] = -np.inf
print([about["vocabulary"][symbol] for symbol in predicted.argmax(-1)])
"""

PLAN = """masks = [token[about["mask"]]] * about["padding"]
print(np.flatnonzero(logits(masks)[-len(masks):].argmax(-1) == 1).tolist())  # the slots that the first step writes
"""

LOOP = """last = logits([token.get(about["pad"], 0)] * about["padding"])[-1].argmax()
"""

LOOP_OF_MANY = """rows = logits([token.get(about["pad"], 0)] * about["padding"])[-about["outputs"]:]
print([about["vocabulary"][symbol] for symbol in rows.argmax(-1)])  # all answers, in order; the last is the verdict
last = rows[-1].argmax()
"""

CHAIN = """block, made = [token.get(about["mask"], 0)] * (about["block"] or 0), []
for _ in range(about["steps"]):
    made += logits(made + block)[-max(1, len(block)):].argmax(-1).tolist()
last = made[-1]
"""

TELL = """answer = about["vocabulary"][last]
answer = about["aliases"].get(answer, answer)
print(answer, {about["accept"]: "accepted", about["reject"]: "rejected"}.get(answer, ""))
"""


def card_program(model: Model, report: dict[str, Any], words: np.ndarray) -> str:
    """Return the Python program for a kind; a planner, or a predictor without a fixed order, has a single pass."""
    of_characters = model.characters is not None or all(len(symbol) == 1 for symbol in model.input_symbols)
    if model.characters is not None:
        word, letters = written_word(model, token_names(model), words), RANGES
    else:
        symbols = model.symbols(words[len(words) // 2]) if len(words) else []
        word = ("" if of_characters else " ").join(symbols)
        letters = "list(word)" if of_characters else "word.split()"
    return READ_WORD.format(word=word, letters=letters) + _body(model, report) + "```\n"


def _body(model: Model, report: dict[str, Any]) -> str:
    if model.kind in ("mdm", "smdm"):
        if report["part"] == "planner":
            return PLAN
        return CANVAS.format(**IN_ORDER) + TELL if report["order"] is not None else PREDICT
    if model.kind == "topk":
        return CANVAS.format(**SUREST) + TELL
    loop = LOOP if model.answer_rows == 1 else LOOP_OF_MANY
    return (loop if model.kind == "plt" else CHAIN) + TELL


def reading_fields(model: Model) -> dict[str, Any]:
    """Return the fields that a reader of export.json needs besides the sizes, with the names of the model folder.

    Typed text is looked up among `input_symbols` or in `characters`, never in the vocabulary: its other symbols, such
    as the mask `m` and the answer `1`, are letters that a user may type.
    """
    return {
        "vocabulary": list(model.vocabulary),
        "input_symbols": list(model.input_symbols),
        "characters": None if model.characters is None else [list(entry) for entry in model.characters],
        **{name: getattr(model, name) for name in ("mask", "pad", "begin", "accept", "reject", "block", "k")},
        **({} if model.outputs is None else {"outputs": model.outputs}),
        "aliases": dict(model.aliases),
    }


EXACT_WORDS = 3  # compared bit by bit, so few passes are enough


def onnx_folder(model: Model, transformer_name: str, words: np.ndarray, *, exact: bool) -> tuple[Files, dict[str, Any]]:
    """Return the files, and the content of export.json."""
    transformer = model.transformers[transformer_name]
    passes = observe_passes(model, transformer_name, words[:EXACT_WORDS] if exact else words)
    scale = EXACT_LOGIT_SCALE if exact else logit_scale(passes, model, transformer_name)
    real = repaired(real_weights(transformer), model.precision)
    real = real if exact else replace(real, out=real.out * scale)
    graph = exact_graph(transformer, model.steps) if exact else plain_graph(real, model.steps)
    report = {
        **summary(model, "onnx", transformer_name, exact=exact),
        "nodes": graph.size,
        **reading_fields(model),
        "logit_scale": scale,
        "order": planned_order(model, words),
    }
    hidden = max((layer.mlp.w1.shape[1] for layer in transformer.layers), default=0)
    if exact:
        report["chosen_above"] = -model.precision.bound
        report["passes_compared"] = _same_integers(transformer_name, passes[: 2 * EXACT_WORDS], graph)
    else:
        exported = in_batches(_passes(graph), model.rows, hidden)
        report["agreement"] = merge_agreements([compare_passes(model, transformer_name, passes, exported, scale=scale)])
        report["chosen_above"] = scaled_threshold(report)
        report["repairs"] = list(real.repairs)
    card = plain_card(model, report, card_program(model, report, words))
    files = {
        "model.onnx": model_bytes(
            graph, f"{report['problem'] or 'a model of unmask'}, {transformer_name} of a {model.kind}"
        ),
        "registers.json": as_json(register_map(real)),
        "export.json": as_json(report),
        "README.md": as_text(card),
    }
    return files, report


def _passes(graph: Graph):
    return lambda tokens: run_graph(graph, {"tokens": tokens})["logits"]


def _same_integers(transformer_name: str, passes: list[ObservedPass], graph: Graph) -> int:
    for observed in passes:
        outputs = run_graph(graph, {"tokens": observed.tokens})
        same = np.array_equal(outputs["logits"][:, observed.rows[0] : observed.rows[1]], observed.logits)
        if not same or outputs["divided_by_zero"].any():
            raise ExportDisagreement(
                f"the exact form of the {transformer_name} is not bit-identical; please report this model"
            )
    return len(passes)
