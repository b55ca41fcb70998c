"""System × word → the value of every slot: the specification that tests and proofs compare models with.

One evaluator computes the slots over a domain of values: Python values here, wires of a circuit in the prover. A rule
is called once for every combination of values that occurs. An exception in a rule, or a value that its group does not
have, is reported with the slot and the values.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, Protocol, TypeVar

from unmask.errors import ProblemError, WordError, message_of, shortened, shown_value
from unmask.expressions import Expression
from unmask.recurrences.rule_functions import (
    LONGEST_REASON,
    arguments_text,
    at_line,
    call_rule,
    check_function,
    in_line,
)
from unmask.recurrences.slots import Case, Each, Mapped, Over, Read, Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import (
    ConstantOperand,
    Key,
    LetterOperand,
    MappedOperand,
    Operand,
    RangeOperand,
    SlotOperand,
    SlotStep,
    Unfolding,
    slot_name,
)

REPEATED_CALLS = 16
"""The number of combinations of values for which an interpreter calls a rule twice, to check that it is pure."""


@dataclass(frozen=True, eq=False)
class SlotValues:
    """Slot values after the last step and, for a system that edits, after every step."""

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


Content = TypeVar("Content")


class ValueDomain(Protocol[Content]):
    """A representation of slot values: the value itself, or for example a literal for every possible value."""

    def constant(self, value: Any) -> Content:
        """Represent one value."""
        ...

    def apply(self, function: Callable[[tuple[Any, ...]], Any], arguments: Sequence[Content], key: Key, /) -> Content:
        """Represent a function of values; `key` is the slot that needs it."""
        ...

    def union(self, sets: Sequence[Content], gather: Callable[[frozenset], Any], key: Key) -> Content:
        """Represent a function of the union of sets."""
        ...


class PlainValues:
    """Every value is represented by itself."""

    def constant(self, value: Any) -> Any:
        return value

    def apply(
        self,
        function: Callable[[tuple[Any, ...]], Any],
        arguments: Sequence[Any],
        key: Key,  # noqa: ARG002
    ) -> Any:
        return function(tuple(arguments))

    def union(self, sets: Sequence[Any], gather: Callable[[frozenset], Any], key: Key) -> Any:  # noqa: ARG002
        return gather(frozenset().union(*sets))


class Interpreter:
    """A system at one length, prepared for many words."""

    def __init__(self, system: System, length: int) -> None:
        self.unfolding = Unfolding(system, length)
        self._called: dict[tuple[int, tuple[Any, ...]], Any] = {}
        if system.edits:
            _ = self.unfolding.rules, self.unfolding.starts, self.unfolding.steps
        else:
            _ = self.unfolding.order
        _ = self.unfolding.answers

    def run(self, word: Sequence[str]) -> SlotValues:
        """Return the value of every slot."""
        unfolding = self.unfolding
        letters = unfolding.system.letters
        if len(word) != unfolding.length:
            raise WordError(f"the word has {len(word)} letters, not {unfolding.length}")
        unknown = next((symbol for symbol in word if symbol not in letters), None)
        if unknown is not None:
            raise WordError(f"{shortened(unknown)!r} is not a letter; use {shortened(' '.join(letters))}")
        history = list(self.evaluate(word, PlainValues()))
        return SlotValues(unfolding, history[-1], history if unfolding.system.edits else [])

    def evaluate(self, word: Sequence[Content], domain: ValueDomain[Content]) -> Iterator[dict[Key, Content]]:
        """Yield the values of all slots: once or, for a system with steps, before the first and after every step."""
        unfolding = self.unfolding
        values: dict[Key, Content] = {}
        if not unfolding.system.edits:
            for key in unfolding.order:
                values[key] = self._slot(key, unfolding.rules[key], word, values, domain)
            yield values
            return
        values = {key: self._slot(key, step, word, {}, domain) for key, step in unfolding.starts.items()}
        yield values
        for _ in range(unfolding.steps):
            before = values
            values = {key: self._slot(key, step, word, before, domain) for key, step in unfolding.rules.items()}
            yield values

    def _slot(
        self,
        key: Key,
        step: SlotStep,
        word: Sequence[Content],
        values: dict[Key, Content],
        domain: ValueDomain[Content],
    ) -> Content:
        """Apply the rule of a slot to the values that it reads."""
        group, case = self.unfolding.groups[key[0]], step.case

        def value(operand: Operand) -> Content:
            if isinstance(operand, SlotOperand):
                return values[operand.key]
            if isinstance(operand, LetterOperand):
                return word[operand.position]
            if isinstance(operand, ConstantOperand):
                return domain.constant(operand.value)
            if isinstance(operand, MappedOperand):
                content, read = value(operand.operand), operand.read
                if isinstance(read, Each):  # the function of a read over a range iterates over the members itself
                    return content
                return domain.apply(lambda arguments: apply_map(read, *arguments), [content], key)
            return over_range(operand)

        def over_range(operand: RangeOperand) -> Content:
            over = operand.over

            def items(arguments: tuple[Any, ...]) -> frozenset:
                return self._cached(over, arguments, lambda: range_items(over, arguments, key), key)

            sets = [domain.apply(items, [value(inner) for inner in operands], key) for operands in operand.operands]
            return domain.union(sets, lambda union: range_result(over, union), key)

        def result(arguments: tuple[Any, ...]) -> Any:
            return self._cached(case, arguments, lambda: rule_result(group, case, arguments, key), key)

        return domain.apply(result, [value(operand) for operand in step.operands], key)

    def _cached(self, rule: Case | Over, arguments: tuple[Any, ...], compute: Callable[[], Any], key: Key) -> Any:
        call = id(rule), arguments
        if call not in self._called:
            result = compute()
            if len(self._called) < REPEATED_CALLS:
                check_function(lambda _: compute(), [(arguments, result)], rule_description(rule, _where(key)))
            self._called[call] = result
        return self._called[call]


def range_items(over: Over, arguments: tuple[Any, ...], where: Key | str) -> frozenset:
    """Return what a read over a range finds at one value of its index.

    For `collect` these are the items that its function returns. For `some` it is True if the function is true, for
    `every` it is True if the function is false; otherwise nothing.
    """
    pairs = zip(over.reads, arguments, strict=True)
    choices = [as_set(value, read, over.line) if isinstance(read, Each) else (value,) for read, value in pairs]
    union: set[Any] = set()
    for chosen in product(*choices):
        result = call_rule(over.function, chosen, _where(where), over.line)
        if over.kind == "collect":
            union |= _collection(over, result, where)
        elif bool(result) == (over.kind == "some"):
            union.add(True)
    return frozenset(union)


def as_set(value: Any, read: Read, line: str) -> frozenset:
    """Return the set over which each(…) iterates; raise if the value is not a set."""
    if isinstance(value, frozenset):
        return value
    error = ProblemError(
        f"{read} is given {shown_value(value)}, which is not a set; read it without each(…), or map it to a set"
    )
    raise at_line(line, error)


def apply_map(read: Mapped, value: Any) -> Any:
    """Return the result of the function of `.map` for a value, a set as a frozenset."""
    try:
        result = read.function(value)
        if isinstance(result, set):
            result = frozenset(result)
        hash(result)
    except (Exception, SystemExit) as error:
        reason = message_of(error, LONGEST_REASON)
        problem = ProblemError(
            f"the function of {read} raises {type(error).__name__} ({reason}) for {arguments_text((value,))}; "
            "it must be defined for all values that are read there, and give what can be looked up"
        )
        raise at_line(read.line, problem) from error
    return result


def _collection(over: Over, result: Any, where: Key | str) -> set[Any]:
    try:
        return set(result)
    except TypeError:
        raise ProblemError(
            f"collect in the rule of {_where(where)}{in_line(over.function, over.line)} is given "
            f"{shown_value(result)}, which is not a collection of values; "
            "return a set or a tuple of them, {} or () for none"
        ) from None


def range_result(over: Over, union: set[Any] | frozenset) -> Any:
    """Return the argument of a rule for a read over a range: a truth value, or the set of all items."""
    return frozenset(union) if over.kind == "collect" else bool(union) == (over.kind == "some")


def rule_result(group: Slots, case: Case, arguments: tuple[Any, ...], where: Key | str) -> Any:
    """Return the result of a rule, as it is listed among the values of the group."""
    result = call_rule(case.rule, arguments, _where(where), case.line)
    if isinstance(result, set):
        result = frozenset(result)
    try:
        return _members(group)[result]
    except (KeyError, TypeError):
        if isinstance(result, Expression):
            raise ProblemError(
                f"the rule of {_where(where)}{in_line(case.rule, case.line)} gives the formula {result} for "
                f"{arguments_text(arguments)}, and a function has no indices; "
                f"add number({result}, among=[…]) to the reads"
            ) from None
        raise ProblemError(
            f"the rule of {_where(where)}{in_line(case.rule, case.line)} gives {shown_value(result)} "
            f"for {arguments_text(arguments)}, which is not among the values of {group.name}; "
            "add it there, or correct the rule"
        ) from None


def rule_description(rule: Case | Over, where: str) -> str:
    """Return the name of the function of a rule, for error messages."""
    function = rule.rule if isinstance(rule, Case) else rule.function
    return f"the rule of {where}{in_line(function, rule.line)}"


@lru_cache(maxsize=256)
def _members(group: Slots) -> dict[Any, Any]:
    return {value: value for value in group.values}


def _where(where: Key | str) -> str:
    return where if isinstance(where, str) else slot_name(where)
