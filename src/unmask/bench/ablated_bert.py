"""The exported BERT in NumPy, with parts that can be switched off: one head in one row, one MLP in one row, one edge.

    stream of a row    position + mean embedding + token + Σ heads + Σ MLPs; norms of an export are the identity
    token              the embedding of a symbol less the mean embedding of all symbols of the model
    node off           what it adds to the stream is 0
    edge u → v off     v reads the stream of u's row without what u added, everything else reads it with it

`forward` takes many such variants of one canvas at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

NodeKind = Literal["token", "head", "mlp", "output"]


class Node(NamedTuple):
    """A part of the model in one row; an output is the logits of the row."""

    kind: NodeKind
    row: int
    layer: int = -1
    head: int = -1

    @property
    def id(self) -> str:
        """Return a name such as `token@3`, `0.h1@20`, `2.mlp@20`, `output@20`: layer, head and row, counted from 0."""
        if self.kind in ("token", "output"):
            return f"{self.kind}@{self.row}"
        return f"{self.layer}.{'mlp' if self.kind == 'mlp' else f'h{self.head}'}@{self.row}"

    @property
    def hook(self) -> str:
        """Return the name of the hook in TransformerLens (`TransformerBridge`) whose entry at this row is the node."""
        names = {"token": "embed.hook_out", "output": "unembed.hook_out"}
        within_block = "attn.hook_z" if self.kind == "head" else "hook_mlp_out"
        return names.get(self.kind) or f"blocks.{self.layer}.{within_block}"


CircuitEdge = tuple[Node, Node]


@dataclass(eq=False)
class Recorded:
    """Record of a forward pass: logits [variants, rows, symbols], and the intermediate values of the first variant."""

    logits: np.ndarray
    added: dict[Node, np.ndarray] = field(default_factory=dict)
    patterns: list[np.ndarray] = field(default_factory=list)  # per layer [heads, rows, rows]
    streams: list[np.ndarray] = field(default_factory=list)  # after each layer [rows, width]

    @property
    def decided(self) -> np.ndarray:
        """Return the likeliest symbol of every row, [variants, rows]."""
        return self.logits.argmax(axis=-1)


@dataclass(eq=False)
class AblatedBert:
    """The model of a folder of the form bert, read from its files; its symbols are the first `symbols` tokens."""

    tensors: Mapping[str, np.ndarray]
    config: dict[str, Any]
    registers: dict[str, Any]
    symbols: int

    @classmethod
    def of(cls, files: Mapping[str, bytes], symbols: int) -> "AblatedBert":
        from safetensors.numpy import load

        parts = (json.loads(files[name]) for name in ("config.json", "registers.json"))
        return cls(load(files["model.safetensors"]), *parts, symbols)

    @property
    def layers(self) -> int:
        return self.config["num_hidden_layers"]

    @property
    def heads(self) -> int:
        return self.config["num_attention_heads"]

    def nodes(self, rows: int) -> list[Node]:
        """Return every token, head and MLP in every row."""
        nodes = [Node("token", row) for row in range(rows)]
        for layer in range(self.layers):
            nodes += [Node("head", row, layer, head) for head in range(self.heads) for row in range(rows)]
            nodes += [Node("mlp", row, layer) for row in range(rows)]
        return nodes

    def forward(
        self,
        ids: np.ndarray,
        off: Sequence[frozenset[Node]] = (frozenset(),),
        *,
        edges: Sequence[CircuitEdge | None] = (),
        before: Recorded | None = None,
        given: Mapping[Node, np.ndarray] | None = None,
    ) -> Recorded:
        """Run one variant for each set of nodes that are off, and for an edge that is also off.

        An edge needs `before`, a pass of the same canvas with the same nodes off. `given` sets what nodes add.
        """
        edges = edges or [None] * len(off)
        record = Recorded(np.zeros(0))
        embed, size = self.tensors["bert.embeddings.word_embeddings.weight"], len(ids)
        mean = embed[: self.symbols].mean(axis=0)
        tokens = np.tile(embed[ids] - mean, (len(off), 1, 1))
        self._switch(tokens, "token", -1, off, given)
        record.added |= {Node("token", row): tokens[0, row] for row in range(size)}
        positions = self.tensors["bert.embeddings.position_embeddings.weight"][:size]
        kinds = self.tensors["bert.embeddings.token_type_embeddings.weight"][0]
        stream = self._norm(tokens + mean + positions + kinds, "bert.embeddings")
        for layer in range(self.layers):
            name = f"bert.encoder.layer.{layer}"
            attended = self._attention(stream, layer, off, edges, before, given, record)
            bias = self.tensors[f"{name}.attention.output.dense.bias"]
            stream = self._norm(stream + attended + bias, f"{name}.attention.output")
            added = self._mlp(stream, layer)
            for b, (source, reader) in ((b, edge) for b, edge in enumerate(edges) if edge is not None):
                if (reader.kind, reader.layer) == ("mlp", layer):
                    added[b, reader.row] = self._mlp(stream[b, reader.row] - _added(before, source), layer)
            self._switch(added, "mlp", layer, off, given)
            record.added |= {Node("mlp", row, layer): added[0, row] for row in range(size)}
            stream = self._norm(stream + added, f"{name}.output")
            record.streams.append(stream[0])
        record.logits = self._logits(stream)
        for b, (source, reader) in ((b, edge) for b, edge in enumerate(edges) if edge is not None):
            if reader.kind == "output":
                record.logits[b, reader.row] = self._logits(stream[b, reader.row] - _added(before, source))
        return record

    def _attention(
        self,
        stream: np.ndarray,
        layer: int,
        off: Sequence[frozenset[Node]],
        edges: Sequence[CircuitEdge | None],
        before: Recorded | None,
        given: Mapping[Node, np.ndarray] | None,
        record: Recorded,
    ) -> np.ndarray:
        total, patterns = np.zeros_like(stream), []
        for head in range(self.heads):
            added, pattern = self._head(stream, stream, layer, head)
            patterns.append(pattern[0])
            for b, (source, reader) in ((b, edge) for b, edge in enumerate(edges) if edge is not None):
                if (reader.kind, reader.layer, reader.head) == ("head", layer, head):
                    changed = stream[b].copy()
                    changed[source.row] -= _added(before, source)
                    added[b, reader.row] = self._head(changed[reader.row][None], changed, layer, head)[0][0]
            self._switch(added, "head", layer, off, given, head)
            record.added |= {Node("head", row, layer, head): added[0, row] for row in range(stream.shape[1])}
            total += added
        record.patterns.append(np.stack(patterns))
        return total

    def _head(self, reader: np.ndarray, rows: np.ndarray, layer: int, head: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what a head adds to the stream, and its attention weights."""
        name = f"bert.encoder.layer.{layer}.attention"
        width = self.config["hidden_size"] // self.heads
        columns = slice(head * width, (head + 1) * width)
        q, k, v = (
            x @ self.tensors[f"{name}.self.{which}.weight"][columns].T
            + self.tensors[f"{name}.self.{which}.bias"][columns]
            for x, which in ((reader, "query"), (rows, "key"), (rows, "value"))
        )
        scores = q @ np.swapaxes(k, -1, -2) / np.float32(np.sqrt(width))
        pattern = np.exp(scores - scores.max(axis=-1, keepdims=True))
        pattern /= pattern.sum(axis=-1, keepdims=True)
        return pattern @ v @ self.tensors[f"{name}.output.dense.weight"][:, columns].T, pattern

    def _mlp(self, x: np.ndarray, layer: int) -> np.ndarray:
        name = f"bert.encoder.layer.{layer}"
        hidden = np.maximum(self._dense(x, f"{name}.intermediate.dense"), 0)
        return self._dense(hidden, f"{name}.output.dense")

    def _logits(self, x: np.ndarray) -> np.ndarray:
        name = "cls.predictions"
        x = self._norm(np.maximum(self._dense(x, f"{name}.transform.dense"), 0), f"{name}.transform")
        return self._dense(x, f"{name}.decoder")

    def _dense(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        weight, bias = (self.tensors[f"{name}.LayerNorm.{which}"] for which in ("weight", "bias"))
        variance = x.var(axis=-1, keepdims=True)
        return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + self.config["layer_norm_eps"]) * weight + bias

    def _switch(
        self,
        added: np.ndarray,
        kind: NodeKind,
        layer: int,
        off: Sequence[frozenset[Node]],
        given: Mapping[Node, np.ndarray] | None,
        head: int = -1,
    ) -> None:
        """Set the output of nodes that are off to 0, and the output of the nodes in `given` to its values."""
        for b, nodes in enumerate(off):
            rows = [node.row for node in nodes if (node.kind, node.layer, node.head) == (kind, layer, head)]
            added[b, rows] = 0
        for node, value in (given or {}).items():
            if (node.kind, node.layer, node.head) == (kind, layer, head):
                added[:, node.row] = value


def _added(before: Recorded | None, node: Node) -> np.ndarray:
    assert before is not None
    return before.added[node]
