"""System of recurrences × kind × N → Model: a user's program, a grammar, or a family of circuits.

| kind       | steps                      | space: P is slots plus one row for each index of a read over a range   |
|------------|----------------------------|-------------------------------------------------------------------------|
| mdm, plt   | depth, or the stated steps | P                                                                       |
| smdm, topk | depth                      | P                                                                       |
| pcot       | depth                      | depth times the widest level                                            |
| cot        | P                          | P                                                                       |

If slots are rewritten, only mdm and plt are possible. If a slot reads an answer, pcot and cot repeat the answers.

`system_family` searches for one program for every N (mdm, smdm, topk). `compile` uses the family at every length that
it fits, and a program of a single length elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from unmask.compilers.model_families import (
    Design,
    ForEveryLength,
    ModelFamily,
    extent_of,
    model_of,
)
from unmask.errors import ProblemError, UnmaskError
from unmask.expressions import Expression, N, constant, log2_above
from unmask.numerics.arithmetic import Precision
from unmask.programs.instance import programs_at
from unmask.programs.program import Program
from unmask.programs.recurrences.slot_rows import NoFormula, constant_value, depend_on_length_alone, in_length
from unmask.programs.recurrences.string_placement import (
    Placement,
    one_level_per_step,
    one_slot_per_step,
    with_copied_answers,
)
from unmask.programs.recurrences.system_plan import Symbols, SystemPlan, most_added, symbols_of_system
from unmask.programs.recurrences.system_programs import system_loop, system_planner, system_predictor, system_string
from unmask.recurrences.slots import Over, Slots, read_parts
from unmask.recurrences.system import System, cases_of, is_truth, symbol_names
from unmask.recurrences.unfolding import Unfolding
from unmask.weights.kinds import Kind
from unmask.weights.model import Extent, Model

FITTED_LENGTHS = 13
"""The formulas are fitted to lengths 0 … 12."""
LATEST_START = 7
"""A family starts at this length at the latest."""

MOST_FITTED_ROWS = 1 << 13
"""The most slots and rows of a length used for fitting. Four indices of N exceed it, so there is no family."""

Unfold = Callable[[int], Unfolding]
Described = Callable[[SystemPlan, int], dict[str, Any]]
"""Plan and length → the description of the problem in the model folder."""


@dataclass(frozen=True, eq=False)
class SystemFamily(ModelFamily):
    """A family of models, from a plan for every N."""

    plan: SystemPlan
    system: System
    described: "Described"

    def problem_at(self, length: int) -> dict[str, Any]:
        return self.described(self.plan, length)

    def fits(self, unfolding: Unfolding) -> bool:
        """Return True if the family can be used at this length."""
        steps, length = self.design.steps, unfolding.length
        assert isinstance(steps, Expression)
        if length < self.least or steps.at(length) < max(unfolding.depth.values()):
            return False
        return self.plan.fits(self.plan.rows_at(unfolding))


def system_family(
    system: System,
    kind: Kind,
    symbols: Symbols,
    unfold: Unfold,
    programs: Callable[[SystemPlan], dict[str, Program]],
    *,
    most_added: int,
    described: "Described",
) -> SystemFamily | None:
    """Return the family of a system; None if a position or the depth has no formula in N.

    A plan is made for each start of the family, 0 … LATEST_START - 1, and the one with the fewest regions is used. The
    search ends with a plan all of whose regions have a slot at every length.
    """
    if system.edits or not _has_boxes(system):
        return None
    unfoldings = _fitted_unfoldings(unfold)
    candidates: list[tuple[SystemPlan, Expression, int]] = []
    for least in range(LATEST_START):
        fitted = [u for u in unfoldings if u.length >= least]
        if len(fitted) < FITTED_LENGTHS - least or (steps := _steps(system, fitted)) is None:
            continue
        try:
            plan = SystemPlan.for_every_length(system, symbols, fitted, most_added=most_added)
            if not all(plan.fits(plan.rows_at(u)) for u in fitted):
                continue
        except NoFormula:
            continue
        candidates.append((plan, steps, least))
        if all(map(plan.has_every_region, fitted)):
            candidates = candidates[-1:]
            break
    if not candidates:
        return None
    plan, steps, least = min(candidates, key=lambda candidate: len(candidate[0].regions))
    try:
        design = Design(programs(plan), symbols.vocabulary, steps, plan.slots)
    except NoFormula:
        return None
    return SystemFamily(kind, least, design, None, {}, plan, system, described)


def _has_boxes(system: System) -> bool:
    """Return True if all ranges, of groups and of reads, depend on N alone."""
    ranges = [over for group in system.groups for over in group.ranges]
    for _, case in cases_of(system):
        ranges += [read.range for read in read_parts(case.reads) if isinstance(read, Over)]
    return depend_on_length_alone(ranges)


def _fitted_unfoldings(unfold: Unfold) -> list[Unfolding]:
    """Return the unfoldings of the first lengths without those that raise an error; none if one is too large."""
    unfoldings = []
    for length in range(FITTED_LENGTHS):
        try:
            unfoldings.append(unfold(length))
        except UnmaskError:
            continue
        if unfoldings[-1].size > MOST_FITTED_ROWS:
            return []
    return unfoldings


def _steps(system: System, unfoldings: Sequence[Unfolding]) -> Expression | None:
    """Return the depth as a sum of multiples of 1, N, ⌈log2 N⌉ and bounds of ranges; None if there is no such sum."""
    lengths = [u.length for u in unfoldings]
    terms = [constant(1), N, *map(in_length, bounds_of(system.groups)), log2_above(N)]
    coefficients = affine_fit(
        [[term.at(length) for length in lengths] for term in terms], [max(u.depth.values()) for u in unfoldings]
    )
    if coefficients is None:
        return None
    total: Expression | None = None
    for coefficient, term in zip(coefficients[1:], terms[1:], strict=True):
        if coefficient:
            summand = term if coefficient == 1 else term * coefficient
            total = summand if total is None else total + summand
    if total is None:
        return constant(coefficients[0])
    offset = coefficients[0]
    if offset == 0:
        return total
    return total + offset if offset > 0 else total - abs(offset)


def affine_fit(columns: Sequence[Sequence[int]], values: Sequence[int]) -> list[int] | None:
    """Return whole coefficients c with Σ c_k·column_k = values, 0 for dependent columns; None if they do not exist."""
    rows = [[Fraction(x) for x in (*line, value)] for *line, value in zip(*columns, values, strict=True)]
    pivots: list[int] = []
    for column in range(len(columns)):
        rank = len(pivots)
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [x / rows[rank][column] for x in rows[rank]]
        for r, other in enumerate(rows):
            if r != rank and other[column]:
                rows[r] = [x - other[column] * y for x, y in zip(other, rows[rank], strict=True)]
        pivots.append(column)
    if any(line[-1] for line in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * len(columns)
    for line, column in zip(rows, pivots, strict=False):
        solution[column] = line[-1]
    return [int(c) for c in solution] if all(c.denominator == 1 for c in solution) else None


def bounds_of(groups: Sequence[Slots]) -> list[Any]:
    """The distinct expressions in N, other than N and numbers, at the start or end of a range."""
    bounds = {}
    for group in groups:
        for over in group.ranges:
            for bound in (over.first, over.last):
                if bound.operator not in ("constant", "variable"):
                    bounds.setdefault(str(bound), bound)
    return list(bounds.values())


def why_no_family(system: System, kind: Kind) -> str:
    """Return why there is no family, if this can be determined quickly."""
    if system.edits:
        return "its slots are rewritten in every step"
    if not _has_boxes(system):
        return "a range depends on another index"
    return f"the positions of a {kind} are not formulas in n and N, or no formula was found for its depth"


def model_of_plan(
    kind: Kind,
    programs: dict[str, Program],
    precision: Precision,
    plan: SystemPlan,
    problem: dict[str, Any],
    **frame: Any,
) -> Model:
    """Return the model of a plan for one length; `frame` has the other fields of `Model`.

    A looped model with several answers states their number as `outputs`, because it decodes as many rows. Other kinds
    write all their slots, and the problem states how many of the last slots are answers.
    """
    answers = len(plan.unfolding.answers)
    outputs = answers if kind == "plt" and answers > 1 else None
    frame = {"length": plan.unfolding.length, "problem": problem, "outputs": outputs, **frame}
    return model_of(kind, programs, precision, plan.symbols.vocabulary, **frame)


IN_PLACE: tuple[Kind, ...] = ("mdm", "plt")
WRITTEN_ONCE: tuple[Kind, ...] = ("mdm", "smdm", "topk", "plt", "pcot", "cot")
USUAL_PRECISION = Precision(2)
FAMILIES: tuple[Kind, ...] = ("mdm", "smdm", "topk")
"""The kinds for which there is a program for every N."""
ROLES: dict[Kind, tuple[str, ...]] = {"plt": ("pad",)}
STRINGS: dict[Kind, Any] = {"cot": one_slot_per_step, "pcot": one_level_per_step}


@dataclass(frozen=True, eq=False)
class SystemCompiler:
    """The compiler of a system of recurrences for any kind and length."""

    system: System
    problem: dict[str, Any]
    names_slots: bool = True
    """Whether a model folder stores the names of its slots."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return IN_PLACE if self.system.edits else WRITTEN_ONCE

    @property
    def length(self) -> None:
        return None

    def layout_of(self, kind: Kind, length: int) -> str:
        plan = self.plan(kind, length)
        slots = sum(constant_value(block.count) for block in plan.blocks.values())
        rows = constant_value(plan.slots) - slots
        finding = f", and {_counted(rows, 'row')} for reads over a range" if rows else ""
        how = "rewritten in every step" if self.system.edits else "each written once"
        slots_and_rows = f"{_counted(slots, 'slot')}, {how}{finding}"
        layout = (
            f"{slots_and_rows}; {_counted(len(plan.regions), 'region')}, at most {_counted(len(plan.heads), 'read')}"
        )
        unread = self._unfolding(length).unread_letters
        return layout if not unread or not self.names_slots else f"{layout}; note: {_unread_note(unread, length)}"

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) that the construction promises: by counting the recurrence, not the rows of the model."""
        unfolding = self._unfolding(length)
        if self.system.edits:
            return unfolding.steps, unfolding.size
        if kind in STRINGS:
            unfolding = self._repeating(length)._unfolding(length)
        if kind == "cot":
            return unfolding.size, unfolding.size
        steps = max(unfolding.depth.values())
        return steps, steps * unfolding.widest if kind == "pcot" else unfolding.size

    def extent(self, kind: Kind, length: int) -> Extent:
        """Counted on the programs, because the numbers of regions and reads depend on the recurrence."""
        if kind in STRINGS:
            placement = self.placement(kind, length)
            symbols = placement.plan.symbols.vocabulary.symbols
            programs = programs_at({"model": system_string(placement)}, length)
            extent = extent_of(programs.values(), len(symbols), placement.codes)
            return replace(extent, cases=placement.plan.cases)
        if (family := self._fitting(kind, length, USUAL_PRECISION)) is not None:
            programs = programs_at(family.design.programs, length)
            return extent_of(programs.values(), len(family.design.vocabulary.symbols), family.plan.capacity.at(length))
        plan = self.plan(kind, length)
        programs = programs_at(self._programs(kind, plan), length)
        extent = extent_of(programs.values(), len(plan.symbols.vocabulary.symbols), constant_value(plan.capacity))
        return replace(extent, cases=plan.cases)

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if kind not in self.kinds:
            raise ProblemError(
                f"{self.system.name} rewrites its slots, so it compiles only to {', '.join(self.kinds)}; "
                f"compile to mdm, then `unmask convert --to {kind}`"
            )
        if kind in STRINGS:
            return self._string(kind, length, precision)
        if (family := self._fitting(kind, length, precision)) is not None:
            return family.model_at(length, precision)
        plan = self.plan(kind, length, precision)
        steps, _ = self.bound(kind, length)
        names = plan.row_names[length:]
        programs = self._programs(kind, plan)
        problem = self._described(plan.unfolding, names)
        padding = constant_value(plan.slots)
        return model_of_plan(kind, programs, precision, plan, problem, padding=padding, steps=steps)

    def _fitting(self, kind: Kind, length: int, precision: Precision) -> SystemFamily | None:
        """The family, if it is used at this length."""
        family, unfolding = self.family(kind, precision), self._unfolding(length)
        return family if family is not None and family.fits(unfolding) else None

    def family(self, kind: Kind, precision: Precision = USUAL_PRECISION) -> SystemFamily | None:
        """The models of every N from some length on, where positions are formulas in n and N."""
        return self._family(kind, most_added(precision)) if kind in FAMILIES else None

    def for_every_length(self, kind: Kind, precision: Precision) -> ForEveryLength:
        why = f"the compiler has no program of every N: {why_no_family(self.system, kind)}"
        return ForEveryLength(self.family(kind, precision), why, system=self.system)

    @cached_property
    def _family(self):
        def family(kind: Kind, most: int) -> SystemFamily | None:
            return system_family(
                self.system,
                kind,
                symbols_of_system(self.system, ROLES.get(kind, ("mask",))),
                self._unfolding,
                lambda plan: self._programs(kind, plan),
                most_added=most,
                described=self._described_at,
            )

        return lru_cache(maxsize=8)(family)

    def _programs(self, kind: Kind, plan: SystemPlan) -> dict[str, Program]:
        if kind == "plt":
            return {"model": system_loop(plan)}
        if kind == "topk":
            return {"model": system_predictor(plan, own_slot=True)}
        return {"planner": system_planner(plan), "predictor": system_predictor(plan)}

    def placement(self, kind: Kind, length: int, precision: Precision = USUAL_PRECISION) -> Placement:
        """The positions of slots in a string."""
        return STRINGS[kind](self._repeating(length).plan(kind, length, precision))

    def _string(self, kind: Kind, length: int, precision: Precision) -> Model:
        placement = self.placement(kind, length, precision)
        padding = placement.rows - length - placement.begin
        programs = {"model": system_string(placement)}
        frame = {"padding": padding, "steps": placement.steps, "block": placement.block}
        problem = self._described(placement.plan.unfolding, placement.names[-padding:])
        return model_of_plan(kind, programs, precision, placement.plan, problem, **frame)

    def _described_at(self, plan: SystemPlan, length: int) -> dict[str, Any]:
        unfolding = self._unfolding(length)
        return self._described(unfolding, plan.rows_at(unfolding).row_names[length:])

    def _described(self, unfolding: Unfolding, names: list[str]) -> dict[str, Any]:
        """Return the description of the problem in a model folder, with the number of answers and the slots' names."""
        if not self.names_slots:
            return self.problem
        if not self.problem:
            return {}
        symbols = symbol_names(self.system)
        answer_symbols = [symbols[value] for value in self.system.answer_group.values if not is_truth(value)]
        answers = {"symbols": answer_symbols} if self.problem.get("kind") == "program" else {}
        return {**self.problem, "outputs": len(unfolding.answers), "slots": names, **answers}

    def plan(self, kind: Kind, length: int, precision: Precision = USUAL_PRECISION) -> SystemPlan:
        """The plan of one kind and length."""
        begin = ("begin",) if kind == "cot" and length <= 1 else ()
        return self._plan(length, {**ROLES, "cot": begin}.get(kind, ("mask",)), most_added(precision))

    def _repeating(self, length: int) -> "SystemCompiler":
        """Return the compiler of the same system with repeated answers, if a slot reads an answer."""
        return self._repeat(length)

    @cached_property
    def _repeat(self):
        def repeating(length: int) -> SystemCompiler:
            system = with_copied_answers(self.system, self._unfolding(length))
            return self if system is self.system else replace(self, system=system)

        return lru_cache(maxsize=8)(repeating)

    @cached_property
    def _unfolding(self):
        return lru_cache(maxsize=8)(lambda length: _require_valid(Unfolding(self.system, length)))

    @cached_property
    def _plan(self):
        def planned(length: int, roles: tuple[str, ...], most: int) -> SystemPlan:
            return SystemPlan.at(self._unfolding(length), symbols_of_system(self.system, roles), most_added=most)

        return lru_cache(maxsize=8)(planned)


def _unread_note(positions: list[int], length: int) -> str:
    """Return a note on the letters of a word that no slot reads."""
    if len(positions) == length:
        return f"no slot reads any of the {length} letters"
    named = ", ".join(map(str, positions[:8])) + (f" and {len(positions) - 8} more" if len(positions) > 8 else "")
    return f"no slot reads letter{'' if len(positions) == 1 else 's'} {named} of {length}, counted from 0"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _require_valid(unfolding: Unfolding) -> Unfolding:
    """Return the same, after checking everything that can be wrong at this length."""
    edits = unfolding.system.edits
    _ = unfolding.answers, (unfolding.rules, unfolding.starts, unfolding.steps) if edits else unfolding.depth
    return unfolding
