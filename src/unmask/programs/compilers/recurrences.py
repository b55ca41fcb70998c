"""System of recurrences × kind × N → Model: which program, and the frame it runs in.

| kind       | steps                      | space: P counts slots, and a row for each index of a read over a range |
|------------|----------------------------|-------------------------------------------------------------------------|
| mdm, plt   | depth, or the stated steps | P                                                                       |
| smdm, topk | depth                      | P                                                                       |
| pcot       | depth                      | depth times the widest level                                            |
| cot        | P                          | P                                                                       |

Where slots are rewritten, only mdm and plt can do it. Where a slot reads an answer, pcot and cot repeat the answers.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.programs.compilers.every_length import SystemFamily, system_family, why_no_family
from unmask.programs.compilers.extent import extent_of
from unmask.programs.compilers.family import ForEveryLength
from unmask.programs.compilers.model import model_of, stated_outputs
from unmask.programs.language.instance import program_at
from unmask.programs.language.program import Program
from unmask.programs.recurrences.diffusion import system_planner, system_predictor
from unmask.programs.recurrences.every import EveryPlan
from unmask.programs.recurrences.looped import system_loop
from unmask.programs.recurrences.placement import Placement, chain, levels, with_copied_answers
from unmask.programs.recurrences.plan import Plan, most_added
from unmask.programs.recurrences.strings import system_string
from unmask.programs.recurrences.symbols import symbols_of
from unmask.recurrences.naming import is_truth, symbol_names
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding
from unmask.weights.model import Kind, Model
from unmask.weights.price import Extent

IN_PLACE: tuple[Kind, ...] = ("mdm", "plt")
ONCE: tuple[Kind, ...] = ("mdm", "smdm", "topk", "plt", "pcot", "cot")
USUAL = Precision(2)
FAMILIES: tuple[Kind, ...] = ("mdm", "smdm", "topk")
"""The kinds for which there is a program of every N."""
ROLES: dict[Kind, tuple[str, ...]] = {"plt": ("pad",)}
STRINGS: dict[Kind, Any] = {"cot": chain, "pcot": levels}


@dataclass(frozen=True, eq=False)
class SystemCompiler:
    """A system of recurrences, ready for any kind and length."""

    system: System
    problem: dict[str, Any]
    names_slots: bool = True
    """Does a folder say how its slots are called?"""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return IN_PLACE if self.system.edits else ONCE

    @property
    def length(self) -> None:
        return None

    def layout_of(self, kind: Kind, length: int) -> str:
        plan = self.plan(kind, length)
        rows = plan.slots - sum(block.count for block in plan.blocks.values())
        finding = f", and {_counted(rows, 'row')} for reads over a range" if rows else ""
        how = "rewritten in every step" if self.system.edits else "each written once"
        made = f"{_counted(plan.slots - rows, 'slot')}, {how}{finding}"
        layout = f"{made}; {_counted(len(plan.regions), 'region')}, at most {_counted(len(plan.heads), 'read')}"
        unread = self._unfolding(length).unread_letters
        return layout if not unread or not self.names_slots else f"{layout}; note: {_unread(unread, length)}"

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
        """Counted on the programs: how many regions and reads there are is up to the recurrence."""
        if kind in STRINGS:
            placement = self.placement(kind, length)
            symbols = placement.plan.symbols.vocabulary.symbols
            extent = extent_of([system_string(placement)], len(symbols), placement.codes)
            return replace(extent, cases=placement.plan.cases)
        if (family := self._fitting(kind, length, USUAL)) is not None:
            programs = [program_at(program, length) for program in family.design.programs.values()]
            return extent_of(programs, len(family.design.vocabulary.symbols), family.plan.room.at(length))
        plan = self.plan(kind, length)
        extent = extent_of(self._programs(kind, plan).values(), len(plan.symbols.vocabulary.symbols), plan.room)
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
        return self._model(kind, programs, precision, plan, names, padding=plan.slots, steps=steps)

    def _fitting(self, kind: Kind, length: int, precision: Precision) -> SystemFamily | None:
        """The family, if it is the one to take at this length."""
        family, unfolding = self.family(kind, precision), self._unfolding(length)
        return family if family is not None and family.fits(unfolding) else None

    def family(self, kind: Kind, precision: Precision = USUAL) -> SystemFamily | None:
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
                symbols_of(self.system, ROLES.get(kind, ("mask",))),
                self._unfolding,
                lambda plan: self._programs(kind, plan),
                most_added=most,
                described=self._described_at,
            )

        return lru_cache(maxsize=8)(family)

    def _programs(self, kind: Kind, plan: Plan) -> dict[str, Program]:
        if kind == "plt":
            return {"model": system_loop(plan)}
        if kind == "topk":
            return {"model": system_predictor(plan, own_slot=True)}
        return {"planner": system_planner(plan), "predictor": system_predictor(plan)}

    def placement(self, kind: Kind, length: int, precision: Precision = USUAL) -> Placement:
        """Where slots stand in a string."""
        return STRINGS[kind](self._repeating(length).plan(kind, length, precision))

    def _string(self, kind: Kind, length: int, precision: Precision) -> Model:
        placement = self.placement(kind, length, precision)
        padding = placement.rows - length - placement.begin
        programs = {"model": system_string(placement)}
        frame = {"padding": padding, "steps": placement.steps, "block": placement.block}
        return self._model(kind, programs, precision, placement.plan, placement.names[-padding:], **frame)

    def _model(
        self,
        kind: Kind,
        programs: dict[str, Program],
        precision: Precision,
        plan: Plan,
        names: list[str],
        **frame: Any,
    ) -> Model:
        problem = self._described(plan.unfolding, names)
        vocabulary, outputs = plan.symbols.vocabulary, stated_outputs(kind, len(plan.unfolding.answers))
        frame = {"length": plan.length, "problem": problem, "outputs": outputs, **frame}
        return model_of(kind, programs, precision, vocabulary, **frame)

    def _described_at(self, plan: EveryPlan, length: int) -> dict[str, Any]:
        unfolding = self._unfolding(length)
        return self._described(unfolding, plan.rows_at(unfolding).row_names[length:])

    def _described(self, unfolding: Unfolding, names: list[str]) -> dict[str, Any]:
        """What a folder keeps of a program says how many answers there are, and how its slots are called."""
        if not self.names_slots:
            return self.problem
        if not self.problem:
            return {}
        symbols = symbol_names(self.system)
        told = [symbols[value] for value in self.system.answer_group.values if not is_truth(value)]
        answers = {"symbols": told} if self.problem.get("kind") == "program" else {}
        return {**self.problem, "outputs": len(unfolding.answers), "slots": names, **answers}

    def plan(self, kind: Kind, length: int, precision: Precision = USUAL) -> Plan:
        """The plan of one kind and length."""
        begin = ("begin",) if kind == "cot" and length <= 1 else ()
        return self._plan(length, {**ROLES, "cot": begin}.get(kind, ("mask",)), most_added(precision))

    def _repeating(self, length: int) -> "SystemCompiler":
        """The compiler of the system whose answers nobody reads."""
        return self._repeat(length)

    @cached_property
    def _repeat(self):
        def repeating(length: int) -> SystemCompiler:
            system = with_copied_answers(self.system, self._unfolding(length))
            return self if system is self.system else replace(self, system=system)

        return lru_cache(maxsize=8)(repeating)

    @cached_property
    def _unfolding(self):
        return lru_cache(maxsize=8)(lambda length: _checked(Unfolding(self.system, length)))

    @cached_property
    def _plan(self):
        def planned(length: int, roles: tuple[str, ...], most: int) -> Plan:
            return Plan(self._unfolding(length), symbols_of(self.system, roles), most_added=most)

        return lru_cache(maxsize=8)(planned)


def _unread(places: list[int], length: int) -> str:
    """Say which letters of a word no slot reads."""
    if len(places) == length:
        return f"no slot reads any of the {length} letters"
    named = ", ".join(map(str, places[:8])) + (f" and {len(places) - 8} more" if len(places) > 8 else "")
    return f"no slot reads letter{'' if len(places) == 1 else 's'} {named} of {length}, counted from 0"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _checked(unfolding: Unfolding) -> Unfolding:
    """The same, after everything that can be wrong at this length has been looked at."""
    edits = unfolding.system.edits
    _ = unfolding.answers, (unfolding.rules, unfolding.starts, unfolding.steps) if edits else unfolding.depth
    return unfolding
