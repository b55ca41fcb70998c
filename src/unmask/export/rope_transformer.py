"""RealTransformer → RopeWeights: a pre-norm transformer with RMSNorm, RoPE and SwiGLU, without biases; and its pass.

    layer    G = H + o(attention(norm(H))),   H' = G + down(silu(gate(norm(G)))·up(norm(G)))
    norm(x)  x/√(mean x² + ε)·gain            ε = 2^30 and a gain of 2^15: the identity
    RoPE     turns (x_m, x_{m+d/2}) by i·ω_m; angles in float32
    ReLU(x)  silu(β·x)/β: `gate` is β·W1ᵀ, `up` reads `constant`/β; biases are weights that read `constant`

    columns          those of the real form with `outside` and `constant`, then `begin`, the position code, unused
    position layers  one head per bit of the code; the last MLP writes the row of the position table
    model's layers   score columns lie in the slowest planes, which turn so little that scores do not change
    last layer       for shifted logits only: fetch what the logits read from the next row

D = heads·d; the head width d and θ are chosen so that the model is smallest, or given.

The position code: plane m of a head turns queries and keys by ω_m = θ^(-2m/d) per row. Row 0 holds the begin symbol,
the only row with a key in these heads: (cos φ, sin φ). With the query (A, 0), row i scores A·cos(i·ω_m - φ) against row
0 and 0 against all others. Its bit, the weight of row 0, is 1 where the cosine is at least μ, 0 where it is at most -μ,
and a fraction between: the row is *unsure* of that bit, and the hidden unit that recognises the row ignores it.

    unit of row i   2·Σ_k s_k·bit_k + 1 - 2·#{k : s_k = 1}    s_k = 1, -1, or 0 where row i is unsure

It is 1 in row i and at most -1 in every other row. The factor 2 is needed: without it an unsure bit gives values
between -1 and 0, where silu is not 0.
"""

from dataclasses import dataclass, replace
from math import ceil, log2, sqrt

import numpy as np

from unmask.errors import UnmaskError
from unmask.export.export_task import StockCanvas
from unmask.export.real_transformer import (
    FLOAT,
    Dtype,
    Passes,
    RealHead,
    RealLayer,
    RealMlp,
    RealTransformer,
    Rounding,
    attention_mask,
    by_head,
    constant_column,
    in_batches,
    rounding,
    softmax,
)
from unmask.export.stock_architecture import EPSILON, GAIN, NEVER, added_column, widened, without_outer_relu


@dataclass(frozen=True, eq=False)
class RopeWeights:
    """The neutral form: embed, head [V, D], norm [D], and per layer q, k, v, o, gate, up, down, two norms.

    q, k, v are [heads·d, D], o is [D, heads·d], gate and up [F, D], down [D, F], as the Linear of torch holds them.
    """

    embed: np.ndarray
    layers: tuple[dict[str, np.ndarray], ...]
    norm: np.ndarray
    head: np.ndarray
    heads: int
    theta: float
    epsilon: float
    max_rows: int
    causal: bool

    @property
    def width(self) -> int:
        return self.embed.shape[1]

    @property
    def head_width(self) -> int:
        return len(self.layers[0]["q"]) // self.heads

    @property
    def hidden(self) -> int:
        return len(self.layers[0]["gate"])


def rope_passes(weights: RopeWeights, dtype: Dtype = "float32") -> Passes:
    """Return the pass from tokens [batch, rows] to logits [batch, rows, V]."""
    fit = rounding(dtype)
    single = _rounded(weights, fit)

    def passes(tokens: np.ndarray) -> np.ndarray:
        H = residual(single, tokens, len(single.layers), fit)
        return fit(_normed(H, single.norm, single.epsilon, fit) @ single.head.T)

    return in_batches(passes, weights.max_rows, weights.hidden)


def residual(weights: RopeWeights, tokens: np.ndarray, layers: int, fit: Rounding) -> np.ndarray:
    """Return the residual stream after a number of layers, [batch, rows, D]."""
    H = weights.embed[tokens]
    cosines, sines = (fit(f(angles(weights, tokens.shape[1]))) for f in (np.cos, np.sin))
    mask = attention_mask(tokens.shape[1], weights.causal)
    scaling = FLOAT(1 / sqrt(weights.head_width))
    for layer in weights.layers[:layers]:
        x = _normed(H, layer["attention_norm"], weights.epsilon, fit)
        Q, K, V = (by_head(fit(x @ layer[name].T), weights.heads) for name in "qkv")
        Q, K = (_rotated(z, cosines, sines, fit) for z in (Q, K))
        scores = fit(fit(Q @ np.swapaxes(K, -1, -2)) * scaling) + mask
        mixed = fit(fit(softmax(scores)) @ V)
        H = fit(H + fit(np.swapaxes(mixed, 1, 2).reshape(*x.shape[:2], -1) @ layer["o"].T))
        x = _normed(H, layer["mlp_norm"], weights.epsilon, fit)
        gate = _silu(fit(x @ layer["gate"].T), fit)
        H = fit(H + fit(fit(gate * fit(x @ layer["up"].T)) @ layer["down"].T))
    return H


def angles(weights: RopeWeights, rows: int) -> np.ndarray:
    """Return i·ω_m, [rows, d/2], in float32."""
    exponents = np.arange(0, weights.head_width, 2, dtype=FLOAT) / FLOAT(weights.head_width)
    return np.arange(rows, dtype=FLOAT)[:, None] * (FLOAT(1) / FLOAT(weights.theta) ** exponents)


def _rounded(weights: RopeWeights, fit: Rounding) -> RopeWeights:
    def rounded(array: np.ndarray) -> np.ndarray:
        return fit(array.astype(FLOAT))

    layers = tuple({name: rounded(tensor) for name, tensor in layer.items()} for layer in weights.layers)
    return replace(
        weights, embed=rounded(weights.embed), layers=layers, norm=rounded(weights.norm), head=rounded(weights.head)
    )


def _normed(x: np.ndarray, gain: np.ndarray, epsilon: float, fit: Rounding) -> np.ndarray:
    mean = np.square(x).mean(axis=-1, keepdims=True)
    return fit(fit(x / np.sqrt(mean + FLOAT(epsilon))) * gain)


def _rotated(z: np.ndarray, cosines: np.ndarray, sines: np.ndarray, fit: Rounding) -> np.ndarray:
    """[batch, heads, rows, d]: the two halves of a head are the two components of its planes."""
    first, second = np.split(z, 2, axis=-1)
    return np.concatenate(
        [
            fit(fit(first * cosines) - fit(second * sines)),
            fit(fit(second * cosines) + fit(first * sines)),
        ],
        axis=-1,
    )


def _silu(x: np.ndarray, fit: Rounding) -> np.ndarray:
    with np.errstate(over="ignore"):  # e^-x is infinite where silu is 0
        return fit(x / (1 + np.exp(-x)))


LEAST_COSINE = 0.1  # μ
SCORE_OF_BEGIN = 45.0 / LEAST_COSINE  # A: a sure bit is right to e^-45
UNIT_WEIGHT = 2.0
PHASES = 32
MOST_BITS = 64


@dataclass(frozen=True, eq=False)
class PositionCode:
    """Bit k has the plane `planes[k]` and the phase `phases[k]`; `signs` [bits, rows] is 1, -1, or 0 for unsure."""

    planes: tuple[int, ...]
    phases: tuple[float, ...]
    signs: np.ndarray

    @property
    def bits(self) -> int:
        return len(self.planes)

    def units(self, rows: range) -> tuple[np.ndarray, np.ndarray]:
        """Return weights [bits, units] and biases [units] of the hidden units that recognise these rows."""
        signs = self.signs[:, rows.start : rows.stop].astype(np.float64)
        return UNIT_WEIGHT * signs, 1 - UNIT_WEIGHT * (signs > 0).sum(axis=0)


def turn_per_row(theta: float, head_width: int) -> np.ndarray:
    """Return ω_m, the angle by which each plane turns per row.

    >>> turn_per_row(16.0, 8).tolist()
    [1.0, 0.5, 0.25, 0.125]
    """
    return theta ** (-np.arange(0, head_width, 2) / head_width)


def position_code(rows: int, omegas: np.ndarray, *, causal: bool) -> PositionCode | None:
    """Choose bits until every pair of rows differs in a bit of which both are sure; None if this is not possible.

    Greedy: the next bit separates most of the remaining pairs. Under a causal mask row 0 sees only itself, so that all
    of its bits are 1.
    """
    fast = np.flatnonzero(omegas * rows > 2 * LEAST_COSINE)
    candidates = [(int(m), float(phase)) for m in fast for phase in np.arange(PHASES) * np.pi / PHASES]
    if not candidates:
        return None
    waves = np.array([np.cos(np.arange(rows) * omegas[m] - phase) for m, phase in candidates])
    signs = np.where(waves >= LEAST_COSINE, 1, np.where(waves <= -LEAST_COSINE, -1, 0)).astype(np.int8)
    if causal:
        signs[:, 0] = 1
    ones, zeros = (signs > 0).astype(np.float32), (signs < 0).astype(np.float32)
    unseparated = np.ones((rows, rows), dtype=np.float32) - np.eye(rows, dtype=np.float32)
    chosen: list[int] = []
    while unseparated.any():
        gains = ((ones @ unseparated) * zeros).sum(axis=1)
        best = int(gains.argmax())
        if not gains[best] or len(chosen) == MOST_BITS:
            return None
        chosen.append(best)
        separated = np.outer(ones[best], zeros[best]).astype(bool)
        unseparated[separated | separated.T] = 0
    return PositionCode(tuple(candidates[i][0] for i in chosen), tuple(candidates[i][1] for i in chosen), signs[chosen])


LEAST_GATE = 60.0  # silu(x) is x and silu(-x) is 0 from here on, in float32
LARGEST_SCORE_ERROR = 0.005  # how much the rotation may change a score
FETCHING_SCORE = 60.0  # score per bit in the heads that fetch the next row
HIDDEN_BLOCK = 32  # the intermediate size is a multiple of it, which quantised formats ask for
HEAD_DIMS, RATIOS = (32, 64, 128), (2, 3, 4, 6, 8)
LARGEST_THETA = 2.0**120  # engines hold it as a float32


@dataclass(frozen=True)
class RopeChoice:
    """θ and the head width if the user fixes them; None means that the smallest model decides."""

    theta: float | None = None
    head_dim: int | None = None

    def candidates(self) -> list[tuple[int, float]]:
        """Return the (head width, θ) pairs to try."""
        if self.head_dim is not None and not (8 <= self.head_dim <= 512 and self.head_dim % 8 == 0):
            raise UnmaskError(f"--head-dim must be a multiple of 8 between 8 and 512, not {self.head_dim}")
        if self.theta is not None and not 1 < self.theta <= LARGEST_THETA:
            raise UnmaskError(f"--rope-theta must be above 1 and at most 1e36, not {self.theta:g}")
        dims = HEAD_DIMS if self.head_dim is None else (self.head_dim,)
        return [(d, theta) for d in dims for theta in (_thetas(d) if self.theta is None else [float(self.theta)])]


def _thetas(head_dim: int) -> list[float]:
    """Return θ for each ratio of neighbouring planes; only the largest θ if a head is too wide for all ratios."""
    thetas = [float(ratio ** (head_dim // 2)) for ratio in RATIOS]
    return [theta for theta in thetas if theta <= LARGEST_THETA] or [LARGEST_THETA]


@dataclass(frozen=True, eq=False)
class RopeLayout:
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
        """Return the dimension of a score column in a head: first components of all planes, then second components."""
        half, plane = divmod(column, len(self.slowest))
        return self.slowest[plane] + half * self.head_dim // 2


@dataclass(frozen=True, eq=False)
class RopeForm:
    """The weights, also as a RealTransformer for the register map, and the table that position layers must write."""

    weights: RopeWeights
    real: RealTransformer
    layout: RopeLayout
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
class _RopeLayer:
    """Heads, each with the dimensions of its score columns; `beta` of the MLP."""

    heads: tuple[tuple[RealHead, tuple[int, ...]], ...]
    mlp: RealMlp
    beta: float
    source: int
    does: str


def rope_form(
    real: RealTransformer,
    canvas: StockCanvas,
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
    constant_one = constant_column(real)
    columns = [*([] if constant_one is None else [constant_one]), added_column(flat, "constant")]
    layers = [
        replace(layer, heads=tuple(_fewest_score_columns(head, columns) for head in layer.heads))
        for layer in flat.layers
    ]
    if canvas.shifted:
        layers.append(_fetch_next_row(flat, row_bits, next_bits))
    layout = _layout(flat, layers, canvas, choice)
    extra_columns = ["begin", *(f"code:{k}" for k in range(layout.code.bits))]
    extra_columns += [f"unused:{i}" for i in range(layout.width - flat.width - len(extra_columns))]
    wide = widened(replace(flat, layers=tuple(layers)), len(extra_columns), tuple(extra_columns))
    wide = replace(wide, embed=wide.embed.copy())
    wide.embed[begin, flat.width] = 1
    table = position_table(flat, canvas, row_bits, next_bits)
    beta = 2.0 ** ceil(log2(LEAST_GATE / grid))
    built = _position_layers(wide, layout, table)
    for layer in wide.layers:
        heads = tuple(
            (piece, tuple(layout.dimension(j) for j in range(piece.wq.shape[1])))
            for head in layer.heads
            for piece in _split_values(head, layout.head_dim)
        )
        built.append(_RopeLayer(heads, layer.mlp, beta, layer.source, layer.does))
    weights = _rope_weights(wide, built, layout, outputs, scale=scale, max_rows=canvas.max_rows)
    real_layers = tuple(
        RealLayer(tuple(head for head, _ in layer.heads), layer.mlp, layer.source, False, layer.does) for layer in built
    )
    return RopeForm(
        weights, replace(wide, layers=real_layers), layout, np.pad(table, ((0, 0), (0, len(extra_columns))))
    )


def _rope_weights(
    wide: RealTransformer,
    layers: list[_RopeLayer],
    layout: RopeLayout,
    outputs: np.ndarray,
    *,
    scale: float,
    max_rows: int,
) -> RopeWeights:
    """Return the tensors: the embedding, all layers, and a logit head that predicts only tokens of `outputs`."""
    hidden = HIDDEN_BLOCK * ceil(max(1, *(_units(layer.mlp) for layer in layers)) / HIDDEN_BLOCK)
    constant = added_column(wide, "constant")
    head = np.zeros((len(wide.embed), layout.width))
    head[:, constant] = NEVER
    head[outputs] = wide.out * scale
    head[outputs, constant] += wide.bias * scale
    return RopeWeights(
        embed=_as_float32(wide.embed),
        layers=tuple(_tensors(layer, layout, hidden, constant) for layer in layers),
        norm=_as_float32(np.full(layout.width, GAIN)),
        head=_as_float32(head),
        heads=layout.heads,
        theta=layout.theta,
        epsilon=EPSILON,
        max_rows=max_rows,
        causal=wide.causal,
    )


def position_table(
    flat: RealTransformer, canvas: StockCanvas, row_bits: np.ndarray, next_bits: np.ndarray
) -> np.ndarray:
    """Return the values that the position layers add to each row, [max_rows, D]; 0 in spare rows."""
    table = np.zeros((canvas.max_rows, flat.width))
    table[canvas.before : canvas.before + canvas.rows] = flat.positions
    for i in range(canvas.max_rows):
        table[i, row_bits] = [2 * (i >> k & 1) - 1 for k in range(len(row_bits))]
        table[i, next_bits] = [2 * ((i + 1) >> k & 1) - 1 for k in range(len(next_bits))]
    return table


def _fewest_score_columns(head: RealHead, constant: list[int]) -> RealHead:
    """Use as few score columns as possible, without keys that are the same in every row: softmax ignores them."""
    scores = head.wq @ head.wk.T
    scores[:, constant] = 0
    keys, queries = np.flatnonzero(scores.any(axis=0)), np.flatnonzero(scores.any(axis=1))
    identity = np.eye(len(scores))
    by_key = replace(head, wq=scores[:, keys], wk=identity[:, keys])
    by_query = replace(head, wq=identity[:, queries], wk=scores[queries].T)
    return min((by_key, by_query, head), key=lambda candidate: candidate.wq.shape[1])


def _fetch_next_row(flat: RealTransformer, row_bits: np.ndarray, next_bits: np.ndarray) -> RealLayer:
    """Replace the columns that the logits read by those of the next row: a head adds these, another subtracts those."""
    identity, width = np.eye(flat.width), flat.width
    read = np.flatnonzero(flat.out.any(axis=0))
    nothing = RealMlp(np.zeros((width, 0)), np.zeros(0), np.zeros((0, width)), np.zeros(width))
    heads = tuple(
        RealHead(
            FETCHING_SCORE * identity[:, query_bits],
            identity[:, row_bits],
            identity[:, read],
            sign * identity[read],
            i,
        )
        for i, (query_bits, sign) in enumerate(((next_bits, 1.0), (row_bits, -1.0)))
    )
    return RealLayer(heads, nothing, len(flat.layers), False, "fetch the logits of the next row")


def _layout(flat: RealTransformer, layers: list[RealLayer], canvas: StockCanvas, choice: RopeChoice) -> RopeLayout:
    """Return the smallest model among the candidates that fit."""
    layouts: list[tuple[float, RopeLayout]] = []
    hidden = max(canvas.max_rows if canvas.shifted else canvas.rows, *(_units(layer.mlp) for layer in layers), 1)
    for head_dim, theta in choice.candidates():
        omegas = turn_per_row(theta, head_dim)
        slowest = tuple(int(m) for m in np.argsort(omegas, kind="stable"))
        error = max(
            (_score_error(head, omegas, slowest, canvas.max_rows) for x in layers for head in x.heads), default=0
        )
        code = position_code(canvas.max_rows, omegas, causal=flat.causal) if error <= LARGEST_SCORE_ERROR else None
        if code is None:
            continue
        heads = max((sum(len(_split_values(head, head_dim)) for head in layer.heads) for layer in layers), default=1)
        heads = max(heads, ceil((flat.width + 1 + code.bits) / head_dim))
        layout = RopeLayout(head_dim, theta, heads, code, slowest, error)
        size = (len(layers) + layout.position_layers) * (4 * layout.width**2 + 3 * layout.width * hidden)
        layouts.append((size, layout))
    if not layouts:
        columns = max((head.wq.shape[1] for layer in layers for head in layer.heads), default=0)
        fixed = {"--rope-theta": choice.theta, "--head-dim": choice.head_dim}
        options = [f"{option} {value:g}" for option, value in fixed.items() if value is not None]
        raise UnmaskError(
            f"no head with {' and '.join(options) or 'up to 64 rotary planes'} has {columns} planes that turn slowly "
            f"enough over {canvas.max_rows} rows, and enough fast ones to distinguish the rows; "
            + ("leave these options out, or use larger values" if options else "use a model of shorter length")
        )
    return min(layouts, key=lambda pair: pair[0])[1]


def _score_error(head: RealHead, omegas: np.ndarray, slowest: tuple[int, ...], rows: int) -> float:
    """Return a bound on the change of a score by the rotation, for rows of zeros and ones."""
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


def _split_values(head: RealHead, width: int) -> list[RealHead]:
    """Split a value map that is wider than a head over several heads with the same scores."""
    count = max(1, ceil(head.wv.shape[1] / width))
    pieces = [slice(i * width, (i + 1) * width) for i in range(count)]
    return [replace(head, wv=head.wv[:, piece], wo=head.wo[piece]) for piece in pieces]


def _position_layers(wide: RealTransformer, layout: RopeLayout, table: np.ndarray) -> list[_RopeLayer]:
    """Return the heads of the code, and the hidden units that turn it into rows of the table."""
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
        layers.append(_RopeLayer(tuple(heads), nothing, 2.0 ** ceil(log2(LEAST_GATE)), -1, "position code"))
    written = np.flatnonzero(table.any(axis=1))
    units = range(int(written[0]), int(written[-1]) + 1)
    w1, w2 = np.zeros((width, len(units))), np.zeros((len(units), width))
    w1[bits], b1 = code.units(units)
    w2[:, : table.shape[1]] = table[units.start : units.stop]
    layers[-1] = replace(layers[-1], mlp=RealMlp(w1, b1, w2, np.zeros(width)), does="position code and table")
    return layers


def _units(mlp: RealMlp) -> int:
    """Return the hidden units, including the one that is always 1 and carries the outer bias."""
    return len(mlp.b1) + bool(np.any(mlp.b2))


def _tensors(layer: _RopeLayer, layout: RopeLayout, hidden: int, constant: int) -> dict[str, np.ndarray]:
    """Return the tensors of a layer under the neutral names."""
    width, size = layout.width, layout.head_dim
    scale = 2.0 ** ceil(log2(sqrt(size)))
    maps = {name: np.zeros((width, width)) for name in "qkvo"}
    for i, (head, dimensions) in enumerate(layer.heads):
        rows = [i * size + dimension for dimension in dimensions]
        values = slice(i * size, i * size + head.wv.shape[1])
        maps["q"][rows], maps["k"][rows] = head.wq.T * scale, head.wk.T
        maps["v"][values], maps["o"][:, values] = head.wv.T, head.wo.T
    mlp, count = layer.mlp, len(layer.mlp.b1)
    gate, up, down = np.zeros((hidden, width)), np.zeros((hidden, width)), np.zeros((width, hidden))
    gate[:count], down[:, :count] = layer.beta * mlp.w1.T, mlp.w2.T
    gate[:count, constant] += layer.beta * mlp.b1
    if np.any(mlp.b2):
        gate[count, constant], down[:, count] = layer.beta, mlp.b2
    up[: _units(mlp), constant] = 1 / layer.beta
    gains = {name: np.full(width, GAIN) for name in ("attention_norm", "mlp_norm")}
    return {name: _as_float32(t) for name, t in {**maps, "gate": gate, "up": up, "down": down, **gains}.items()}


def _as_float32(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float32)
