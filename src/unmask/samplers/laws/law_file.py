"""law:FILE → Law. A JSON object of one of three kinds; every family of probabilities must sum to one.

    {"kind": "ngram", "alphabet": ["a", "b"], "order": 2,
     "contexts": {"": {"a": 0.5, "b": 0.5}, "a": {"a": 0.9, "b": 0.1}, "b": {"a": "1/3", "b": "2/3"}}}

    {"kind": "hmm", "alphabet": ["a", "b"], "states": ["s", "t"], "initial": {"s": 1},
     "transitions": {"s": {"s": 0.9, "t": 0.1}, "t": {"t": 1}},
     "emissions": {"s": {"a": 1}, "t": {"a": 0.5, "b": 0.5}}}

    {"kind": "automaton", "alphabet": ["a", "b"], "states": ["s"], "initial": {"s": 1},
     "transitions": {"s": {"a": {"s": 0.3}, "b": {"s": 0.6}}}, "final": {"s": 0.1}}

A probability is a number or a fraction in a string. A context is the last order − 1 symbols, separated by blanks, or
fewer at the beginning. An automaton with `final` ends in a state with that probability, and its law is the one given
the length; without, it never ends, and the law is that of its first N symbols. What is not listed has probability 0.
"""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from unmask import documents
from unmask.errors import ProblemError, TooLarge, shortened
from unmask.files import read_file
from unmask.samplers.laws.law import ExactWeights, Law

MOST_BYTES = 1_000_000
MOST_STATES = 512
MOST_SYMBOLS = 64
NEARLY_ONE = Fraction(1, 10**9)  # decimals such as 0.333333333 are forgiven this much
KEYS = {
    "ngram": ({"kind", "alphabet", "order", "contexts"}, set()),
    "hmm": ({"kind", "alphabet", "states", "initial", "transitions", "emissions"}, set()),
    "automaton": ({"kind", "alphabet", "states", "initial", "transitions"}, {"final"}),
}


def read_law(path: str | Path) -> Law:
    """The law of a file."""
    if not str(path):
        raise ProblemError("law: has no file name; write law:FILE")
    what = f"the law {path}"
    content = read_file(path, what, most=MOST_BYTES, error=ProblemError)
    document = documents.parse(content, what, error=ProblemError, decimal=_decimal)
    return law_from_json(document, f"law:{Path(path).name}")


def law_from_json(document: Any, name: str = "law") -> Law:
    """The law of a JSON object; all of it is checked."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in KEYS:
        raise ProblemError(f"a law needs a kind among {', '.join(KEYS)}, not {shortened(repr(kind))}")
    needed, allowed = KEYS[kind]
    if not needed <= set(document) <= needed | allowed:
        given = ", ".join(sorted(set(document) - {"kind"})) or "none of them"
        raise ProblemError(
            f"a law of kind {kind} needs the keys {', '.join(sorted(needed - {'kind'}))}, but has {shortened(given)}"
        )
    return {"ngram": _ngram, "hmm": _hmm, "automaton": _automaton}[kind](document, name)


def _ngram(document: dict[str, Any], name: str) -> Law:
    alphabet = _names(document, "alphabet", MOST_SYMBOLS)
    order = document["order"]
    if type(order) is not int or not 1 <= order <= 12:
        raise ProblemError(f"the order of an ngram must be an integer from 1 to 12, not {shortened(repr(order))}")
    count = sum(len(alphabet) ** k for k in range(order))
    if count > MOST_STATES:
        raise TooLarge(f"{count:,} contexts are more than {MOST_STATES}; use a smaller order or alphabet")
    contexts = [context for k in range(order) for context in product(range(len(alphabet)), repeat=k)]
    number = {context: i for i, context in enumerate(contexts)}
    rows = {_context(key, alphabet, order): row for key, row in _object(document["contexts"], "contexts").items()}
    steps = _no_steps(alphabet, count)
    reached: set[tuple[int, ...]] = set()
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        context = waiting.pop()
        if context in reached:
            continue
        reached.add(context)
        if context not in rows:
            written = " ".join(alphabet[a] for a in context)
            raise ProblemError(f"contexts lacks {written!r}, which has a positive probability; give its probabilities")
        for a, p in _distribution(rows[context], alphabet, f"contexts[{_shown(context, alphabet)!r}]").items():
            after = (*context, a)[-(order - 1) :] if order > 1 else ()
            steps[a][number[context]][number[after]] = p
            if p > 0:
                waiting.append(after)
    return _law(name, alphabet, {0: Fraction(1)}, steps, None)


def _hmm(document: dict[str, Any], name: str) -> Law:
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


def _automaton(document: dict[str, Any], name: str) -> Law:
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
) -> Law:
    """The law with these weights; without `final` a string may end in every state."""
    states = range(len(steps[0]))
    weights = ExactWeights(
        initial=tuple(initial.get(i, Fraction(0)) for i in states),
        steps=tuple(map(tuple, steps)),
        final=tuple(Fraction(1) if final is None else final.get(i, Fraction(0)) for i in states),
    )
    return Law(name, tuple(alphabet), weights)


def _distribution(row: Any, names: list[str], where: str) -> dict[int, Fraction]:
    """Probabilities that sum to one."""
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
        if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction) or len(str(value)) > 60:
            raise ValueError
        number = _decimal(str(value)) if isinstance(value, float | str) else Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ProblemError(f'{where} must be a number such as 0.25 or "1/4", not {shortened(repr(value))}') from None
    if not 0 <= number <= 1:
        raise ProblemError(f"{where} is {shortened(str(value))}; give a probability between 0 and 1")
    return number


def _decimal(text: str) -> Fraction:
    """0.1 as 1/10; an exponent so large that it would fill the memory is refused."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(text) > 60 or (exponent and abs(int(exponent)) > 300) or not mantissa:
        raise ValueError(f"the number {shortened(text)} is out of range")
    return Fraction(text)


def _check_sum(total: Fraction, where: str) -> None:
    if abs(total - 1) > NEARLY_ONE:
        raise ProblemError(f"the probabilities of {where} sum to {float(total):g}; they must sum to 1")


def _check_states(rows: dict[str, Any], states: list[str], where: str) -> None:
    unknown = next((name for name in rows if name not in states), None)
    if unknown is not None:
        raise ProblemError(
            f"{where} names {shortened(unknown)!r}, which is not among the states; declare or correct it"
        )


def _names(document: dict[str, Any], key: str, most: int) -> list[str]:
    names = documents.names_in(document, key, "a law", empty=False, error=ProblemError)
    if not all(name and " " not in name for name in names):
        raise ProblemError(f"{key!r} of a law must be a list of nonempty strings without blanks")
    if len(names) > most:
        raise TooLarge(f"{key!r} of a law has {len(names):,} entries, more than {most}; give a smaller law")
    return names


def _context(key: str, alphabet: list[str], order: int) -> tuple[int, ...]:
    symbols = key.split()
    unknown = next((s for s in symbols if s not in alphabet), None)
    if unknown is not None:
        raise ProblemError(f"the context {shortened(key)!r} names {shortened(unknown)!r}, which is not in the alphabet")
    if len(symbols) >= order:
        raise ProblemError(f"the context {shortened(key)!r} has {len(symbols)} symbols; order {order} has {order - 1}")
    return tuple(alphabet.index(symbol) for symbol in symbols)


def _shown(context: tuple[int, ...], alphabet: list[str]) -> str:
    return " ".join(alphabet[a] for a in context)


def _object(value: Any, where: str) -> dict[str, Any]:
    return documents.object_in(value, where, "a law", error=ProblemError)
