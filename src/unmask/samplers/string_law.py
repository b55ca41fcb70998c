"""Law: a distribution over strings of length N, as a weighted automaton.

    P_N(x) = α · A_{x1} · … · A_{xN} · ω / Z_N,        Z_N = Σ over all strings of length N

α [states] are the weights to start in a state, A_a [states, states] those to write a and move, ω [states] those to end.
N-grams, probabilistic automata and hidden Markov models are of this form. The weights are
rational numbers (`exact`); the arrays of floats are made from them.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.files import names_in, object_in, parse_json, read_file

MOST_STRINGS = 1 << 14


@dataclass(frozen=True, eq=False)
class ExactWeights:
    """α, A and ω as rational numbers; zeros of A are left out: steps[symbol][state] = {next state: weight}."""

    initial: tuple[Fraction, ...]
    steps: tuple[tuple[dict[int, Fraction], ...], ...]
    final: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class StringLaw:
    """A distribution over the strings of each length: a weighted automaton with rational weights."""

    name: str
    alphabet: tuple[str, ...]
    exact: ExactWeights

    @cached_property
    def initial(self) -> np.ndarray:
        return np.array([float(weight) for weight in self.exact.initial])

    @cached_property
    def steps(self) -> np.ndarray:
        """[symbols, states, states]"""
        steps = np.zeros((len(self.alphabet), len(self.exact.initial), len(self.exact.initial)))
        for a, step in enumerate(self.exact.steps):
            for i, row in enumerate(step):
                for j, weight in row.items():
                    steps[a, i, j] = float(weight)
        return steps

    @cached_property
    def final(self) -> np.ndarray:
        return np.array([float(weight) for weight in self.exact.final])

    def forward(self, weights: np.ndarray) -> np.ndarray:
        """Return Σ over prefixes of weight · Π_i weights[b, i, x_i], before every slot: [batch, slots + 1, states]."""
        flow = np.broadcast_to(self.initial, (len(weights), len(self.initial)))
        flows = [flow]
        for i in range(weights.shape[1]):
            flow = np.einsum("bs,ba,ast->bt", flow, weights[:, i], self.steps, optimize=True)
            flows.append(flow)
        return np.stack(flows, axis=1)

    def backward(self, weights: np.ndarray) -> np.ndarray:
        """Return the same sums from the end: [batch, slots + 1, states]."""
        flow = np.broadcast_to(self.final, (len(weights), len(self.final)))
        flows = [flow]
        for i in reversed(range(weights.shape[1])):
            flow = np.einsum("ba,ast,bt->bs", weights[:, i], self.steps, flow, optimize=True)
            flows.append(flow)
        return np.stack(flows[::-1], axis=1)

    def total(self, length: int) -> float:
        """Return Z_N."""
        anything = np.ones((1, length, len(self.alphabet)))
        return float(self.forward(anything)[0, -1] @ self.final)

    def check_length(self, length: int) -> None:
        if length < 1:
            raise ProblemError(f"a law is about strings of length 1 or more, not {length}")
        self.check_strings(length)
        if not self.total(length) > 0:
            raise self.no_strings(length)

    def no_strings(self, length: int) -> ProblemError:
        """Return the error for a length that no string has."""
        return ProblemError(f"{self.name} gives no string of length {length:,} a probability; choose another --length")

    def strings(self, length: int) -> np.ndarray:
        """Return all strings of a length in order, [strings, length]; refuse if there are too many."""
        self.check_strings(length)
        return np.array(list(product(range(len(self.alphabet)), repeat=length)), dtype=np.int64)

    def check_strings(self, length: int) -> None:
        """Refuse too many strings, or too long ones, before any is made."""
        symbols = len(self.alphabet)
        if length > MOST_STRINGS or symbols**length > MOST_STRINGS:
            count = f"there are {symbols**length:,} strings" if length < 64 else "the strings"
            raise TooLarge(
                f"{count} of length {length:,} over {symbols} symbols are too long or too many; at most "
                f"{MOST_STRINGS:,} "
                "are supported; use a shorter --length"
            )

    def probabilities(self, strings: np.ndarray) -> np.ndarray:
        """Return P_N of each string, by the forward algorithm."""
        weights = np.eye(len(self.alphabet))[strings]
        return self.forward(weights)[:, -1] @ self.final / self.total(strings.shape[1])


# law:FILE → Law. A JSON object of one of three kinds; every family of probabilities must sum to one.
#
#     {"kind": "ngram", "alphabet": ["a", "b"], "order": 2,
#      "contexts": {"": {"a": 0.5, "b": 0.5}, "a": {"a": 0.9, "b": 0.1}, "b": {"a": "1/3", "b": "2/3"}}}
#
#     {"kind": "hmm", "alphabet": ["a", "b"], "states": ["s", "t"], "initial": {"s": 1},
#      "transitions": {"s": {"s": 0.9, "t": 0.1}, "t": {"t": 1}},
#      "emissions": {"s": {"a": 1}, "t": {"a": 0.5, "b": 0.5}}}
#
#     {"kind": "automaton", "alphabet": ["a", "b"], "states": ["s"], "initial": {"s": 1},
#      "transitions": {"s": {"a": {"s": 0.3}, "b": {"s": 0.6}}}, "final": {"s": 0.1}}
#
# A probability is a number or a fraction in a string. A context is the last order − 1 symbols, separated by blanks, or
# fewer at the beginning. An automaton with `final` ends in a state with that probability, and its law is the one given
# the length; without, it never ends, and the law is that of its first N symbols. What is not listed has probability 0.


MOST_BYTES = 1_000_000
MOST_STATES = 512
MOST_SYMBOLS = 64
NEARLY_ONE = Fraction(1, 10**9)  # tolerance for decimals such as 0.333333333
KEYS = {
    "ngram": ({"kind", "alphabet", "order", "contexts"}, set()),
    "hmm": ({"kind", "alphabet", "states", "initial", "transitions", "emissions"}, set()),
    "automaton": ({"kind", "alphabet", "states", "initial", "transitions"}, {"final"}),
}


def read_law(path: str | Path) -> StringLaw:
    """Read the law of a file."""
    if not str(path):
        raise ProblemError("law: has no file name; write law:FILE")
    description = f"the law {path}"
    content = read_file(path, description, most=MOST_BYTES, error=ProblemError)
    document = parse_json(content, description, error=ProblemError, decimal=_decimal)
    return law_from_json(document, f"law:{Path(path).name}")


def law_from_json(document: Any, name: str = "law") -> StringLaw:
    """Return the law of a JSON object, after a check of every field."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in KEYS:
        raise ProblemError(f"a law needs a kind among {', '.join(KEYS)}, not {shortened(repr(kind))}")
    needed, allowed = KEYS[kind]
    if not needed <= set(document) <= needed | allowed:
        keys = ", ".join(sorted(set(document) - {"kind"})) or "none of them"
        raise ProblemError(
            f"a law of kind {kind} needs the keys {', '.join(sorted(needed - {'kind'}))}, but has {shortened(keys)}"
        )
    return {"ngram": _ngram, "hmm": _hmm, "automaton": _automaton}[kind](document, name)


def _ngram(document: dict[str, Any], name: str) -> StringLaw:
    alphabet = _names(document, "alphabet", MOST_SYMBOLS)
    order = document["order"]
    if type(order) is not int or not 1 <= order <= 12:
        raise ProblemError(f"the order of an ngram must be an integer from 1 to 12, not {shortened(repr(order))}")
    count = sum(len(alphabet) ** k for k in range(order))
    if count > MOST_STATES:
        raise TooLarge(f"{count:,} contexts are more than {MOST_STATES}; use a smaller order or alphabet")
    contexts = [context for k in range(order) for context in product(range(len(alphabet)), repeat=k)]
    number = {context: i for i, context in enumerate(contexts)}
    rows: dict[tuple[int, ...], Any] = {}
    for key, row in _object(document["contexts"], "contexts").items():
        context = _context(key, alphabet, order)
        if context in rows:
            raise ProblemError(f"contexts gives {_context_text(context, alphabet)!r} twice; give it once")
        rows[context] = row
    steps = _no_steps(alphabet, count)
    for context, row in rows.items():
        for a, p in _distribution(row, alphabet, f"contexts[{_context_text(context, alphabet)!r}]").items():
            after = (*context, a)[-(order - 1) :] if order > 1 else ()
            steps[a][number[context]][number[after]] = p
    reached: set[tuple[int, ...]] = set()
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        context = waiting.pop()
        if context in reached:
            continue
        reached.add(context)
        if context not in rows:
            text = _context_text(context, alphabet)
            raise ProblemError(f"contexts lacks {text!r}, which has a positive probability; give its probabilities")
        followed = (step[number[context]] for step in steps)
        waiting += [contexts[after] for row in followed for after, p in row.items() if p > 0]
    return _law(name, alphabet, {0: Fraction(1)}, steps, None)


def _hmm(document: dict[str, Any], name: str) -> StringLaw:
    alphabet, states = _names(document, "alphabet", MOST_SYMBOLS), _names(document, "states", MOST_STATES)
    moves, emits = _object(document["transitions"], "transitions"), _object(document["emissions"], "emissions")
    steps = _no_steps(alphabet, len(states))
    _check_states(moves, states, "transitions")
    _check_states(emits, states, "emissions")
    for i, state in enumerate(states):
        to = _distribution(moves.get(state, {}), states, f"transitions[{state!r}]")
        for a, p in _distribution(emits.get(state, {}), alphabet, f"emissions[{state!r}]").items():
            for j, q in to.items():
                steps[a][i][j] = p * q
    return _law(name, alphabet, _distribution(document["initial"], states, "initial"), steps, None)


def _automaton(document: dict[str, Any], name: str) -> StringLaw:
    alphabet, states = _names(document, "alphabet", MOST_SYMBOLS), _names(document, "states", MOST_STATES)
    moves = _object(document["transitions"], "transitions")
    _check_states(moves, states, "transitions")
    ends = None if "final" not in document else _weights(document["final"], states, "final")
    steps = _no_steps(alphabet, len(states))
    for i, state in enumerate(states):
        where, left = f"transitions[{state!r}]", (ends or {}).get(i, Fraction(0))
        for symbol, targets in _object(moves.get(state, {}), where).items():
            if symbol not in alphabet:
                raise ProblemError(f"{where} names {shortened(symbol)!r}, which is not in the alphabet; correct it")
            for j, p in _weights(targets, states, f"{where}[{symbol!r}]").items():
                steps[alphabet.index(symbol)][i][j] = p
                left += p
        _check_sum(left, where + (" and final" if ends else ""))
    return _law(name, alphabet, _distribution(document["initial"], states, "initial"), steps, ends)


Steps = list[list[dict[int, Fraction]]]


def _no_steps(alphabet: list[str], states: int) -> Steps:
    return [[{} for _ in range(states)] for _ in alphabet]


def _law(
    name: str, alphabet: list[str], initial: dict[int, Fraction], steps: Steps, final: dict[int, Fraction] | None
) -> StringLaw:
    """Return the law with these weights; without `final` a string may end in every state."""
    states = range(len(steps[0]))
    weights = ExactWeights(
        initial=tuple(initial.get(i, Fraction(0)) for i in states),
        steps=tuple(map(tuple, steps)),
        final=tuple(Fraction(1) if final is None else final.get(i, Fraction(0)) for i in states),
    )
    return StringLaw(name, tuple(alphabet), weights)


def _distribution(row: Any, names: list[str], where: str) -> dict[int, Fraction]:
    """Return probabilities after a check that they sum to one."""
    weights = _weights(row, names, where)
    _check_sum(sum(weights.values(), Fraction(0)), where)
    return weights


def _weights(row: Any, names: list[str], where: str) -> dict[int, Fraction]:
    weights = {}
    for name, value in _object(row, where).items():
        if name not in names:
            raise ProblemError(f"{where} names {shortened(name)!r}, which is not declared; declare or correct it")
        weights[names.index(name)] = _probability(value, f"{where}[{name!r}]")
    return weights


def _probability(value: Any, where: str) -> Fraction:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
            raise ValueError
        number = _decimal(str(value)) if isinstance(value, float | str) else Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ProblemError(f'{where} must be a number such as 0.25 or "1/4", not {shortened(repr(value))}') from None
    if not 0 <= number <= 1:
        raise ProblemError(f"{where} is {shortened(str(value))}; give a probability between 0 and 1")
    return number


def _decimal(text: str) -> Fraction:
    """Return 0.1 as 1/10; refuse an exponent so large that the number would fill the memory."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(text) > 60 or (exponent and abs(int(exponent)) > 300) or not mantissa:
        raise ValueError(f"the number {shortened(text)} is out of range")
    return Fraction(text)


def _check_sum(total: Fraction, where: str) -> None:
    if abs(total - 1) > NEARLY_ONE:
        raise ProblemError(f"the probabilities of {where} sum to {float(total):.12g}; they must sum to 1")


def _check_states(rows: dict[str, Any], states: list[str], where: str) -> None:
    unknown = next((name for name in rows if name not in states), None)
    if unknown is not None:
        raise ProblemError(
            f"{where} names {shortened(unknown)!r}, which is not among the states; declare or correct it"
        )


def _names(document: dict[str, Any], key: str, most: int) -> list[str]:
    names = names_in(document, key, "a law", empty=False, error=ProblemError)
    if not all(name and " " not in name for name in names):
        raise ProblemError(f"{key!r} of a law must be a list of nonempty strings without blanks")
    if len(names) > most:
        raise TooLarge(f"{key!r} of a law has {len(names):,} entries, more than {most}; give a smaller law")
    return names


def _context(key: str, alphabet: list[str], order: int) -> tuple[int, ...]:
    symbols = key.split()
    unknown = next((s for s in symbols if s not in alphabet), None)
    if unknown is not None:
        raise ProblemError(
            f"the context {shortened(key)!r} names {shortened(unknown)!r}, which is not in the alphabet; separate the "
            "symbols of a context by blanks"
        )
    if len(symbols) >= order:
        raise ProblemError(f"the context {shortened(key)!r} has {len(symbols)} symbols; order {order} has {order - 1}")
    return tuple(alphabet.index(symbol) for symbol in symbols)


def _context_text(context: tuple[int, ...], alphabet: list[str]) -> str:
    return " ".join(alphabet[a] for a in context)


def _object(value: Any, where: str) -> dict[str, Any]:
    return object_in(value, where, "a law", error=ProblemError)


# LawPredictor: the exact conditionals of a law, for any partly masked string, by forward and backward sums.
#
#     p(x_i = a | what is written) = F_i · A_a · B_{i+1} / Σ_a' F_i · A_a' · B_{i+1}
#
# The predictor makes no error, so every error is due to the sampler: it writes several slots at once as if they were
# independent (the factorisation error), or its choice of slots depends on the symbols drawn. A written slot has its
# symbol with probability 1. If the written symbols have probability 0, every symbol is equally likely.


MASK = "□"


@dataclass(frozen=True, eq=False)
class LawPredictor:
    """The exact conditional probabilities of a law, as a predictor."""

    law: StringLaw

    @property
    def mask_id(self) -> int:
        return len(self.law.alphabet)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*self.law.alphabet, MASK)

    def logits(self, canvas: np.ndarray) -> np.ndarray:
        """Return log p, with −∞ in the mask's column."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.conditionals(canvas))
        return np.concatenate([logs, np.full((*canvas.shape, 1), -np.inf)], axis=-1)

    def conditionals(self, canvas: np.ndarray) -> np.ndarray:
        """Return the conditional probabilities, [batch, slots, symbols]."""
        symbols = len(self.law.alphabet)
        fits = np.concatenate([np.eye(symbols), np.ones((1, symbols))])[canvas]
        forward, backward = self.law.forward(fits), self.law.backward(fits)
        joint = np.einsum("bis,ast,bit->bia", forward[:, :-1], self.law.steps, backward[:, 1:], optimize=True) * fits
        mass = joint.sum(axis=-1, keepdims=True)
        return np.where(mass > 0, joint / np.where(mass > 0, mass, 1), fits / fits.sum(axis=-1, keepdims=True))
