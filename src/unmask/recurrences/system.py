"""A system of recurrences: letters, groups of slots, and which slots are the answer.

    System("ab", [cell], answer=cell[0, N - 1])            every slot is written once, after the slots that it reads
    System("01", [cell], answer=cell[N - 1], steps=N)      every slot is rewritten in each of N steps

`unfolding.py` writes a system out for one N, `interpreter.py` computes its slots. `symbol_names` names its values.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from unmask.errors import ProblemError, shown_value
from unmask.expressions import Expression, Range, as_expression
from unmask.recurrences.rule_functions import line_of_caller, value_name
from unmask.recurrences.slots import (
    Case,
    Choice,
    Each,
    Letter,
    Mapped,
    Number,
    Over,
    Read,
    ReadVisitor,
    Slot,
    Slots,
    read_parts,
)


@dataclass(eq=False)
class System:
    """A system, checked when it is created; properties that depend on N are checked when it is unfolded.

    The answer is a slot, several slots of one group in their order, or all slots of a group. A slot whose values are
    truth values (or 0 and 1) accepts or rejects.
    """

    letters: tuple[str, ...]
    groups: tuple[Slots, ...]
    answers: tuple[Slot, ...] | Slots
    steps: Expression | None = None
    name: str = "program"
    line: str = ""
    _names: dict[str, Slots] = field(default_factory=dict, init=False)

    def __init__(
        self,
        letters: Sequence[str],
        groups: Slots | Sequence[Slots],
        answer: Slot | Slots | Sequence[Slot],
        *,
        steps: Expression | int | None = None,
        name: str = "program",
    ) -> None:
        if not isinstance(letters, Iterable):
            raise ProblemError(f"the letters of a program are a string, or a list of strings, and not {letters}")
        self.letters = tuple(letters)
        self.groups = (groups,) if isinstance(groups, Slots) or not isinstance(groups, Iterable) else tuple(groups)
        for group in self.groups:
            if not isinstance(group, Slots):
                raise ProblemError(f"the groups of a program are Slots(…); {group} is not one; list groups only")
        self.answers = _as_answers(answer)
        self.steps = None if steps is None else as_expression(steps)
        self.name = name
        self.line = line_of_caller()
        self._names = {group.name: group for group in self.groups}
        self._check()

    @property
    def edits(self) -> bool:
        """Whether slots are rewritten in every step."""
        return self.steps is not None

    @property
    def answer_group(self) -> Slots:
        return self.answers if isinstance(self.answers, Slots) else self.answers[0].group

    def _check(self) -> None:
        for symbol in self.letters:
            if not isinstance(symbol, str) or not symbol or any(c.isspace() for c in symbol):
                raise ProblemError(f"a letter is a string without blanks, not {symbol!r}")
        if not self.letters or len(set(self.letters)) < len(self.letters):
            raise ProblemError(f"the letters of a program must be distinct, and at least one, not {self.letters!r}")
        if len(self._names) < len(self.groups):
            raise ProblemError("two groups of slots have the same name; rename one of them")
        if self.steps is not None and self.steps.names - {"N"}:
            raise ProblemError(f"the number of steps may depend on N alone, not on {self.steps}")
        if not isinstance(self.answers, Slots) and len({slot.group for slot in self.answers}) != 1:
            raise ProblemError("the answers are in several groups of slots; add one group that copies them")
        if self.answer_group not in self.groups:
            raise ProblemError(f"the answer is in {self.answer_group.name}, which is not among the groups; list it")
        if not isinstance(self.answers, Slots):
            for slot in self.answers:
                _check_names(slot.indices, set(), f"the answer {slot}")
        for group in self.groups:
            self._check_group(group)

    def _check_group(self, group: Slots) -> None:
        index_names: set[str] = set()
        for over in group.ranges:
            _check_range(over, index_names, f"the range of {over.name} in {group.name}")
            index_names.add(over.name)
        if not group.rules:
            raise ProblemError(f"{group.name} has no rule; give it one with {group.name}.rule(…)")
        if self.edits and not group.starts:
            raise ProblemError(
                f"{group.name} is rewritten in every step and has no value before the first; "
                f"give it one with {group.name}.start(…)"
            )
        if not self.edits and group.starts:
            raise ProblemError(f"{group.name} has a start, but the program has no steps; give System(…, steps=…)")
        for case in (*group.rules, *group.starts):
            if case.where is not None:
                _check_names((case.where,), index_names, f"a condition of {group.name}")
            for read in case.reads:
                _ReadCheck(self).visit(read, _Scope(group, frozenset(index_names)))
        for case in group.starts:
            if any(isinstance(read, Slot) for read in read_parts(case.reads)):
                raise ProblemError(
                    f"the start of {group.name} reads a slot, but only letters exist before the first "
                    "step; read letters"
                )
            if any(isinstance(read, Over) for read in read_parts(case.reads)):
                raise ProblemError(f"the start of {group.name} reads over a range; let the first step do that")


@dataclass(frozen=True)
class _Scope:
    """The group whose rule reads, the indices that have a value, and whether this is inside a read over a range."""

    group: Slots
    index_names: frozenset[str]
    inside: bool = False

    @property
    def where(self) -> str:
        return f"a rule of {self.group.name}"


class _ReadCheck(ReadVisitor[_Scope, None]):
    """Raise for a read that is wrong for every N."""

    def __init__(self, system: System) -> None:
        self.system = system

    def letter(self, read: Letter, context: _Scope) -> None:
        self._check_names(context, read.at)

    def slot(self, read: Slot, context: _Scope) -> None:
        if read.group not in self.system.groups:
            raise ProblemError(f"{context.where} reads {read.group.name}, which is not among the groups; list it")
        self._check_names(context, *read.indices)

    def number(self, read: Number, context: _Scope) -> None:
        self._check_names(context, read.expression)

    def choice(self, read: Choice, context: _Scope) -> None:
        self._check_no_each_inside(read, context)
        self._check_names(context, read.condition)
        self.visit(read.then, context)
        self.visit(read.otherwise, context)

    def mapped(self, read: Mapped, context: _Scope) -> None:
        self._check_no_each_inside(read, context)
        if isinstance(read.read, Over):
            raise ProblemError(f"{context.where} maps a read over a range; let the rule do that")
        self.visit(read.read, context)

    def each(self, read: Each, context: _Scope) -> None:
        if not context.inside:
            raise ProblemError(f"{context.where} has each(…) outside of some, every and collect; read the set itself")
        self.visit(read.read, context)

    def over(self, read: Over, context: _Scope) -> None:
        where = context.where
        if context.inside:
            raise ProblemError(f"{where} reads over a range inside a range; compute the inner one in a separate group")
        _check_range(read.range, context.index_names, f"the range of {read.range.name} in {where}")
        inner = _Scope(context.group, context.index_names | {read.range.name}, inside=True)
        if read.where is not None:
            self._check_names(inner, read.where)
        for inner_read in read.reads:
            self.visit(inner_read, inner)

    def _check_names(self, context: _Scope, *expressions: Expression) -> None:
        _check_names(expressions, context.index_names, context.where)

    def _check_no_each_inside(self, read: Read, context: _Scope) -> None:
        if context.inside and any(isinstance(inner_read, Each) for inner_read in read_parts((read,))):
            raise ProblemError(
                f"{context.where} has each(…) inside {read}; "
                "write each(…) on the outside: each(pick(…)), each(read.map(…))"
            )


def _check_range(over: Range, index_names: Set[str], where: str) -> None:
    if over.name in index_names:
        raise ProblemError(f"{where}: the index {over.name} is already used; use another name")
    _check_names((over.first, over.last), index_names, where)


def _check_names(expressions: Sequence[Expression], index_names: Set[str], where: str) -> None:
    for expression in expressions:
        unknown = expression.names - index_names - {"N"}
        if unknown:
            raise ProblemError(
                f"{where}: {expression} uses {', '.join(sorted(unknown))}, which is not an index there; "
                f"use only {', '.join([*sorted(index_names), 'N'])}"
            )


def _as_answers(answer: Slot | Slots | Sequence[Slot]) -> tuple[Slot, ...] | Slots:
    if isinstance(answer, Slots):
        return answer
    listed = tuple(answer) if isinstance(answer, Sequence) else (answer,)
    if not listed:
        raise ProblemError("the answer names no slot; give one, such as cell[0, N - 1], or a group")
    for slot in listed:
        if not isinstance(slot, Slot):
            raise ProblemError(
                f"the answer must be a slot such as cell[0, N - 1], a list of slots, or a group, not {slot}"
            )
    return listed


def cases_of(system: System) -> Iterator[tuple[Slots, Case]]:
    """Every rule and start of every group."""
    for group in system.groups:
        for case in (*group.rules, *group.starts):
            yield group, case


USUAL_SPECIAL = ("0", "1", "m", "□")


def is_truth(value: Any) -> bool:
    """Return True for 0 and 1 of every type; 1.0 and NumPy's True have the token of True."""
    return value in (0, 1)


def symbol_names(system: System) -> dict[Any, str]:
    """Return the symbol of every value: letters first, then other values in the order of the groups.

    A letter is its own symbol. Another value is named by the group's `show`, or by its text: `{NP,VP}` for a set, `=5`
    for the number 5 if "5" is a letter. Truth values are left out: a model writes its accept and reject symbols.
    """
    names: dict[Any, str] = {symbol: symbol for symbol in system.letters}
    used = {*system.letters, *USUAL_SPECIAL}
    for group in system.groups:
        for value in group.values:
            if value in names or is_truth(value):
                continue
            if value in group.shown:
                name = group.shown[value]
                if name in names.values() or name in USUAL_SPECIAL[2:]:
                    raise ProblemError(
                        f"{group.name} shows {shown_value(value)} as {name!r}, which is a letter or another symbol; "
                        "choose another name in show"
                    )
            else:
                name = _free(value_name(value), used)
            used.add(name)
            names[value] = name
    return names


def truth_names(system: System) -> dict[str, str]:
    """Return the names of the reject and accept symbols that a group sets, or that letters 0 and 1 force."""
    names: dict[str, str] = {}
    for role, truth in (("reject", 0), ("accept", 1)):
        settings = [(group, value) for group in system.groups for value in group.values if value == truth]
        symbol = next((group.shown[value] for group, value in settings if value in group.shown), None)
        numbers = any(type(value) is int for _, value in settings)
        if symbol is not None:
            names[role] = symbol
        elif numbers and str(truth) in system.letters:
            names[role] = f"={truth}"
    return names


def _free(name: str, used: set[str]) -> str:
    """Return the name; if it is taken, the name with = in front, or with a number at the end."""
    if name not in used:
        return name
    candidates = (f"={name}", *(f"{name}#{i}" for i in range(2, len(used) + 3)))
    return next(candidate for candidate in candidates if candidate not in used)
