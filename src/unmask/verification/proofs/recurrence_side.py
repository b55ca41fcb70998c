"""A system of recurrences as one side of a comparison: a circuit with a literal for every value of every slot.

The evaluator is that of the interpreter; nothing that is compiled takes part.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from unmask.errors import TooLarge
from unmask.problems.circuits.circuit import FALSE, TRUE, CircuitBuilder
from unmask.recurrences.interpreter import Interpreter
from unmask.recurrences.system import is_truth, symbol_names
from unmask.recurrences.unfolding import Key, slot_name
from unmask.verification.proofs.sides import Decision
from unmask.verification.symbolic.extract import ACCEPT, REJECT

MOST_COMBINATIONS = 1 << 14  # of the values that one rule may be given in one slot

Values = dict[Any, int]
"""Value → the literal of "it has this value"."""


@dataclass(frozen=True, eq=False)
class RecurrenceSide:
    """`letters` are symbols as they are typed; the last `outputs` answers count."""

    interpreter: Interpreter
    letters: Sequence[str]
    outputs: int

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        unfolding = self.interpreter.unfolding
        word = [dict(zip(self.letters, place, strict=True)) for place in letters]
        slots: dict[Key, Values] = {}
        for slots in self.interpreter.evaluate(word, WireValues(builder)):  # noqa: B007
            pass
        names = symbol_names(unfolding.system)
        return Decision([_answers(slots[key], names) for key in unfolding.answers[-self.outputs :]])


@dataclass(frozen=True, eq=False)
class WireValues:
    """A literal for every value that a slot may have: the domain in which the evaluator builds a circuit."""

    builder: CircuitBuilder

    def constant(self, value: Any) -> Values:
        return {value: TRUE}

    def apply(self, function: Callable[[tuple[Any, ...]], Any], given: Sequence[Values], key: Key) -> Values:
        terms: dict[Any, list[int]] = {}
        for values, literals in _combinations(given, key):
            terms.setdefault(function(values), []).append(self.builder.and_(*literals))
        return _merged(self.builder, terms)

    def union(self, sets: Sequence[Values], gather: Callable[[frozenset], Any], key: Key) -> Values:
        """Item by item whether it is found; then every set of items."""
        terms: dict[Any, list[int]] = {}
        for found in sets:
            for items, literal in found.items():
                for item in items:
                    terms.setdefault(item, []).append(literal)
        unions: Values = {frozenset(): TRUE}
        for item, literal in _merged(self.builder, terms).items():
            if 2 * len(unions) > MOST_COMBINATIONS:
                raise TooLarge(f"{slot_name(key)} collects too many items for a proof; use --method sample")
            without = {union: self.builder.and_(x, literal ^ 1) for union, x in unions.items()}
            unions = without | {union | {item}: self.builder.and_(x, literal) for union, x in unions.items()}
        return {gather(union): x for union, x in unions.items() if x != FALSE}


def _combinations(given: Sequence[Values], key: Key) -> Iterator[tuple[tuple[Any, ...], list[int]]]:
    """(values, literals) of every combination that can occur."""
    count = 1
    for values in given:
        count *= len(values)
    if count > MOST_COMBINATIONS:
        raise TooLarge(
            f"the rule of {slot_name(key)} has {count:,} combinations, too many for a proof; use --method sample"
        )
    for chosen in product(*(values.items() for values in given)):
        yield tuple(value for value, _ in chosen), [literal for _, literal in chosen]


def _merged(builder: CircuitBuilder, terms: dict[Any, list[int]]) -> Values:
    merged = {value: builder.or_(*literals) for value, literals in terms.items()}
    return {value: literal for value, literal in merged.items() if literal != FALSE}


def _answers(values: Values, names: dict[Any, str]) -> dict[str, int]:
    return {
        (ACCEPT if value else REJECT) if is_truth(value) else f"symbol {names[value]}": x for value, x in values.items()
    }
