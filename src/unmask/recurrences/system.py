"""A system of recurrences: letters, groups of slots, and which slots are the answer.

    System("ab", [cell], answer=cell[0, N - 1])                     every slot is written once, when its operands stand
    System("01", [cell], answer=cell[N - 1], steps=N)               every slot is rewritten in every one of N steps

It knows nothing of transformers. `unfolding.py` lays it out for one N, `interpreter.py` says what it means.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from unmask.errors import ProblemError
from unmask.recurrences.expressions import Expression, Range, lifted
from unmask.recurrences.lines import line_of_caller
from unmask.recurrences.slots import Case, Choice, Each, Letter, Mapped, Number, Over, Read, Slot, Slots


@dataclass(eq=False)
class System:
    """Checked when it is made; what depends on N is checked when it is unfolded.

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
        self.groups = (groups,) if isinstance(groups, Slots) else tuple(groups)
        for group in self.groups:
            if not isinstance(group, Slots):
                raise ProblemError(f"the groups of a program are Slots(…); {group} is not one; list groups only")
        self.answers = _as_answers(answer)
        self.steps = None if steps is None else lifted(steps)
        self.name = name
        self.line = line_of_caller()
        self._names = {group.name: group for group in self.groups}
        self._check()

    @property
    def edits(self) -> bool:
        """Are slots rewritten in every step?"""
        return self.steps is not None

    @property
    def answer_group(self) -> Slots:
        return self.answers if isinstance(self.answers, Slots) else self.answers[0].group

    def _check(self) -> None:
        if not self.letters or len(set(self.letters)) < len(self.letters):
            raise ProblemError(f"the letters of a program must be distinct, and at least one, not {self.letters!r}")
        for symbol in self.letters:
            if not isinstance(symbol, str) or not symbol or any(c.isspace() for c in symbol):
                raise ProblemError(f"a letter is a string without blanks, not {symbol!r}")
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
                self._check_names(slot.places, set(), f"the answer {slot}")
        for group in self.groups:
            self._check_group(group)

    def _check_group(self, group: Slots) -> None:
        known: set[str] = set()
        for over in group.ranges:
            self._check_range(over, known, f"the range of {over.name} in {group.name}")
            known.add(over.name)
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
                self._check_names((case.where,), known, f"a condition of {group.name}")
            for read in case.reads:
                self._check_read(read, known, group)
        for case in group.starts:
            if any(isinstance(read, Slot) for read in read_parts(case.reads)):
                raise ProblemError(
                    f"the start of {group.name} reads a slot, but only letters exist before the first "
                    "step; read letters"
                )
            if any(isinstance(read, Over) for read in read_parts(case.reads)):
                raise ProblemError(f"the start of {group.name} reads over a range; let the first step do that")

    def _check_read(self, read: Read, known: set[str], group: Slots, *, inside: bool = False) -> None:
        where = f"a rule of {group.name}"
        if isinstance(read, Over):
            if inside:
                raise ProblemError(
                    f"{where} reads over a range inside a range; compute the inner one in a separate group"
                )
            self._check_range(read.range, known, f"the range of {read.range.name} in {where}")
            further = known | {read.range.name}
            if read.where is not None:
                self._check_names((read.where,), further, where)
            for part in read.reads:
                self._check_read(part, further, group, inside=True)
        elif isinstance(read, Each):
            if not inside:
                raise ProblemError(f"{where} has each(…) outside of some, every and collect; read the set itself")
            self._check_read(read.read, known, group, inside=True)
        elif inside and any(isinstance(part, Each) for part in read_parts((read,))):
            raise ProblemError(
                f"{where} has each(…) inside {read}; write each(…) on the outside: each(pick(…)), each(read.map(…))"
            )
        elif isinstance(read, Mapped):
            if isinstance(read.read, Over):
                raise ProblemError(f"{where} maps a read over a range; let the rule do that")
            self._check_read(read.read, known, group, inside=inside)
        elif isinstance(read, Number):
            self._check_names((read.expression,), known, where)
        elif isinstance(read, Choice):
            self._check_names((read.condition,), known, where)
            for part in (read.then, read.otherwise):
                self._check_read(part, known, group, inside=inside)
        elif isinstance(read, Slot):
            if read.group not in self.groups:
                raise ProblemError(f"{where} reads {read.group.name}, which is not among the groups; list it")
            self._check_names(read.places, known, where)
        elif isinstance(read, Letter):
            self._check_names((read.at,), known, where)

    def _check_range(self, over: Range, known: set[str], what: str) -> None:
        if over.name in known:
            raise ProblemError(f"{what}: the index {over.name} is already used; use another name")
        self._check_names((over.first, over.last), known, what)

    def _check_names(self, expressions: Sequence[Expression], known: set[str], what: str) -> None:
        for expression in expressions:
            unknown = expression.names - known - {"N"}
            if unknown:
                raise ProblemError(
                    f"{what}: {expression} uses {', '.join(sorted(unknown))}, which is not an index there; "
                    f"use only {', '.join([*sorted(known), 'N'])}"
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


def read_parts(reads: Sequence[Read]) -> Iterator[Read]:
    """The reads and all reads within them."""
    for read in reads:
        yield read
        inner: tuple[Any, ...] = ()
        if isinstance(read, Over):
            inner = read.reads
        elif isinstance(read, Choice):
            inner = (read.then, read.otherwise)
        elif isinstance(read, Mapped | Each):
            inner = (read.read,)
        yield from read_parts(inner)


def cases_of(system: System) -> Iterator[tuple[Slots, Case]]:
    """Every rule and start of every group."""
    for group in system.groups:
        for case in (*group.rules, *group.starts):
            yield group, case
