"""Model: transformers and the fields that say how they run, as in a model folder; `kinds.py` lists the kinds."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from html import escape
from typing import Any, SupportsIndex

from unmask.errors import WeightsError, shortened
from unmask.numerics.arithmetic import Precision
from unmask.weights.kinds import DIFFUSION, KINDS, Kind
from unmask.weights.size_limits import check_steps
from unmask.weights.transformer import Transformer

LONGEST_DESCRIPTION = 80  # characters of the problem and conversions in a description


@dataclass(frozen=True, eq=False)
class Model:
    """A model, checked when it is created; `length`, `padding`, `steps` are the N, P, T of the paper.

    Examples:
        >>> model = compile_problem("(a|b)*abb", "mdm", length=9)
        >>> model.kind, model.steps, {name: t.width for name, t in model.transformers.items()}
        ('mdm', 4, {'planner': 21, 'predictor': 82})
    """

    kind: Kind
    length: int
    padding: int
    steps: int
    vocabulary: tuple[str, ...]
    input_symbols: tuple[str, ...]
    accept: str
    reject: str
    transformers: dict[str, Transformer]
    mask: str | None = None
    pad: str | None = None
    begin: str | None = None
    block: int | None = None
    k: int | None = None
    outputs: int | None = None
    """The last `outputs` symbols are the answers, in order. None: one answer for a plt, unstated for other kinds."""
    aliases: dict[str, str] = field(default_factory=dict)
    characters: tuple[tuple[int, int, str], ...] | None = None
    problem: Any = field(default_factory=dict)
    provenance: Any = field(default_factory=list)

    @property
    def precision(self) -> Precision:
        return next(iter(self.transformers.values())).precision

    @property
    def rows(self) -> int:
        """S, the number of rows: begin symbol, input, and slots or pads."""
        return (self.begin is not None) + self.length + self.padding

    @property
    def answer_rows(self) -> int:
        """The number of last rows that a looped model decodes: one per answer."""
        return self.outputs or 1

    @property
    def symbols_written(self) -> int:
        """The number of symbols at the end of a run: the answers of a looped model, else all slots."""
        return self.answer_rows if self.kind == "plt" else self.padding

    @property
    def problem_fields(self) -> dict[str, Any]:
        """The fields of the stored problem; {} if it is not a JSON object, which is possible in a foreign folder."""
        stored = self.problem
        return stored if isinstance(stored, dict) else {}

    @property
    def notes_answers(self) -> bool:
        """Whether the folder states the number of answer slots, as the folder of a program does."""
        stored = self.problem_fields
        return isinstance(stored.get("slots"), list) and type(stored.get("outputs")) is int

    @property
    def stated_answers(self) -> int:
        """The number of symbols at the end of a run that are its answers; 1 if the folder does not state it."""
        if not self.notes_answers:
            return 1
        return max(1, self.problem["outputs"]) if self.outputs is None else self.outputs

    @property
    def loop(self) -> tuple[int, int, int]:
        """(l1, l2, the number of layers) of a looped model."""
        transformer = self.transformers["model"]
        return *(transformer.loop or (0, 0)), len(transformer.layers)

    @cached_property
    def token(self) -> dict[str, int]:
        """symbol → token id."""
        return {symbol: i for i, symbol in enumerate(self.vocabulary)}

    def symbols(self, tokens: Iterable[SupportsIndex]) -> list[str]:
        return [self.vocabulary[t] for t in tokens]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise WeightsError(f"reasoner must be one of {', '.join(KINDS)}, not {self.kind!r}")
        self._check_symbols()
        self._check_sizes()
        self._check_transformers()

    def _check_symbols(self) -> None:
        vocabulary = set(self.vocabulary)
        if len(vocabulary) < len(self.vocabulary):
            twice = next(s for i, s in enumerate(self.vocabulary) if self.token[s] != i)
            raise WeightsError(f"the vocabulary names {twice!r} twice; its symbols must be distinct")
        if len(set(self.input_symbols)) < len(self.input_symbols):
            raise WeightsError("input_symbols must be distinct")
        special = {name: getattr(self, name) for name in ("mask", "pad", "accept", "reject", "begin")}
        for name, symbol in (*special.items(), *(("input_symbols", s) for s in self.input_symbols)):
            if symbol is not None and symbol not in vocabulary:
                raise WeightsError(f"{name} names {symbol!r}, which is not in the vocabulary")
        for name, symbol in special.items():
            if symbol in self.input_symbols:
                raise WeightsError(f"{name} is {symbol!r}, which is also an input symbol; use another name")
        if self.accept == self.reject:
            raise WeightsError(f"accept and reject are both {self.accept!r}; they must differ")
        for old, new in self.aliases.items():
            if old not in vocabulary or new not in vocabulary:
                raise WeightsError(f"aliases maps {old!r} to {new!r}; both must be in the vocabulary")
        if self.kind in (*DIFFUSION, "pcot") and self.mask is None:
            raise WeightsError(f"a model of kind {self.kind} needs a mask symbol")
        if self.kind in DIFFUSION and self.mask in (self.accept, self.reject):
            raise WeightsError(f"the mask {self.mask!r} cannot be the accept or reject symbol")
        self._check_characters()

    def _check_characters(self) -> None:
        if self.characters is None:
            return
        before, inputs = -1, set(self.input_symbols)
        for first, last, symbol in self.characters:
            if not before < first <= last <= 0x10FFFF:
                raise WeightsError(
                    f"characters must be increasing ranges of code points, and [{first}, {last}] is not one; "
                    "correct config.json"
                )
            if symbol not in inputs:
                raise WeightsError(f"characters maps [{first}, {last}] to {symbol!r}, which is not an input symbol")
            before = last

    def _check_sizes(self) -> None:
        smallest = {
            "length": 0,
            "padding": 0 if self.kind == "plt" else 1,
            "steps": 0 if self.kind == "plt" else 1,
        }
        for name, least in smallest.items():
            if getattr(self, name) < least:
                raise WeightsError(f"{name} must be at least {least} for {self.kind}, not {getattr(self, name)}")
        if self.length and not self.input_symbols:
            raise WeightsError(f"length is {self.length}, but there are no input_symbols to make a word of; name some")
        if self.kind == "plt" and self.padding and self.pad is None:
            raise WeightsError("a plt with padding needs a pad symbol")
        if (self.block is None) != (self.kind != "pcot"):
            raise WeightsError("block must be given for pcot, and for no other kind")
        if self.k is not None and (self.kind != "topk" or self.k < 1):
            raise WeightsError("k must be a positive integer, for topk alone")
        most = self.rows if self.kind == "plt" else self.padding
        if self.outputs is not None and not 1 <= self.outputs <= most:
            rows = "rows" if self.kind == "plt" else "slots"
            raise WeightsError(f"outputs must be from 1 to {most}, the number of {rows}, not {self.outputs}")
        expected = {"cot": self.steps, "pcot": self.steps * (self.block or 0)}.get(self.kind, self.padding)
        if self.padding != expected or self.block == 0:
            formula = "steps" if self.kind == "cot" else "steps times block, with a positive block"
            raise WeightsError(f"padding must be {formula} for {self.kind}, not {self.padding}")
        reads = (self.begin is not None) + self.length + (0 if self.kind == "cot" else self.padding)
        if not reads:
            raise WeightsError(f"a {self.kind} with no input and no padding has no row to read; declare a begin symbol")
        check_steps(self.steps)

    def _check_transformers(self) -> None:
        names = ("planner", "predictor") if self.kind in ("mdm", "smdm") else ("model",)
        if tuple(sorted(self.transformers)) != tuple(sorted(names)):
            raise WeightsError(
                f"a model of kind {self.kind} has the transformers {' and '.join(names)}, "
                f"not {', '.join(self.transformers) or 'none'}"
            )
        for name, transformer in self.transformers.items():
            outputs = 2 if name == "planner" else len(self.vocabulary)
            _check_rows(name, "embed", transformer.embed.shape[0], len(self.vocabulary), "symbols of the vocabulary")
            _check_rows(name, "pos", len(transformer.positions), self.rows, "rows: begin, input and padding")
            _check_rows(name, "out", transformer.out.shape[0], outputs, "outputs")
            if transformer.precision != self.precision:
                raise WeightsError("all transformers of a model must have the same precision")
            if (transformer.loop is None) != (self.kind != "plt"):
                raise WeightsError(f"the {name} must have a loop if and only if the model is a plt")
            if transformer.noise is not None:
                self._check_noise(name, transformer)
            if self.kind in ("cot", "pcot") and transformer.attention != "causal":
                raise WeightsError(f"the attention of a {self.kind} must be 'causal'")

    def _check_noise(self, name: str, transformer: Transformer) -> None:
        assert transformer.noise is not None
        if self.kind != "plt":
            raise WeightsError(f"the {name} has noise columns, which only a plt may have")
        if len(transformer.noise.planner) > 2 or len(transformer.noise.predictor) > len(self.vocabulary):
            raise WeightsError("noise has at most 2 planner columns and one predictor column per symbol")

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The names of the slots in a program, as stored with the problem: a comment; () without names."""
        names = self.problem_fields.get("slots")
        fits = isinstance(names, list) and len(names) == self.padding and all(isinstance(n, str) for n in names)
        return tuple(names) if names is not None and fits else ()

    @property
    def numbers_computed(self) -> int:
        """The number of entries in all residual streams and attention weights of a run."""
        rows, passes = self.rows, self.steps + 2
        return passes * sum(
            rows * t.width * (len(t.layers) + 1) + rows * rows * sum(len(layer.heads) for layer in t.layers)
            for t in self.transformers.values()
        )

    def plain(self, symbols: list[str]) -> list[str]:
        """Return symbols with the aliases applied, for comparing results of different models."""
        return [self.aliases.get(s, s) for s in symbols]

    @property
    def _origin(self) -> str:
        """The problem and the conversions that the folder names: a comment, quoted in descriptions and not trusted."""
        provenance = self.provenance if isinstance(self.provenance, list) else []
        sources = [entry.get("compiled") or entry.get("converted") for entry in provenance if isinstance(entry, dict)]
        words = [word for word in sources if isinstance(word, str)]
        if not words and self.problem:
            words = [json.dumps(self.problem, ensure_ascii=False)]
        return shortened(" → ".join(words) or "no problem named", most=LONGEST_DESCRIPTION)

    def __repr__(self) -> str:
        """`Model(mdm, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb)`."""
        sizes = f"N = {self.length}, P = {self.padding}, T = {self.steps}, F_{self.precision.p}"
        return f"Model({self.kind}, {sizes}, {self._origin})"

    def _repr_html_(self) -> str:
        """The same as a table, with the sizes of the transformers, for a notebook."""
        rows = [
            ("kind", self.kind),
            ("problem", self._origin),
            ("N, letters of a word", str(self.length)),
            ("P, slots or pads", str(self.padding)),
            ("T, steps", str(self.steps)),
            ("precision", f"F_{self.precision.p}"),
            ("vocabulary", f"{len(self.vocabulary)} symbols, {len(self.input_symbols)} of them letters"),
            *((name, _size_of(transformer)) for name, transformer in self.transformers.items()),
        ]
        cells = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
        return f"<table>{cells}</table>"


def _size_of(transformer: Transformer) -> str:
    heads = sum(len(layer.heads) for layer in transformer.layers)
    sizes = {"width": transformer.width, "layers": len(transformer.layers), "heads": heads}
    return ", ".join(f"{name} {size}" for name, size in sizes.items()) + f"; {transformer.parameters} nonzero weights"


def _check_rows(name: str, tensor: str, actual: int, expected: int, unit: str) -> None:
    if actual != expected:
        raise WeightsError(f"{tensor} of the {name} has {actual} rows, but there are {expected} {unit}")


# Price: the amount that a model uses of every resource of the paper. Extent: upper bounds that a compiler states.
#
#     width <= fixed + per_bit·⌈log2 places⌉
#
# For every length N, a compiler states what its transformers use. Layers, symbols, `fixed` and `per_bit` must be the
# same for all N, and `places`, the number of rows that an address can name, polynomial in N. Then depth and alphabet
# are O(1), and the width is O(log N).


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
    """Upper bounds of layers, symbols and width of a compiler's models; only `places` may depend on N.

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
        """The fields that must not depend on N."""
        return self.layers, self.symbols, self.fixed, self.per_bit

    def price(self, steps: int, padding: int) -> Price:
        return Price(steps, padding, self.layers, self.width, self.symbols)
