"""Task → the weights of a pre-norm transformer with RMSNorm, RoPE and SwiGLU, without biases.

columns          those of the real form, `outside` and `constant` among them, then `begin`, the position code, unused
position layers  one head per bit of the code; the last MLP writes the row of the position table (`positions`)
model's layers   score columns lie in the slowest planes, which turn so little that scores stay what they are
last layer       for shifted logits only: fetch what the logits read from the next row

ReLU(x)   silu(β·x)/β: `gate` is β·W1ᵀ, `up` reads `constant`/β; biases are weights that read `constant`
norm      ε = 2^30 and a gain of 2^15: the identity
D = heads·d; the head width d and θ are chosen so that the model is smallest, or given
"""

from dataclasses import dataclass, replace
from math import ceil, log2, sqrt

import numpy as np

from unmask.errors import UnmaskError
from unmask.export.real.repairs import constant_column
from unmask.export.real.weights import RealHead, RealLayer, RealMlp, RealTransformer
from unmask.export.rope.forward import RopeWeights
from unmask.export.rope.positions import SCORE_OF_BEGIN, PositionCode, position_code, turns
from unmask.export.stock.architecture import EPSILON, GAIN, NEVER, added_column, widened, without_outer_relu
from unmask.export.stock.canvas import Canvas

LEAST_GATE = 60.0  # silu(x) is x and silu(-x) is 0 from here on, in float32
LARGEST_SCORE_ERROR = 0.005  # what turning may change in a score
FETCHING_SCORE = 60.0  # per bit, of the heads that fetch the next row
HIDDEN_BLOCK = 32  # the intermediate size is a multiple of it, which quantised formats ask for
HEAD_DIMS, RATIOS = (32, 64, 128), (2, 3, 4, 6, 8)
LARGEST_THETA = 2.0**120  # engines hold it as a float32


@dataclass(frozen=True)
class RopeChoice:
    """What a user may fix: θ and the head width; None means: choose."""

    theta: float | None = None
    head_dim: int | None = None

    def candidates(self) -> list[tuple[int, float]]:
        """(head width, θ) pairs to try."""
        if self.head_dim is not None and not (8 <= self.head_dim <= 512 and self.head_dim % 8 == 0):
            raise UnmaskError(f"--head-dim must be a multiple of 8 between 8 and 512, not {self.head_dim}")
        if self.theta is not None and not 1 < self.theta <= LARGEST_THETA:
            raise UnmaskError(f"--rope-theta must be above 1 and at most 1e36, not {self.theta:g}")
        dims = HEAD_DIMS if self.head_dim is None else (self.head_dim,)
        pairs = [
            (d, float(theta))
            for d in dims
            for theta in ([r ** (d // 2) for r in RATIOS] if self.theta is None else [self.theta])
        ]
        return [(d, theta) for d, theta in pairs if theta <= LARGEST_THETA]


@dataclass(frozen=True, eq=False)
class Layout:
    """Head width, θ, number of heads and the position code; `slowest` lists the planes from the slowest on."""

    head_dim: int
    theta: float
    heads: int
    code: PositionCode
    slowest: tuple[int, ...]
    score_error: float

    @property
    def width(self) -> int:
        return self.head_dim * self.heads

    @property
    def position_layers(self) -> int:
        return ceil(self.code.bits / self.heads)

    def dimension(self, column: int) -> int:
        """Score column → its place in a head: the first components of all planes, then the second ones."""
        half, plane = divmod(column, len(self.slowest))
        return self.slowest[plane] + half * self.head_dim // 2


@dataclass(frozen=True, eq=False)
class RopeForm:
    """The weights, the same as a RealTransformer for the register map, and what the position layers must write."""

    weights: RopeWeights
    real: RealTransformer
    layout: Layout
    table: np.ndarray

    def report(self) -> dict[str, object]:
        layout = self.layout
        return {
            "theta": layout.theta,
            "head_dim": layout.head_dim,
            "heads": layout.heads,
            "position_layers": layout.position_layers,
            "position_bits": layout.code.bits,
            "score_error_below": float(f"{layout.score_error:.1e}"),
        }


@dataclass(frozen=True, eq=False)
class _Layer:
    """Heads, each with the dimensions of its score columns; `beta` of the MLP."""

    heads: tuple[tuple[RealHead, tuple[int, ...]], ...]
    mlp: RealMlp
    beta: float
    source: int
    does: str


def rope_form(
    real: RealTransformer,
    canvas: Canvas,
    outputs: np.ndarray,
    *,
    scale: float,
    begin: int,
    grid: float,
    choice: RopeChoice,
) -> RopeForm:
    """Build the weights; `begin` is the token of row 0, `grid` the least distance of two values that an MLP reads."""
    flat = without_outer_relu(real)
    bits = ceil(log2(canvas.max_rows)) if canvas.shifted else 0
    first = flat.width
    flat = widened(flat, 2 * bits, (*(f"row:{k}" for k in range(bits)), *(f"next:{k}" for k in range(bits))))
    row_bits, next_bits = first + np.arange(bits), first + bits + np.arange(bits)
    one = constant_column(real)
    columns = [*([] if one is None else [one]), added_column(flat, "constant")]
    layers = [replace(layer, heads=tuple(_slim(head, columns) for head in layer.heads)) for layer in flat.layers]
    if canvas.shifted:
        layers.append(_fetch_next_row(flat, row_bits, next_bits))
    layout = _layout(flat, layers, canvas, choice)
    more = ["begin", *(f"code:{k}" for k in range(layout.code.bits))]
    more += [f"unused:{i}" for i in range(layout.width - flat.width - len(more))]
    wide = widened(replace(flat, layers=tuple(layers)), len(more), tuple(more))
    wide = replace(wide, embed=wide.embed.copy())
    wide.embed[begin, flat.width] = 1
    table = position_table(flat, canvas, row_bits, next_bits)
    beta = 2.0 ** ceil(log2(LEAST_GATE / grid))
    built = _position_layers(wide, layout, table)
    for layer in wide.layers:
        heads = tuple(
            (part, tuple(layout.dimension(j) for j in range(part.wq.shape[1])))
            for head in layer.heads
            for part in _narrow(head, layout.head_dim)
        )
        built.append(_Layer(heads, layer.mlp, beta, layer.source, layer.does))
    hidden = HIDDEN_BLOCK * ceil(max(1, *(_units(layer.mlp) for layer in built)) / HIDDEN_BLOCK)
    constant = added_column(wide, "constant")
    head = np.zeros((len(wide.embed), layout.width))
    head[:, constant] = NEVER
    head[outputs] = wide.out * scale
    head[outputs, constant] += wide.bias * scale
    weights = RopeWeights(
        embed=_single(wide.embed),
        layers=tuple(_tensors(layer, layout, hidden, constant) for layer in built),
        norm=_single(np.full(layout.width, GAIN)),
        head=_single(head),
        heads=layout.heads,
        theta=layout.theta,
        epsilon=EPSILON,
        max_rows=canvas.max_rows,
        causal=real.causal,
    )
    described = tuple(
        RealLayer(tuple(head for head, _ in layer.heads), layer.mlp, layer.source, False, layer.does) for layer in built
    )
    return RopeForm(weights, replace(wide, layers=described), layout, np.pad(table, ((0, 0), (0, len(more)))))


def position_table(flat: RealTransformer, canvas: Canvas, row_bits: np.ndarray, next_bits: np.ndarray) -> np.ndarray:
    """Return what the position layers add in each row, [max_rows, D]; nothing in spare rows.

    The last row of a causal model predicts nothing that the model defines: it is a spare row, and says [EOS].
    """
    table = np.zeros((canvas.max_rows, flat.width))
    rows = canvas.rows - flat.causal
    table[canvas.before : canvas.before + rows] = flat.positions[:rows]
    for i in range(canvas.max_rows):
        table[i, row_bits] = [2 * (i >> k & 1) - 1 for k in range(len(row_bits))]
        table[i, next_bits] = [2 * ((i + 1) >> k & 1) - 1 for k in range(len(next_bits))]
    return table


def _slim(head: RealHead, constant: list[int]) -> RealHead:
    """Drop what softmax does not see, a key that is the same in every row, and use as few score columns as possible."""
    scores = head.wq @ head.wk.T
    scores[:, constant] = 0
    keys, queries = np.flatnonzero(scores.any(axis=0)), np.flatnonzero(scores.any(axis=1))
    everything = np.eye(len(scores))
    by_key = replace(head, wq=scores[:, keys], wk=everything[:, keys])
    by_query = replace(head, wq=everything[:, queries], wk=scores[queries].T)
    return min((by_key, by_query, head), key=lambda kept: kept.wq.shape[1])


def _fetch_next_row(flat: RealTransformer, row_bits: np.ndarray, next_bits: np.ndarray) -> RealLayer:
    """What the logits read becomes that of the next row: a head adds the next row's, another takes away the own."""
    everything, width = np.eye(flat.width), flat.width
    read = np.flatnonzero(flat.out.any(axis=0))
    nothing = RealMlp(np.zeros((width, 0)), np.zeros(0), np.zeros((0, width)), np.zeros(width))
    heads = tuple(
        RealHead(
            FETCHING_SCORE * everything[:, asked],
            everything[:, row_bits],
            everything[:, read],
            sign * everything[read],
            i,
        )
        for i, (asked, sign) in enumerate(((next_bits, 1.0), (row_bits, -1.0)))
    )
    return RealLayer(heads, nothing, len(flat.layers), False, "fetch the logits of the next row")


def _layout(flat: RealTransformer, layers: list[RealLayer], canvas: Canvas, choice: RopeChoice) -> Layout:
    """The smallest model among the candidates that fit."""
    found: list[tuple[float, Layout]] = []
    hidden = max(canvas.max_rows if canvas.shifted else canvas.rows, *(_units(layer.mlp) for layer in layers), 1)
    for head_dim, theta in choice.candidates():
        omegas = turns(theta, head_dim)
        slowest = tuple(int(m) for m in np.argsort(omegas, kind="stable"))
        error = max(
            (_score_error(head, omegas, slowest, canvas.max_rows) for x in layers for head in x.heads), default=0
        )
        code = position_code(canvas.max_rows, omegas, causal=flat.causal) if error <= LARGEST_SCORE_ERROR else None
        if code is None:
            continue
        heads = max((sum(len(_narrow(head, head_dim)) for head in layer.heads) for layer in layers), default=1)
        heads = max(heads, ceil((flat.width + 1 + code.bits) / head_dim))
        layout = Layout(head_dim, theta, heads, code, slowest, error)
        size = (len(layers) + layout.position_layers) * (4 * layout.width**2 + 3 * layout.width * hidden)
        found.append((size, layout))
    if not found:
        columns = max((head.wq.shape[1] for layer in layers for head in layer.heads), default=0)
        given = [f"--rope-theta {choice.theta:g}"] * (choice.theta is not None)
        given += [f"--head-dim {choice.head_dim}"] * (choice.head_dim is not None)
        raise UnmaskError(
            f"no head with {' and '.join(given) or 'up to 64 rotary planes'} has {columns} planes that turn slowly "
            f"enough over {canvas.max_rows} rows, and enough fast ones to distinguish the rows; "
            + ("leave these options out, or use larger values" if given else "use a model of shorter length")
        )
    return min(found, key=lambda pair: pair[0])[1]


def _score_error(head: RealHead, omegas: np.ndarray, slowest: tuple[int, ...], rows: int) -> float:
    """By how much the turning of the planes may change a score of rows of zeros and ones."""
    queries, keys = np.abs(head.wq).sum(axis=0), np.abs(head.wk).sum(axis=0)
    count, planes = len(queries), len(slowest)
    if count > 2 * planes:
        return np.inf
    angle = np.minimum(omegas[list(slowest)] * rows, 2)
    error = float((queries * keys * angle[np.arange(count) % planes] ** 2 / 2).sum())
    for second in range(planes, count):
        first = second - planes
        error += float((queries[first] * keys[second] + queries[second] * keys[first]) * angle[first])
    return error


def _narrow(head: RealHead, width: int) -> list[RealHead]:
    """A value map wider than a head is spread over several heads with the same scores."""
    count = max(1, ceil(head.wv.shape[1] / width))
    parts = [slice(i * width, (i + 1) * width) for i in range(count)]
    return [replace(head, wv=head.wv[:, part], wo=head.wo[part]) for part in parts]


def _position_layers(wide: RealTransformer, layout: Layout, table: np.ndarray) -> list[_Layer]:
    """The heads of the code, and the hidden units that turn it into rows of the table."""
    width, code = layout.width, layout.code
    begin = added_column(wide, "begin")
    bits = begin + 1 + np.arange(code.bits)
    constant = added_column(wide, "constant")
    nothing = RealMlp(np.zeros((width, 0)), np.zeros(0), np.zeros((0, width)), np.zeros(width))
    layers = []
    for first in range(0, code.bits, layout.heads):
        heads = []
        for k in range(first, min(first + layout.heads, code.bits)):
            query, key = np.zeros((width, 2)), np.zeros((width, 2))
            query[constant, 0] = SCORE_OF_BEGIN
            key[begin] = np.cos(code.phases[k]), np.sin(code.phases[k])
            value, target = np.zeros((width, 1)), np.zeros((1, width))
            value[begin], target[0, bits[k]] = 1, 1
            dimensions = (code.planes[k], code.planes[k] + layout.head_dim // 2)
            heads.append((RealHead(query, key, value, target, k), dimensions))
        layers.append(_Layer(tuple(heads), nothing, 2.0 ** ceil(log2(LEAST_GATE)), -1, "position code"))
    written = np.flatnonzero(table.any(axis=1))
    units = range(int(written[0]), int(written[-1]) + 1)
    w1, w2 = np.zeros((width, len(units))), np.zeros((len(units), width))
    w1[bits], b1 = code.units(units)
    w2[:, : table.shape[1]] = table[units.start : units.stop]
    layers[-1] = replace(layers[-1], mlp=RealMlp(w1, b1, w2, np.zeros(width)), does="position code and table")
    return layers


def _units(mlp: RealMlp) -> int:
    """Hidden units, with the one that is always 1 and carries the outer bias."""
    return len(mlp.b1) + bool(np.any(mlp.b2))


def _tensors(layer: _Layer, layout: Layout, hidden: int, constant: int) -> dict[str, np.ndarray]:
    """A layer by the neutral names."""
    width, size = layout.width, layout.head_dim
    scale = 2.0 ** ceil(log2(sqrt(size)))
    maps = {name: np.zeros((width, width)) for name in "qkvo"}
    for i, (head, dimensions) in enumerate(layer.heads):
        places = [i * size + place for place in dimensions]
        values = slice(i * size, i * size + head.wv.shape[1])
        maps["q"][places], maps["k"][places] = head.wq.T * scale, head.wk.T
        maps["v"][values], maps["o"][:, values] = head.wv.T, head.wo.T
    mlp, count = layer.mlp, len(layer.mlp.b1)
    gate, up, down = np.zeros((hidden, width)), np.zeros((hidden, width)), np.zeros((width, hidden))
    gate[:count], down[:, :count] = layer.beta * mlp.w1.T, mlp.w2.T
    gate[:count, constant] += layer.beta * mlp.b1
    if np.any(mlp.b2):
        gate[count, constant], down[:, count] = layer.beta, mlp.b2
    up[: _units(mlp), constant] = 1 / layer.beta
    gains = {name: np.full(width, GAIN) for name in ("attention_norm", "mlp_norm")}
    return {name: _single(t) for name, t in {**maps, "gate": gate, "up": up, "down": down, **gains}.items()}


def _single(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float32)
