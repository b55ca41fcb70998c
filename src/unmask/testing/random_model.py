"""Seed → a random model of any kind whose sums clip and whose slots may be rewritten; it never divides by zero.

Queries and keys have entries of at most 1/2, because otherwise most random models would divide by zero; embeddings,
positions, values and MLPs use the whole range, so that sums clip. A model that divides by zero on a word
(on any word if there are at most 1,024, else on 256 sampled words) is drawn again.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from unmask.engines.engine import Engine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, TooLarge, UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.reasoners.run_words import answers
from unmask.testing.draws import Draws
from unmask.weights.kinds import DIFFUSION, KINDS, Kind
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Attention, Head, Layer, Mlp, Noise, Transformer

INPUTS = ("a", "b")
ALL_WORDS = 1024
SOME_WORDS = 256
ATTEMPTS = 2000
LONGEST_RANDOM_WORD = 64


@dataclass(frozen=True)
class RandomSizes:
    """The sizes of a random model; those that are not given are drawn from the seed."""

    padding: int
    steps: int
    layers: int
    heads: int
    width: int
    block: int


@dataclass(frozen=True)
class SaturatingWeights:
    """Random heads and MLPs of one width whose sums clip, drawn in the order of the calls."""

    draws: Draws
    precision: Precision
    width: int

    @property
    def half(self) -> int:
        """1/2."""
        return self.precision.one // 2

    @property
    def double(self) -> int:
        """2, or B if that is less."""
        return min(2 * self.precision.one, self.precision.bound)

    def matrix(self, shape: tuple[int, int], largest: int) -> Matrix:
        """Entries up to `largest`, about a third of them 0."""
        values = self.draws.integers(-largest, largest, shape)
        return Matrix.of(np.where(self.draws.integers(0, 2, shape) > 0, values, 0))

    def head(self, narrow: int, *, peak: int = 1) -> Head:
        """`narrow` columns, keys up to 1/2, and queries up to `peak` times 1/2."""
        shape, query = (self.width, narrow), min(peak * self.half, self.precision.bound)
        return Head(
            self.matrix(shape, query), self.matrix(shape, self.half), self.matrix((self.width, self.width), self.double)
        )

    def mlp(self, hidden: int) -> Mlp:
        bound = self.precision.bound
        return Mlp(
            self.matrix((self.width, hidden), self.double),
            self.draws.integers(-bound, bound, (hidden,)),
            self.matrix((hidden, self.width), self.double),
            self.draws.integers(-bound, self.precision.one, (self.width,)),
        )


def random_model(
    seed: int,
    kind: Kind,
    length: int,
    *,
    precision: int = 2,
    padding: int | None = None,
    steps: int | None = None,
    layers: int | None = None,
    width: int | None = None,
    block: int | None = None,
    stochastic: bool | None = None,
    engine: Engine | None = None,
) -> Model:
    """The random model of a seed. `padding` is for diffusion and looped kinds; other kinds derive it from steps."""
    if not 0 <= seed < 1 << 64:
        raise UnmaskError(f"the seed of a random model must lie in 0 … 2^64 - 1, not {seed}")
    if not 0 <= length <= LONGEST_RANDOM_WORD:
        raise TooLarge(f"random models read words of length 0 … {LONGEST_RANDOM_WORD}, not {length}")
    for attempt in range(ATTEMPTS):
        draws = Draws(seed, KINDS.index(kind), length, precision, attempt)
        sizes = RandomSizes(
            padding=padding if padding is not None else draws.integer(0 if kind == "plt" and length else 1, 4),
            steps=steps if steps is not None else draws.integer(1 if kind == "plt" else 2, 4),
            layers=layers if layers is not None else draws.integer(1, 2),
            heads=draws.integer(1, 2),
            width=width if width is not None else draws.integer(3, 6),
            block=block if block is not None else draws.integer(1, 3),
        )
        model = _draw(draws, kind, length, Precision(precision), sizes, stochastic)
        if _never_divides_by_zero(model, engine or ReferenceEngine(), draws):
            return model
    raise UnmaskError(f"no random {kind} of seed {seed} avoids Z = 0 in {ATTEMPTS} draws; use another seed")


cached_model = lru_cache(maxsize=4096)(random_model)
"""The same model, drawn once per process; for checks that do not change it."""


def sample_words(model: Model, draws: Draws, count: int) -> np.ndarray:
    """Random words as token ids, [count, length]."""
    inputs = np.array([model.token[s] for s in model.input_symbols])
    return inputs[draws.integers(0, inputs.size - 1, (count, model.length))]


def all_words(model: Model) -> np.ndarray:
    """Every word as token ids, in order."""
    inputs = [model.token[s] for s in model.input_symbols]
    words = list(product(inputs, repeat=model.length))
    return np.array(words, dtype=np.int64).reshape(len(words), model.length)


def _draw(
    draws: Draws, kind: Kind, length: int, precision: Precision, sizes: RandomSizes, stochastic: bool | None
) -> Model:
    specials = {
        **dict.fromkeys(DIFFUSION, ("m",)),
        "plt": ("□",),
        "pcot": ("m",),
        "cot": (),
    }[kind]
    padding = {"cot": sizes.steps, "pcot": sizes.steps * sizes.block}.get(kind, sizes.padding)
    # one model in four has a begin symbol; the others only if there is nothing else to read
    empty = length == 0 and (kind == "cot" or (kind == "plt" and padding == 0))
    begin = "^" if empty or draws.integer(0, 3) == 0 else None
    vocabulary = (*INPUTS, *specials, "0", "1", *((begin,) if begin else ()))
    rows = (begin is not None) + length + padding

    def transformer(outputs: int) -> Transformer:
        return _random_transformer(draws, kind, precision, sizes, rows, len(vocabulary), outputs, stochastic)

    if kind in ("mdm", "smdm"):
        planner = transformer(2)
        if kind == "smdm":
            planner = gated_planner(planner, vocabulary.index("m"))
        transformers = {"planner": planner, "predictor": transformer(len(vocabulary))}
    else:
        transformers = {"model": transformer(len(vocabulary))}
    return Model(
        kind=kind,
        length=length,
        padding=padding,
        steps=sizes.steps,
        vocabulary=vocabulary,
        input_symbols=INPUTS,
        accept="1",
        reject="0",
        mask="m" if "m" in specials else None,
        pad="□" if kind == "plt" else None,
        begin=begin,
        block=sizes.block if kind == "pcot" else None,
        k=draws.integer(1, padding) if kind == "topk" and draws.integer(0, 1) else None,
        transformers=transformers,
    )


def _random_transformer(
    draws: Draws,
    kind: Kind,
    precision: Precision,
    sizes: RandomSizes,
    rows: int,
    symbols: int,
    outputs: int,
    stochastic: bool | None,
) -> Transformer:
    width, bound = sizes.width, precision.bound
    weights = SaturatingWeights(draws, precision, width)

    def layer() -> Layer:
        narrow, hidden = draws.integer(1, 3), draws.integer(0, 5)
        return Layer(tuple(weights.head(narrow) for _ in range(sizes.heads)), weights.mlp(hidden))

    attention: Attention = "causal" if kind in ("cot", "pcot") or draws.integer(0, 3) == 0 else "unmasked"
    loop = noise = None
    if kind == "plt":
        first = draws.integer(0, sizes.layers - 1)
        loop = (first, draws.integer(first + 1, sizes.layers))
        if stochastic or (stochastic is None and draws.integer(0, 1)):
            columns = list(range(width))
            noise = Noise(tuple(columns[:1]), tuple(columns[1:3]))
    return Transformer(
        precision=precision,
        embed=weights.matrix((symbols, width), bound),
        positions=draws.integers(-bound, bound, (rows, width)),
        layers=tuple(layer() for _ in range(sizes.layers)),
        out=weights.matrix((outputs, width), weights.double),
        attention=attention,
        loop=loop,
        noise=noise,
    )


def gated_planner(planner: Transformer, mask: int) -> Transformer:
    """The planner with an additional column that is 1 only on masks and that forbids every other slot.

    2·B·(1 - masked) is added to l_keep and subtracted from l_take through two columns, so l_take > l_keep needs a mask.
    """
    precision, width, symbols = planner.precision, planner.width, planner.embed.shape[0]
    embed = np.zeros((symbols, width + 2), dtype=np.int64)
    embed[:, :width] = planner.embed.dense()
    embed[[s for s in range(symbols) if s != mask], width:] = precision.one
    out = np.zeros((2, width + 2), dtype=np.int64)
    out[:, :width] = planner.out.dense()
    out[0, width:], out[1, width:] = precision.bound, -precision.bound
    positions = np.hstack([planner.positions, np.zeros((len(planner.positions), 2), dtype=np.int64)])
    return Transformer(
        precision=precision,
        embed=Matrix.of(embed),
        positions=positions,
        layers=tuple(_widened(layer, width + 2) for layer in planner.layers),
        out=Matrix.of(out),
        attention=planner.attention,
    )


def _widened(layer: Layer, width: int) -> Layer:
    """The same layer on a wider stream; the additional columns are neither read nor written."""

    def wider(matrix: Matrix, shape: tuple[int, int]) -> Matrix:
        return Matrix.from_entries(shape, matrix.row, matrix.column, matrix.value)

    heads = tuple(
        Head(wider(h.wq, (width, h.wq.shape[1])), wider(h.wk, (width, h.wk.shape[1])), wider(h.wv, (width, width)))
        for h in layer.heads
    )
    mlp = layer.mlp
    hidden, more = mlp.w1.shape[1], width - mlp.b2.size
    return Layer(
        heads,
        Mlp(wider(mlp.w1, (width, hidden)), mlp.b1, wider(mlp.w2, (hidden, width)), np.append(mlp.b2, [0] * more)),
    )


def _never_divides_by_zero(model: Model, engine: Engine, draws: Draws) -> bool:
    few = len(model.input_symbols) ** model.length <= ALL_WORDS
    words = all_words(model) if few else sample_words(model, draws, SOME_WORDS)
    try:
        answers(model, words, engine=engine)
    except AttendsToNothing:
        return False
    return True
