"""The meaning of a system: System × word → the value of every slot. The oracle of every test and proof.

A rule is called once for every combination of values that it meets. What it raises, and a value that its group does not
have, are reported with the slot and the values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

from unmask.errors import ProblemError, WordError, shortened
from unmask.recurrences.lines import at_line
from unmask.recurrences.naming import value_name
from unmask.recurrences.slots import Case, Each, Mapped, Over, Read, Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import (
    Fixed,
    Found,
    FromLetter,
    FromSlot,
    Key,
    Operand,
    Step,
    Through,
    Unfolding,
    slot_name,
)

MOST_SAID = 120  # characters of what a rule raises


@dataclass(frozen=True, eq=False)
class Interpreted:
    """Slot values after the last step; for a system that edits also after every step."""

    unfolding: Unfolding
    values: dict[Key, Any]
    history: list[dict[Key, Any]] = field(default_factory=list)

    @property
    def answers(self) -> list[Any]:
        return [self.values[key] for key in self.unfolding.answers]

    @property
    def steps(self) -> int:
        """The depth of the recurrence, or the stated number of steps."""
        unfolding = self.unfolding
        return unfolding.steps if unfolding.system.edits else max(unfolding.depth.values())


class Interpreter:
    """A system at one length, ready for many words."""

    def __init__(self, system: System, length: int) -> None:
        self.unfolding = Unfolding(system, length)
        self._called: dict[tuple[int, tuple[Any, ...]], Any] = {}
        if system.edits:
            _ = self.unfolding.rules, self.unfolding.starts, self.unfolding.steps
        else:
            _ = self.unfolding.order
        _ = self.unfolding.answers

    def run(self, word: Sequence[str]) -> Interpreted:
        """The value of every slot."""
        unfolding = self.unfolding
        letters = unfolding.system.letters
        if len(word) != unfolding.length:
            raise WordError(f"the word has {len(word)} letters, not {unfolding.length}")
        unknown = next((symbol for symbol in word if symbol not in letters), None)
        if unknown is not None:
            raise WordError(f"{shortened(unknown)!r} is not a letter; use {shortened(' '.join(letters))}")
        values: dict[Key, Any] = {}
        if not unfolding.system.edits:
            for key in unfolding.order:
                values[key] = self._apply(key, unfolding.rules[key], word, values)
            return Interpreted(unfolding, values)
        for key, step in unfolding.starts.items():
            values[key] = self._apply(key, step, word, {})
        history = [values]
        for _ in range(unfolding.steps):
            before = values
            values = {key: self._apply(key, step, word, before) for key, step in unfolding.rules.items()}
            history.append(values)
        return Interpreted(unfolding, values, history)

    def _apply(self, key: Key, step: Step, word: Sequence[str], values: dict[Key, Any]) -> Any:
        return self.result(key, step, tuple(self._value(operand, word, values, key) for operand in step.operands))

    def result(self, key: Key, step: Step, given: tuple[Any, ...]) -> Any:
        """What a slot becomes when its reads give these values."""
        return self._cached(
            id(step.case), given, lambda: result_of(self.unfolding.groups[key[0]], step.case, given, key)
        )

    def _value(self, operand: Operand, word: Sequence[str], values: dict[Key, Any], key: Key) -> Any:
        if isinstance(operand, FromLetter):
            return word[operand.place]
        if isinstance(operand, FromSlot):
            return values[operand.key]
        if isinstance(operand, Fixed):
            return operand.value
        if isinstance(operand, Through):
            inner = self._value(operand.operand, word, values, key)
            return inner if isinstance(operand.read, Each) else mapped(operand.read, inner)
        return self._found(operand, word, values, key)

    def _found(self, operand: Found, word: Sequence[str], values: dict[Key, Any], key: Key) -> Any:
        over = operand.over
        union: set[Any] = set()
        for operands in operand.operands:
            given = tuple(self._value(part, word, values, key) for part in operands)
            union |= self._cached(id(over), given, lambda given=given: found_by(over, given, key))
        return gathered(over, union)

    def _cached(self, rule: int, given: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        asked = rule, given
        if asked not in self._called:
            self._called[asked] = compute()
        return self._called[asked]


def found_by(over: Over, given: tuple[Any, ...], where: Key | str) -> frozenset:
    """What the function of `over` gives for one value of its index: items, or True where it holds (or fails)."""
    pairs = zip(over.reads, given, strict=True)
    choices = [as_set(value, read, over.line) if isinstance(read, Each) else (value,) for read, value in pairs]
    union: set[Any] = set()
    for chosen in product(*choices):
        result = called(over.function, chosen, where, over.line)
        if over.kind == "collect":
            union |= _collection(over, result, where)
        elif bool(result) == (over.kind == "some"):
            union.add(True)
    return frozenset(union)


def as_set(value: Any, read: Read, line: str) -> frozenset:
    """What each(…) goes through; refused where no set is read."""
    if isinstance(value, frozenset):
        return value
    error = ProblemError(
        f"{read} is given {shortened(repr(value))}, which is no set; read it without each(…), or map it to a set"
    )
    raise at_line(line, error)


def mapped(read: Mapped, value: Any) -> Any:
    """The value after the function of `.map`, a set as a frozenset."""
    try:
        result = read.function(value)
        if isinstance(result, set):
            result = frozenset(result)
        hash(result)
    except (Exception, SystemExit) as error:
        said = shortened(str(error), most=MOST_SAID)
        found = ProblemError(
            f"the function of {read} raises {type(error).__name__} ({said}) for {_shown((value,))}; "
            "it must be defined for all values that are read there, and give what can be looked up"
        )
        raise at_line(read.line, found) from error
    return result


def _collection(over: Over, result: Any, where: Key | str) -> set[Any]:
    try:
        return set(result)
    except TypeError:
        raise ProblemError(
            f"collect in the rule of {_where(where)}{_line(over.function, over.line)} is given "
            f"{shortened(repr(result))}, which is no collection of values; "
            "return a set or a tuple of them, {} or () for none"
        ) from None


def gathered(over: Over, union: set[Any] | frozenset) -> Any:
    """What a rule is given: a truth value, or the set of all items."""
    return frozenset(union) if over.kind == "collect" else bool(union) == (over.kind == "some")


def result_of(group: Slots, case: Case, given: tuple[Any, ...], where: Key | str) -> Any:
    """The value of a rule, as it stands among the values of its group."""
    result = called(case.rule, given, where, case.line)
    if isinstance(result, set):
        result = frozenset(result)
    try:
        return _members(group)[result]
    except (KeyError, TypeError):
        raise ProblemError(
            f"the rule of {_where(where)}{_line(case.rule, case.line)} gives {shortened(repr(result))} "
            f"for {_shown(given)}, which is not among the values of {group.name}; add it there, or mend the rule"
        ) from None


def called(function: Callable[..., Any], given: tuple[Any, ...], where: Key | str, line: str = "") -> Any:
    """The result of a function of the program; what it raises becomes a sentence."""
    try:
        return function(*given)
    except ProblemError:
        raise
    except (Exception, SystemExit) as error:  # a rule that calls exit() would end the command without a word
        said = shortened(str(error), most=MOST_SAID)
        raise ProblemError(
            f"the rule of {_where(where)}{_line(function, line)} raises {type(error).__name__} ({said}) "
            f"for {_shown(given)}; it must be defined for all values that its reads may have"
        ) from error


@lru_cache(maxsize=256)
def _members(group: Slots) -> dict[Any, Any]:
    return {value: value for value in group.values}


def _line(function: Callable[..., Any], line: str) -> str:
    """Where a function of the program begins, or the line that names it, for `int` and the like."""
    code = getattr(function, "__code__", None)
    if code is not None:
        return f" (line {code.co_firstlineno})"
    return f" ({line})" if line else ""


def _where(where: Key | str) -> str:
    return where if isinstance(where, str) else slot_name(where)


def _shown(given: tuple[Any, ...]) -> str:
    return f"({', '.join(shortened(value_name(value)) for value in given)})" if given else "no reads"
