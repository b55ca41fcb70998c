"""Extract: a model of any kind → the network of finite variables that it computes, exactly, from its weights alone.

    Model ──symbolic execution──▶ Network: letters → … → the symbol in each slot after T steps

The loops are those of `reasoners`, over symbols that are not known: each slot holds a `Token`, a table over one
variable. Every step is the same integer computation case by case, so that for every word the network has the value
that the model computes. Registers, problem and provenance are not read.

`failures` are the cases in which a run is no run: a row attends to nothing, or a planner edits a written slot of an
smdm. On such words the rest of the network means nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from unmask.errors import UnmaskError
from unmask.reasoners.decoding import confidence, decode
from unmask.verification.network import Cases, Network, TooManyCases
from unmask.verification.symbolic_pass import SymbolicPass, Token
from unmask.verification.symbolic_rows import Nothing, Row, SymbolicTransformer
from unmask.weights.model import DIFFUSION, Model

ACCEPT, REJECT = "accept", "reject"


@dataclass(frozen=True, eq=False)
class Failure:
    """labels[case] is true where the run fails, and why."""

    cases: Cases
    labels: np.ndarray
    reason: str


@dataclass(frozen=True, eq=False)
class Extraction:
    """The network, the letters' symbols, the final slots, and where a run fails."""

    model: Model
    network: Network
    slots: list[Token]
    failures: list[Failure]

    def answer(self, slot: int = -1) -> tuple[Cases, np.ndarray]:
        """(cases, the answer in each) of a slot: accept, reject, or another symbol; aliases applied."""
        model, token = self.model, self.slots[slot]
        meaning = {model.accept: ACCEPT, model.reject: REJECT}
        names = [meaning.get(s, f"symbol {s}") for s in model.plain(model.symbols(token.symbols))]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        labels = np.array([numbers[name] for name in names])
        cases, order = self.network.cases(token.cases.variables, labels[token.cases.index])
        return cases, np.array(list(numbers))[order]

    def outcomes(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(symbols of the slots [batch, slots], does the run fail) on words [batch, N] of input symbols' numbers."""
        wanted = {v for part in (*self.slots, *self.failures) for v in part.cases.variables}
        values = self.network.evaluate(words, sorted(wanted))

        def case(cases: Cases) -> np.ndarray:
            return np.broadcast_to(cases.index[tuple(values[v] for v in cases.variables)], (len(words),))

        slots = np.stack([token.symbols[case(token.cases)] for token in self.slots], axis=1)
        fails = np.zeros(len(words), dtype=bool)
        for failure in self.failures:
            fails |= failure.labels[case(failure.cases)].astype(bool)
        return slots, fails


def extract(model: Model) -> Extraction:
    """Execute a model on all words of its length at once."""
    run = _Run(model)
    try:
        slots = _diffused(run) if model.kind in DIFFUSION else _looped(run) if model.kind == "plt" else _chained(run)
    except TooManyCases as error:
        raise TooManyCases(f"the model does not fall apart into small tables: it would take {error}") from None
    return Extraction(model, run.network, slots, run.failures())


@dataclass(eq=False)
class _Run:
    """What the loops share."""

    model: Model
    network: Network = field(default_factory=Network)
    nothing: dict[str, list[Nothing]] = field(default_factory=dict)
    edits: list[Failure] = field(default_factory=list)

    def __post_init__(self) -> None:
        model = self.model
        symbols = np.array([model.token[s] for s in model.input_symbols])
        letters = [self.network.letter(symbols.size) for _ in range(model.length)]
        begin = [] if model.begin is None else [Token.certain(model.token[model.begin])]
        self.input = begin + [Token(cases, symbols) for cases in letters]

    def passes(self, name: str, **options) -> SymbolicPass:
        transformer = self.model.transformers[name]
        layers = options.pop("layers", range(len(transformer.layers)))
        found = self.nothing.setdefault(name, [])
        return SymbolicPass(SymbolicTransformer(transformer, self.network), layers, found, **options)

    def labelled(self, row: Row, labels: np.ndarray) -> tuple[Cases, np.ndarray]:
        """Cases of a row merged by label."""
        return self.network.cases(row.cases.variables, labels[row.cases.index])

    def merged(self, parts: list[tuple[Cases, np.ndarray]]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """(basis, the label of each part in every assignment)."""
        try:
            basis, chosen = self.network.join([cases for cases, _ in parts])
        except TooManyCases:
            basis, chosen = self.network.join([self.network.cut(cases) for cases, _ in parts])
        return basis, [labels[which] for (_, labels), which in zip(parts, chosen, strict=True)]

    def token(self, basis: tuple[int, ...], symbols: np.ndarray) -> Token:
        cases, order = self.network.cases(basis, symbols)
        return Token(self.network.cut(cases), order)

    def failures(self) -> list[Failure]:
        nothing = [
            Failure(
                event.cases,
                event.labels,
                f"layer {event.layer}, head {event.head} of the {name}: row {event.row} attends to nothing",
            )
            for name, events in self.nothing.items()
            for event in events
        ]
        return nothing + self.edits


def _looped(run: _Run) -> list[Token]:
    model, transformer = run.model, run.model.transformers["model"]
    first, last = transformer.loop or (0, 0)
    layers = [*range(first), *list(range(first, last)) * model.steps, *range(last, len(transformer.layers))]
    ends = [first + (t + 1) * (last - first) - 1 for t in range(model.steps)] if last > first else []
    tokens = run.input + [Token.certain(model.token[model.pad or ""])] * model.padding
    symbolic = run.passes("model", layers=layers, cuts=ends)
    (row,) = symbolic.run(tokens, [len(tokens) - 1])
    symbols = decode(symbolic.logits(row), model.precision)
    return [run.token(row.cases.variables, symbols[row.cases.index])]


def _chained(run: _Run) -> list[Token]:
    model, symbolic = run.model, run.passes("model")
    block = model.block or 0
    masks = [Token.certain(model.token[model.mask])] * block if model.mask is not None else []
    generated: list[Token] = []
    for _ in range(model.steps):
        tokens = run.input + generated + masks
        for row in symbolic.run(tokens, range(len(tokens) - (block or 1), len(tokens))):
            symbols = decode(symbolic.logits(row), model.precision)
            generated.append(run.token(row.cases.variables, symbols[row.cases.index]))
    return generated


def _diffused(run: _Run) -> list[Token]:
    model = run.model
    mask = model.token[model.mask or ""]
    slots = [Token.certain(mask)] * model.padding
    step = _by_confidence if model.kind == "topk" else _planned
    taken = step(run)
    for number in range(model.steps):
        before, slots = slots, taken(number, slots)
        if all(old is new for old, new in zip(before, slots, strict=True)):
            break  # nothing changed, and nothing ever will
    return slots


def _planned(run: _Run) -> Callable[[int, list[Token]], list[Token]]:
    model = run.model
    mask = model.token[model.mask or ""]
    planner, predictor = run.passes("planner"), run.passes("predictor")

    def step(number: int, slots: list[Token]) -> list[Token]:
        tokens = run.input + slots
        places = range(len(run.input), len(tokens))
        plans = []
        for row in planner.run(tokens, places):
            plans.append(run.labelled(row, decode(planner.logits(row), model.precision)))
        chosen = [k for k, (_, labels) in enumerate(plans) if labels.any()]
        rows = predictor.run(tokens, [places[k] for k in chosen])
        new = list(slots)
        for k, row in zip(chosen, rows, strict=True):
            symbols = run.labelled(row, decode(predictor.logits(row), model.precision, without=mask))
            old = slots[k]
            basis, (take, symbol, kept) = run.merged([plans[k], symbols, (old.cases, old.symbols)])
            if model.kind == "smdm" and ((take == 1) & (kept != mask)).any():
                cases, labels = run.network.cases(basis, (take == 1) & (kept != mask))
                run.edits.append(Failure(cases, labels, f"step {number}: the planner edits slot {k}, which is written"))
            token = run.token(basis, np.where(take == 1, symbol, kept))
            new[k] = old if token.same(old) else token
        return new

    return step


def _by_confidence(run: _Run) -> Callable[[int, list[Token]], list[Token]]:
    model = run.model
    mask = model.token[model.mask or ""]
    symbolic = run.passes("model")

    def step(number: int, slots: list[Token]) -> list[Token]:  # noqa: ARG001
        tokens = run.input + slots
        rows = symbolic.run(tokens, range(len(run.input), len(tokens)))
        sure, symbols = [], []
        for row in rows:
            logits = symbolic.logits(row)
            sure.append(run.labelled(row, confidence(logits, model.precision, without=mask)))
            symbols.append(run.labelled(row, decode(logits, model.precision, without=mask)))
        new = list(slots)
        for k, old in enumerate(slots):
            taken = _taken(run, sure, k)
            if not taken[1].any():
                continue
            basis, (take, symbol, kept) = run.merged([taken, symbols[k], (old.cases, old.symbols)])
            token = run.token(basis, np.where(take, symbol, kept))
            new[k] = old if token.same(old) else token
        return new

    return step


def _taken(run: _Run, sure: list[tuple[Cases, np.ndarray]], k: int) -> tuple[Cases, np.ndarray]:
    """Is slot k among those that a topk model takes?

    With a number: fewer than that many slots are surer, or as sure and before it; counted slot by slot.
    """
    cases, own = sure[k]
    if run.model.k is None:
        labels = own > -run.model.precision.bound
        return run.network.cases(cases.variables, labels[cases.index])
    most = run.model.k
    beaten: tuple[Cases, np.ndarray] = cases, own * (most + 1)  # own confidence and how many beat it, in one label
    for j, other in enumerate(sure):
        if j == k:
            continue
        basis, (label, theirs) = run.merged([beaten, other])
        mine, count = label // (most + 1), label % (most + 1)
        ahead = (theirs > mine) | ((theirs == mine) & (j < k))
        beaten = run.network.cases(basis, mine * (most + 1) + np.minimum(count + ahead, most))
    cases, label = beaten
    return run.network.cases(cases.variables, (label % (most + 1) < most)[cases.index])


def input_numbers(model: Model, tokens: np.ndarray) -> np.ndarray:
    """Token ids of words → numbers of input symbols, the values of the network's letters."""
    number = np.full(len(model.vocabulary), -1)
    number[[model.token[s] for s in model.input_symbols]] = np.arange(len(model.input_symbols))
    if (number[tokens] < 0).any():
        raise UnmaskError("a word holds a symbol that is no input symbol")
    return number[tokens]
