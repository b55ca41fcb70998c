"""The network: a transformer with pre-norm, one linear map of codes in place of a positional encoding, and read-outs.

    h⁰        = token[x] + W·code                                             per row
    layer     : h + Σ_heads softmax(q·kᵀ/√d + β_head·[k is the operand of this head])·v,   on norm(h)
                h + W₃(W₁x ⊙ W₂x), or W₃·gelu(W₁x),   x = norm(h)
    logits    = out·norm(h),   aux_f = out_f·norm(h) for each operand f,   correct = c·norm(h), which trains c alone

Head i is biased towards operand i modulo their number. A looped model applies its layers repeatedly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from unmask.errors import TooLarge
from unmask.lab.settings import EncodingName, Shape
from unmask.lab.task_layouts import FETCHES, MOST_ROWS, NO_OPERAND, ROW_BITS
from unmask.lab.tasks import LabTask

# Positional inputs of a row: numbers that depend only on (step, row), never on what is written.
#
#     bits        ±1 for every bit of its own place and of each operand's, 0 without an operand
#     positions   ±1 for every bit of its own place
#     learned     its place, one-hot
#     none        nothing
#
# A row number has ROW_BITS bits for every N, so that a network can be run at lengths on which it was not trained.


def code_width(encoding: EncodingName, fetches: int = FETCHES) -> int:
    return {"bits": (1 + fetches) * ROW_BITS, "positions": ROW_BITS, "learned": MOST_ROWS, "none": 0}[encoding]


def pointer_codes(encoding: EncodingName, pointers: np.ndarray) -> np.ndarray:
    """Return codes [steps, rows, code_width] from pointers [steps, rows, fetches]."""
    steps, rows, _ = pointers.shape
    if rows > MOST_ROWS:
        raise TooLarge(f"the lab supports at most {MOST_ROWS} rows, but this task has {rows}; use a shorter length")
    own_rows = np.broadcast_to(np.arange(rows), (steps, rows))
    if encoding == "learned":
        return np.eye(MOST_ROWS, dtype=np.float32)[own_rows]
    coded = {"bits": [own_rows, *np.moveaxis(pointers, -1, 0)], "positions": [own_rows], "none": []}[encoding]
    empty = np.zeros((steps, rows, 0), dtype=np.float32)
    return np.concatenate([empty, *(_signs(rows_of_code) for rows_of_code in coded)], axis=-1)


def _signs(places: np.ndarray) -> np.ndarray:
    bits = places[..., None] >> np.arange(ROW_BITS) & 1
    return np.where(places[..., None] == NO_OPERAND, 0, 2 * bits - 1).astype(np.float32)


TOKEN_STD = 0.5
EVERY_ROW = slice(None)
Watch = Callable[[str, Tensor], None]
"""A function called with `layers.0.weights` [batch, heads, rows, rows] and `layers.0.residual` [batch, rows, width]."""


@dataclass(frozen=True, eq=False)
class PlaceInputs:
    """The inputs that depend only on the place, for the rows of a batch: codes [batch, rows, code] and operands.

    `operands[b, f, q, k]` is 1 where k is the f-th operand of q, and `visible[q, k]` where q may read k.
    """

    codes: Tensor
    operands: Tensor
    visible: Tensor | None


class KeyValueCache:
    """Keys and values of earlier rows, by layer: a causal network need not compute them again."""

    def __init__(self) -> None:
        self.rows = 0
        self._stored: dict[str, tuple[Tensor, Tensor]] = {}

    def joined(self, name: str, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append keys and values to those of the rows before, store the result and return it."""
        if name in self._stored:
            k, v = (torch.cat(pair, dim=-2) for pair in zip(self._stored[name], (k, v), strict=True))
        self._stored[name] = k, v
        return k, v


class TrainedNetwork(nn.Module):
    """The transformer that is trained: codes and tokens in, logits and a read-out of correctness out."""

    def __init__(self, shape: Shape, vocabulary: int, fetches: int = FETCHES) -> None:
        super().__init__()
        self.shape, self.fetches = shape, fetches
        self.token = nn.Embedding(vocabulary, shape.width)
        nn.init.normal_(self.token.weight, std=TOKEN_STD)
        code = code_width(shape.encoding, fetches)
        self.code = nn.Linear(code, shape.width, bias=False) if code else None
        if self.code is not None:
            with torch.no_grad():
                self.code.weight.mul_(shape.code_scale)
        self.layers = nn.ModuleList(NetworkLayer(shape, fetches) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.out = nn.Linear(shape.width, vocabulary)
        self.aux = nn.Linear(shape.width, fetches * vocabulary) if shape.aux else None
        self.correct = nn.Linear(shape.width, 1)

    def embed(self, tokens: Tensor, places: PlaceInputs) -> Tensor:
        hidden = self.token(tokens)
        return hidden if self.code is None else hidden + self.code(places.codes)

    def pass_through(
        self,
        hidden: Tensor,
        places: PlaceInputs,
        watch: Watch | None = None,
        past: KeyValueCache | None = None,
        needed_rows: slice = EVERY_ROW,
    ) -> Tensor:
        """Apply all layers once; the last one only to the rows whose output is needed."""
        for number, layer in enumerate(self.layers):
            rows = needed_rows if number == len(self.layers) - 1 else EVERY_ROW
            hidden = layer(hidden, places, watch, past, f"layers.{number}", rows)
        return hidden

    def forward(
        self,
        tokens: Tensor,
        places: PlaceInputs,
        watch: Watch | None = None,
        past: KeyValueCache | None = None,
        needed_rows: slice = EVERY_ROW,
    ) -> Tensor:
        """Return the normalised stream after all layers, [batch, requested rows, width], which the read-outs use."""
        return self.norm(self.pass_through(self.embed(tokens, places), places, watch, past, needed_rows))

    def logits(self, stream: Tensor) -> Tensor:
        return self.out(stream)

    def operand_logits(self, stream: Tensor) -> Tensor:
        """Return the logits of the operands, [batch, rows, fetches, vocabulary]."""
        assert self.aux is not None
        return self.aux(stream).unflatten(-1, (self.fetches, -1))

    def correctness(self, stream: Tensor) -> Tensor:
        """Return the logit of "the likeliest symbol is right", [batch, rows]."""
        return self.correct(stream.detach())[..., 0]


class NetworkLayer(nn.Module):
    """Attention, then an MLP, each after a layer norm and added to its input."""

    def __init__(self, shape: Shape, fetches: int) -> None:
        super().__init__()
        self.attention = NetworkAttention(shape, fetches)
        self.mlp = NetworkMlp(shape)
        self.norms = nn.ModuleList(nn.LayerNorm(shape.width) for _ in range(2))

    def forward(
        self,
        hidden: Tensor,
        places: PlaceInputs,
        watch: Watch | None,
        past: KeyValueCache | None,
        name: str,
        needed_rows: slice,
    ) -> Tensor:
        hidden = hidden[:, needed_rows] + self.attention(self.norms[0](hidden), places, watch, past, name, needed_rows)
        hidden = hidden + self.mlp(self.norms[1](hidden))
        if watch is not None:
            watch(f"{name}.residual", hidden)
        return hidden


class NetworkAttention(nn.Module):
    """Attention of several heads; some may start with a bias towards the operands of a row."""

    def __init__(self, shape: Shape, fetches: int) -> None:
        super().__init__()
        self.heads, self.fetches = shape.heads, fetches
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.merge = nn.Linear(shape.width, shape.width, bias=False)
        self.handed = fetches if shape.handed is None else shape.handed
        self.beta = None if shape.beta is None else nn.Parameter(torch.full((shape.heads,), float(shape.beta)))

    def forward(
        self,
        x: Tensor,
        places: PlaceInputs,
        watch: Watch | None,
        past: KeyValueCache | None,
        name: str,
        needed_rows: slice,
    ) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = past.joined(name, k, v)
        q = q[:, :, needed_rows]
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if self.beta is not None:
            operand = torch.arange(self.heads) % self.fetches
            beta = self.beta * (operand < self.handed).to(self.beta)
            scores = scores + beta[:, None, None] * places.operands[:, operand][:, :, needed_rows]
        if places.visible is not None:
            scores = scores.masked_fill(~places.visible[needed_rows], float("-inf"))
        weights = scores.softmax(dim=-1)
        if watch is not None:
            watch(f"{name}.weights", weights)
        return self.merge((weights @ v).transpose(1, 2).flatten(-2))


class NetworkMlp(nn.Module):
    """One hidden layer, of GELU units or of products of two linear maps."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.bilinear = shape.mlp == "bilinear"
        self.up = nn.Linear(shape.width, (1 + self.bilinear) * shape.hidden)
        self.down = nn.Linear(shape.hidden, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        if self.bilinear:
            left, right = self.up(x).chunk(2, dim=-1)
            return self.down(left * right)
        return self.down(nn.functional.gelu(self.up(x)))


# Task × steps → Places: the positional inputs of the rows of a batch, row b in step steps[b].


class PlaceTable:
    """The places of a task in all of its steps, as tensors that are indexed by batch."""

    def __init__(self, task: LabTask, encoding: EncodingName, device: torch.device | str = "cpu") -> None:
        pointers = task.pointers
        rows = pointers.shape[1]
        operands = pointers[..., None] == np.arange(rows)
        assert not operands[pointers == NO_OPERAND].any()
        self.codes = torch.from_numpy(pointer_codes(encoding, pointers)).to(device)
        self.operands = torch.from_numpy(np.moveaxis(operands, 2, 1).astype(np.float32)).to(device)
        self.visible = torch.ones(rows, rows, dtype=torch.bool, device=device).tril() if task.causal else None
        self._steady = bool((pointers == pointers[:1]).all())

    def at(self, steps: Tensor | int, rows: int | None = None, first: int = 0) -> PlaceInputs:
        """Return the places of the rows [first, rows) only, as readers of the rows before `rows`."""
        if self._steady or isinstance(steps, int):
            step = 0 if self._steady else int(steps)
            code, operands = self.codes[step : step + 1], self.operands[step : step + 1]
        else:
            code, operands = self.codes[steps], self.operands[steps]
        visible = self.visible
        if rows is not None:
            code, operands = code[:, first:rows], operands[:, :, first:rows, :rows]
            visible = None if visible is None else visible[first:rows, :rows]
        return PlaceInputs(code, operands, visible)
