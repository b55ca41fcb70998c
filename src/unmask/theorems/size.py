"""Size: the numbers of a source that the price of its conversion is a formula of; no weights."""

from dataclasses import dataclass, replace

from unmask.weights.model import Kind, Model
from unmask.weights.transformer import Attention, Transformer


@dataclass(frozen=True)
class TransformerSize:
    """Columns, layers and symbols; layers before and after the loop, whether the latter attend; noisy columns."""

    width: int
    layers: int
    symbols: int
    attention: Attention = "unmasked"
    initial: int = 0
    final: int = 0
    final_attends: bool = False
    noise: int = 0

    @classmethod
    def of(cls, transformer: Transformer) -> "TransformerSize":
        first, last = transformer.loop or (0, 0)
        noise = transformer.noise
        return cls(
            width=transformer.width,
            layers=len(transformer.layers),
            symbols=transformer.embed.shape[0],
            attention=transformer.attention,
            initial=first,
            final=len(transformer.layers) - last,
            final_attends=any(layer.heads for layer in transformer.layers[last:]),
            noise=0 if noise is None else len(noise.planner) + len(noise.predictor),
        )


@dataclass(frozen=True)
class Size:
    """Everything that a bound depends on."""

    kind: Kind
    length: int
    begin: int
    steps: int
    padding: int
    block: int
    precision: int
    transformers: dict[str, TransformerSize]
    answers: int = 1
    """Of a looped model: the number of rows that it decodes."""

    @classmethod
    def of(cls, model: Model) -> "Size":
        return cls(
            kind=model.kind,
            length=model.length,
            begin=int(model.begin is not None),
            steps=model.steps,
            padding=model.padding,
            block=model.block or 1,
            precision=model.precision.p,
            transformers={name: TransformerSize.of(t) for name, t in model.transformers.items()},
            answers=model.answer_rows if model.kind == "plt" else 1,
        )

    @property
    def rows(self) -> int:
        return self.begin + self.length + self.padding

    @property
    def model(self) -> TransformerSize:
        """The transformer of a kind that has but one."""
        return self.transformers["model"]

    @property
    def symbols(self) -> int:
        return max(t.symbols for t in self.transformers.values())

    @property
    def width(self) -> int:
        """Of all transformers together."""
        return sum(t.width for t in self.transformers.values())

    @property
    def layers(self) -> int:
        return max(t.layers for t in self.transformers.values())

    @property
    def numbers(self) -> int:
        """How many numbers F_p has."""
        return 2 ** (2 * self.precision + 1) - 1

    def causal_columns(self, *, stays: bool = True) -> int:
        """What `shared_attention` adds: two columns per row where a causal source becomes unmasked; else nothing.

        `stays`: where all sources are causal, the result is.
        """
        kinds = {t.attention for t in self.transformers.values()}
        return 0 if "causal" not in kinds or (kinds == {"causal"} and stays) else 2 * self.rows

    def as_in_the_paper(self) -> "Size":
        """The same where only chains of thought are causal."""
        if self.kind in ("cot", "pcot"):
            return self
        unmasked = {name: replace(t, attention="unmasked") for name, t in self.transformers.items()}
        return replace(self, transformers=unmasked)

    def grown(self, bits: int) -> "Size":
        """A source of the same kind for words of 2^bits letters: T = 2^bits, P = 4^bits, a width of D·bits."""
        steps = 1 << bits
        padding = steps if self.kind == "cot" else steps << bits
        return replace(
            self,
            length=1 << bits,
            steps=steps,
            padding=padding,
            block=padding // steps,
            transformers={name: replace(t, width=t.width * bits) for name, t in self.transformers.items()},
        )
