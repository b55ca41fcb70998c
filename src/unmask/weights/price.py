"""Price: what a model uses of everything that the paper counts or takes for granted; Extent: what a compiler promises.

    width <= fixed + per_bit·⌈log2 places⌉

A compiler says at every length N what its transformers take. Layers, symbols, `fixed` and `per_bit` must be the same
for all N, and `places`, how many rows an address can name, polynomial in N: then depth and alphabet are O(1), and the
width is O(log N).
"""

from dataclasses import asdict, dataclass, fields

from unmask.weights.model import Model


@dataclass(frozen=True)
class Price:
    """Steps, padding, layers and columns of the deepest and of the widest transformer, symbols of the alphabet.

    The paper bounds steps and padding; it takes finite depth, a finite alphabet and logarithmic width for granted.
    """

    steps: int
    padding: int
    layers: int
    width: int
    symbols: int

    @classmethod
    def of(cls, model: Model) -> "Price":
        transformers = model.transformers.values()
        return cls(
            model.steps,
            model.padding,
            max(len(t.layers) for t in transformers),
            max(t.width for t in transformers),
            len(model.vocabulary),
        )

    def within(self, bound: "Price") -> bool:
        return all(getattr(self, field.name) <= getattr(bound, field.name) for field in fields(self))

    def to_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True)
class Extent:
    """Layers, symbols and width of what a compiler writes, at most; only `places` may depend on N.

    A recurrence has finitely many cases, and a short word may lack some: `cases` are those that occur.
    """

    layers: int
    symbols: int
    fixed: int
    per_bit: int
    places: int
    cases: frozenset = frozenset()

    @property
    def bits(self) -> int:
        """⌈log2 places⌉, at least 1."""
        return max(1, (self.places - 1).bit_length())

    @property
    def width(self) -> int:
        return self.fixed + self.per_bit * self.bits

    @property
    def without_places(self) -> tuple[int, int, int, int]:
        """What must not depend on N."""
        return self.layers, self.symbols, self.fixed, self.per_bit

    def price(self, steps: int, padding: int) -> Price:
        return Price(steps, padding, self.layers, self.width, self.symbols)
