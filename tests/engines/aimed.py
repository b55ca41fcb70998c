"""Seed × kind → a model that is aimed at the shortcuts of the fast engine: where they begin, and where they stop.

family    weights
extreme   every matrix by a law of its own: all B, all -B, ±B, ±B and 0, 0, ±1, or anything; width 1, no heads or many
planted   codes that a head looks up, as in `planted`
edge      the same, with the scales at which a mismatch only just vanishes, or only just does not
missed    the same, with a few integers one off: a code, an address, a scale, a value, a bias
narrow    transformers of a single column

No model is replaced because a row attends to nothing: both engines must raise the same error.
"""

from dataclasses import replace

import numpy as np

from engines.planted import SYMBOLS, Planter
from unmask.numerics.arithmetic import multiply
from unmask.numerics.number_lemmas import sharp_thresholds
from unmask.testing.random_model import gated_planner
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

FAMILIES = ("extreme", "planted", "edge", "missed", "narrow")
SPECIAL = {"plt": "□", "cot": "c"}
LAWS = ("most", "least", "signs", "sparse", "nothing", "ones", "any", "tame")


def aimed_model(seed, kind):
    """Return the model of a seed; successive seeds go through all precisions and families."""
    aim = Aim(seed, 1 + seed % 8, FAMILIES[seed // 8 % len(FAMILIES)])
    rng = aim.rng
    length, padding, block = int(rng.integers(0, 5)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    steps = int(rng.integers(1, 7))
    if kind == "plt" and length and aim.chance(0.3):
        padding = 0
    if kind == "cot":
        length, padding = max(1, length), steps
    if kind == "pcot":
        padding = steps * block
    vocabulary = ("a", "b", SPECIAL.get(kind, "m"), "0", "1")
    assert len(vocabulary) == SYMBOLS
    names = ("planner", "predictor") if kind in ("mdm", "smdm") else ("model",)
    parts = {name: aim.transformer(kind, length + padding, 2 if name == "planner" else SYMBOLS) for name in names}
    if kind == "smdm" and aim.chance(0.7):  # the others choose a written slot, which is an error
        parts["planner"] = gated_planner(parts["planner"], vocabulary.index("m"))
    return Model(
        kind=kind,
        length=length,
        padding=padding,
        steps=steps,
        vocabulary=vocabulary,
        input_symbols=("a", "b"),
        accept="1",
        reject="0",
        mask=None if kind in SPECIAL else "m",
        pad="□" if kind == "plt" else None,
        block=block if kind == "pcot" else None,
        k=int(rng.integers(1, padding + 1)) if kind == "topk" and aim.chance(0.5) else None,
        transformers=parts,
    )


class Aim(Planter):
    """Draws the transformers of one family."""

    def __init__(self, seed, p, family):
        super().__init__(seed, p)
        self.family = family

    def transformer(self, kind, rows, outputs):
        attention = "causal" if kind in ("cot", "pcot") else str(self.rng.choice(["unmasked", "unmasked", "causal"]))
        if self.family in ("extreme", "narrow"):
            transformer = self._extreme(rows, outputs, attention)
        else:
            transformer = super().transformer(attention=attention, rows=rows)
            transformer = replace(transformer, out=Matrix.of(self._by(self._law(), (outputs, transformer.width))))
        if self.family == "edge":
            transformer = self._at_the_edge(transformer)
        if self.family == "missed":
            for _ in range(int(self.rng.integers(1, 4))):
                transformer = self._one_off(transformer)
        return replace(transformer, loop=self._loop(transformer)) if kind == "plt" else transformer

    def _loop(self, transformer):
        first, last = np.sort(self.rng.integers(0, len(transformer.layers) + 1, 2))
        return int(first), int(last)

    # extreme

    def _law(self):
        return str(self.rng.choice(LAWS))

    def _by(self, law, shape):
        if law == "any":
            return self._random(shape, self.bound)
        if law == "tame":
            return self._random(shape, max(1, self.one // 4), full=1)
        signs = self.rng.integers(-1, 2, shape) if law == "sparse" else self.rng.choice([-1, 1], shape)
        scaled = {"most": np.ones(shape, int), "least": -np.ones(shape, int), "nothing": np.zeros(shape, int)}
        return scaled.get(law, signs) * (1 if law == "ones" else self.bound)

    def _extreme(self, rows, outputs, attention):
        width = 1 if self.family == "narrow" else int(self.rng.choice([1, 2, 3, 6]))
        return Transformer(
            precision=self.precision,
            embed=Matrix.of(self._by(self._law(), (SYMBOLS, width))),
            positions=self._by(self._law(), (rows, width)),
            layers=tuple(self._extreme_layer(width) for _ in range(int(self.rng.integers(1, 4)))),
            out=Matrix.of(self._by(self._law(), (outputs, width))),
            attention=attention,
        )

    def _extreme_layer(self, width):
        heads, hidden = int(self.rng.choice([0, 1, 2, 3, 12])), int(self.rng.choice([0, 1, 4, 40]))

        def head():
            inner = int(self.rng.choice([0, 1, 2, 7]))
            # of two extreme sides most rows attend to nothing
            query, key = ("tame", self._law()) if self.chance(0.7) else (self._law(), self._law())
            return Head(
                Matrix.of(self._by(query, (width, inner))),
                Matrix.of(self._by(key, (width, inner))),
                Matrix.of(self._by(self._law(), (width, width))),
            )

        mlp = Mlp(
            Matrix.of(self._by(self._law(), (width, hidden))),
            self._by(self._law(), (hidden,)),
            Matrix.of(self._by(self._law(), (hidden, width))),
            self._by(self._law(), (width,)),
        )
        return Layer(tuple(head() for _ in range(heads)), mlp)

    # near misses

    def _at_the_edge(self, transformer):
        """Every scale of B or B/2 → one at which two mismatches add up to where exp becomes 0, or nearly."""
        _, vanished = sharp_thresholds(self.precision)
        scales = np.arange(1, self.bound + 1)
        reached = 2 * multiply(scales, self.one, self.precision) + vanished
        edges = scales[np.abs(reached) <= 2]

        def edged(head):
            query = head.wq.dense()
            strong = (np.abs(query) == self.bound) | (np.abs(query) == self.bound // 2)
            query = np.where(strong, np.sign(query) * int(self.rng.choice(edges)), query)
            return replace(head, wq=Matrix.of(query))

        return self._with_layers(transformer, lambda layer: replace(layer, heads=tuple(map(edged, layer.heads))))

    def _with_layers(self, transformer, change):
        return replace(transformer, layers=tuple(map(change, transformer.layers)))

    def _nudged(self, array):
        """Change one integer by one, within F_p."""
        array = np.array(array, dtype=np.int64)
        if array.size:
            index = int(self.rng.integers(array.size))
            array.flat[index] = np.clip(array.flat[index] + self.rng.choice([-1, 1]), -self.bound, self.bound)
        return array

    def _one_off(self, transformer):
        match int(self.rng.integers(5)):
            case 0:
                return replace(transformer, positions=self._nudged(_dense(transformer.positions)))
            case 1:
                return replace(transformer, embed=Matrix.of(self._nudged(transformer.embed.dense())))
            case 2:
                return self._with_layers(
                    transformer, lambda layer: replace(layer, mlp=replace(layer.mlp, b2=self._nudged(layer.mlp.b2)))
                )
            case _:
                name = str(self.rng.choice(["wq", "wk", "wk", "wv"]))

                def off(head):
                    return replace(head, **{name: Matrix.of(self._nudged(getattr(head, name).dense()))})

                return self._with_layers(transformer, lambda layer: replace(layer, heads=tuple(map(off, layer.heads))))


def _dense(table):
    return table if isinstance(table, np.ndarray) else table[np.arange(len(table))]
