"""A system of recurrences as a side of a comparison: slot by slot, one literal for every value that it may have.

The slots and their rules are those of the interpreter; nothing that is compiled has a part in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from unmask.errors import TooLarge
from unmask.problems.circuits.circuit import FALSE, TRUE, CircuitBuilder
from unmask.recurrences.interpreter import Interpreter, found_by, gathered, mapped
from unmask.recurrences.naming import is_truth, symbol_names
from unmask.recurrences.slots import Each
from unmask.recurrences.unfolding import Fixed, Found, FromLetter, FromSlot, Key, Operand, Step, Through, slot_name
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
        if not unfolding.system.edits:
            for key in unfolding.order:
                slots[key] = self._slot(builder, key, unfolding.rules[key], word, slots)
        else:
            slots = {key: self._slot(builder, key, step, word, {}) for key, step in unfolding.starts.items()}
            for _ in range(unfolding.steps):
                before = slots
                slots = {key: self._slot(builder, key, step, word, before) for key, step in unfolding.rules.items()}
        names = symbol_names(unfolding.system)
        return Decision([_answers(slots[key], names) for key in unfolding.answers[-self.outputs :]])

    def _slot(
        self, builder: CircuitBuilder, key: Key, step: Step, word: list[Values], slots: dict[Key, Values]
    ) -> Values:
        given = [self._operand(builder, operand, word, slots, key) for operand in step.operands]
        terms: dict[Any, list[int]] = {}
        for values, literals in _combinations(given, key):
            terms.setdefault(self.interpreter.result(key, step, values), []).append(builder.and_(*literals))
        return _merged(builder, terms)

    def _operand(
        self, builder: CircuitBuilder, operand: Operand, word: list[Values], slots: dict[Key, Values], key: Key
    ) -> Values:
        if isinstance(operand, FromLetter):
            return word[operand.place]
        if isinstance(operand, FromSlot):
            return slots[operand.key]
        if isinstance(operand, Fixed):
            return {operand.value: TRUE}
        if isinstance(operand, Through):
            inner = self._operand(builder, operand.operand, word, slots, key)
            if isinstance(operand.read, Each):
                return inner
            terms: dict[Any, list[int]] = {}
            for value, literal in inner.items():
                terms.setdefault(mapped(operand.read, value), []).append(literal)
            return _merged(builder, terms)
        return self._found(builder, operand, word, slots, key)

    def _found(
        self, builder: CircuitBuilder, found: Found, word: list[Values], slots: dict[Key, Values], key: Key
    ) -> Values:
        """Item by item whether it is found; then every set of items."""
        terms: dict[Any, list[int]] = {}
        for operands in found.operands:
            given = [self._operand(builder, part, word, slots, key) for part in operands]
            for values, literals in _combinations(given, key):
                for item in found_by(found.over, values, key):
                    terms.setdefault(item, []).append(builder.and_(*literals))
        sets: Values = {frozenset(): TRUE}
        for item, literal in _merged(builder, terms).items():
            if 2 * len(sets) > MOST_COMBINATIONS:
                raise TooLarge(f"{slot_name(key)} collects too many items for a proof; use --method sample")
            without = {union: builder.and_(x, literal ^ 1) for union, x in sets.items()}
            sets = without | {union | {item}: builder.and_(x, literal) for union, x in sets.items()}
        return {gathered(found.over, union): x for union, x in sets.items() if x != FALSE}


def _combinations(given: list[Values], key: Key):
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
