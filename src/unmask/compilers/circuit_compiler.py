"""Circuits and families of circuits × kind × N → Model.

| kind       | steps             | space                        |
|------------|-------------------|------------------------------|
| mdm, smdm  | depth             | wires + gates                |
| plt        | depth             | wires + gates                |
| cot        | gates, fan-in two | one symbol per step          |

The looped model (plt) of a circuit is `system_loop` of its system. Some families have other programs: four are one
recurrence in N, addition takes one step, reachability squares a matrix in place.
"""

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

from unmask.compilers.model_families import (
    Design,
    ForEveryLength,
    ModelFamily,
    extent_of,
    model_of,
)
from unmask.compilers.system_compiler import SystemCompiler, SystemFamily, model_of_plan
from unmask.errors import ProblemError
from unmask.expressions import constant
from unmask.numerics.arithmetic import Precision
from unmask.problems.circuit_problems import FamilyProblem
from unmask.problems.circuits.circuit import Circuit, collapsed
from unmask.problems.circuits.printed_circuits import PRINTED
from unmask.problems.circuits.shallow_circuits import shallow_circuit
from unmask.programs.circuit_systems import (
    CircuitSize,
    chain_gates,
    chain_system,
    circuit_system,
    least_length,
    uniform_system,
)
from unmask.programs.instance import programs_at
from unmask.programs.one_step_addition import ROWS, SLOTS, addition_planner, addition_predictor
from unmask.programs.printed_circuit_programs import PrintedRows, printed_planner, printed_predictor
from unmask.programs.program import Program, vocabulary_of
from unmask.programs.reachability import squaring_loop, squaring_planner, squaring_predictor, squaring_slots, squarings
from unmask.programs.recurrences.slot_rows import constant_value
from unmask.programs.recurrences.string_placement import one_slot_per_step
from unmask.programs.recurrences.system_plan import SystemPlan, most_added, symbols_of_system
from unmask.programs.recurrences.system_programs import system_loop, system_planner, system_predictor, system_string
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding
from unmask.weights.kinds import Kind
from unmask.weights.model import Extent, Model

LEAST_ADDITION_LENGTH = 2


@dataclass(frozen=True, eq=False)
class AdditionFamily(ModelFamily):
    """The models of addition, for every even N. Proofs recognise them by this type."""


@dataclass(frozen=True, eq=False)
class Adder:
    """The compiler of addition for any even length."""

    problem: dict[str, Any]
    letters: tuple[str, str]

    @cached_property
    def _design(self) -> Design:
        vocabulary = vocabulary_of(self.letters, 2, ("mask", "reject", "accept"))
        programs = {"planner": addition_planner(vocabulary), "predictor": addition_predictor(vocabulary)}
        return Design(programs, vocabulary, constant(1), SLOTS)

    def family(self, kind: Kind) -> AdditionFamily:
        return AdditionFamily(kind, LEAST_ADDITION_LENGTH, self._design, None, self.problem)

    def layout_of(self, kind: Kind, length: int) -> str:  # noqa: ARG002
        return f"{length // 2 + 1} slots, each written once, and {length} rows that look for a carry"

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:  # noqa: ARG002
        """(steps, padding) that the construction promises: a slot per bit of the sum, two rows per pair of bits."""
        half = length // 2
        return 1, 3 * half + 1

    def extent(self, kind: Kind, length: int) -> Extent:  # noqa: ARG002
        programs = programs_at(self._design.programs, length)
        return extent_of(programs.values(), len(self._design.vocabulary.symbols), ROWS.at(length))

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        return self.family(kind).model_at(length, precision)


CIRCUIT_KINDS: tuple[Kind, ...] = ("mdm", "smdm", "plt", "cot")
BY_RECURRENCE: tuple[Kind, ...] = ("mdm", "smdm")
"""The kinds for which a family of circuits with a recurrence in N is compiled as this recurrence."""


@dataclass(frozen=True, eq=False)
class CircuitCompiler:
    """The compiler of a circuit for any kind. Words consist of two letters, by default 0 and 1."""

    circuit: Circuit
    problem: dict[str, Any]
    letters: tuple[str, str] = ("0", "1")

    def __post_init__(self) -> None:
        if not self.circuit.inputs:
            raise ProblemError("the circuit has no inputs, so there is nothing to compile; add an input")

    @cached_property
    def size(self) -> CircuitSize:
        return CircuitSize.of(collapsed(self.circuit))

    def layout_of(self, kind: Kind, length: int) -> str:  # noqa: ARG002
        if kind == "cot":
            return f"one gate of fan-in two per step, {len(chain_gates(self.circuit))} of them"
        size = self.size
        return f"{size.wires} wires and {size.gates} gates of any fan-in, depth {size.depth}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return CIRCUIT_KINDS

    @property
    def length(self) -> int:
        return len(self.circuit.inputs)

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) that the constructions promise."""
        assert length == len(self.circuit.inputs)
        if kind == "cot":
            size = len(chain_gates(self.circuit))
            return size, size
        return max(1, self.size.depth), self.size.slots

    def extent(self, kind: Kind, length: int) -> Extent:
        """Count three addresses (of wires and gates, or of a gate and its two inputs) and a few flags."""
        if kind == "cot":  # a word of one letter has a fifth symbol before it
            places = (length == 1) + length + len(chain_gates(self.circuit))
            return Extent(layers=1, symbols=5, fixed=21, per_bit=3, places=places)
        return Extent(
            layers=3, symbols=5, fixed=18 if kind == "plt" else 28, per_bit=3, places=length + self.size.slots
        )

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if length != len(self.circuit.inputs):
            raise ProblemError(f"the circuit reads {len(self.circuit.inputs)} bits, not {length}; leave out --length")
        if kind not in CIRCUIT_KINDS:
            raise ProblemError(
                f"a circuit compiles to {', '.join(CIRCUIT_KINDS)}; compile to mdm, then `unmask convert --to {kind}`"
            )
        roles = {"plt": ("pad",), "cot": ("begin",) if length == 1 else ()}.get(kind, ("mask",))
        if kind == "cot":
            return self._chain(roles, precision)
        plan = _plan_of(circuit_system(collapsed(self.circuit), self.letters), length, roles, precision)
        programs: dict[str, Program]
        if kind == "plt":
            programs = {"model": system_loop(plan)}
        else:
            programs = {"planner": system_planner(plan), "predictor": system_predictor(plan)}
        frame = {"padding": constant_value(plan.slots), "steps": self.size.depth}
        return model_of_plan(kind, programs, precision, plan, self.problem, **frame)

    def _chain(self, roles: tuple[str, ...], precision: Precision) -> Model:
        gates = chain_gates(self.circuit)
        plan = _plan_of(chain_system(self.circuit, gates, self.letters), self.length, roles, precision)
        placement = one_slot_per_step(plan, plan.unfolding.keys)  # every gate comes after its inputs
        programs = {"model": system_string(placement)}
        return model_of_plan("cot", programs, precision, plan, self.problem, padding=len(gates), steps=len(gates))

    def for_every_length(self, kind: Kind, precision: Precision) -> None:  # noqa: ARG002
        return None


def family_circuit_compiler(family: FamilyProblem, length: int) -> CircuitCompiler:
    """The compiler of the shallow circuit of a family for words of one length."""
    family.check_length(length)
    return CircuitCompiler(shallow_circuit(family.family, length), family.to_json(), family.letters)


def _plan_of(system: System, length: int, roles: tuple[str, ...], precision: Precision) -> SystemPlan:
    return SystemPlan.at(Unfolding(system, length), symbols_of_system(system, roles), most_added=most_added(precision))


@dataclass(frozen=True, eq=False)
class FamilyCompiler:
    """The compiler of a family of circuits: one circuit for every length."""

    family: FamilyProblem

    @property
    def problem(self) -> dict[str, Any]:
        return self.family.to_json()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return CIRCUIT_KINDS

    @property
    def length(self) -> None:
        return None

    @cached_property
    def uniform(self) -> SystemCompiler | None:
        """The compiler of the recurrence in N, if the family has one."""
        system = uniform_system(self.family.family, self.family.letters)
        return None if system is None else SystemCompiler(system, self.problem, names_slots=False)

    @cached_property
    def adder(self) -> Adder | None:
        """The compiler of addition."""
        return Adder(self.problem, self.family.letters) if self.family.family == "addition" else None

    def at(self, kind: Kind, length: int) -> CircuitCompiler | SystemCompiler | Adder:
        """Return the compiler of one length: of the recurrence, of the circuit, or of addition."""
        self.family.check_length(length)
        if self.adder is not None and kind in BY_RECURRENCE:
            return self.adder
        if self.uniform is not None and kind in BY_RECURRENCE and length >= least_length(self.family.family):
            return self.uniform
        return family_circuit_compiler(self.family, length)

    def family_of(self, kind: Kind, precision: Precision) -> SystemFamily | AdditionFamily | None:
        """The models of every N except the shortest, if they are not compiled circuit by circuit."""
        if self.adder is not None and kind in BY_RECURRENCE:
            return self.adder.family(kind)
        return self.uniform.family(kind, precision) if self.uniform is not None and kind in BY_RECURRENCE else None

    def for_every_length(self, kind: Kind, precision: Precision) -> ForEveryLength:
        why = f"{self.family.name} is compiled to {kind} circuit by circuit, by tables of each N"
        system = None if self.uniform is None else self.uniform.system
        return ForEveryLength(self.family_of(kind, precision), why, system, self.family.family)

    def layout_of(self, kind: Kind, length: int) -> str:
        return self.at(kind, length).layout_of(kind, length)

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        return self.at(kind, length).bound(kind, length)

    def extent(self, kind: Kind, length: int) -> Extent:
        """Return the maximum for the recurrence and the circuits of the shortest words: it is the same for all N."""
        extent = self.at(kind, length).extent(kind, length)
        if self.uniform is None or kind not in BY_RECURRENCE:
            return extent
        least = least_length(self.family.family)
        circuit = self.at(kind, least - 1).extent(kind, least - 1)
        recurrence = extent if length >= least else self.uniform.extent(kind, max(length, least))
        return Extent(
            layers=max(circuit.layers, recurrence.layers),
            symbols=max(circuit.symbols, recurrence.symbols),
            fixed=max(circuit.fixed, recurrence.fixed),
            per_bit=max(circuit.per_bit, recurrence.per_bit),
            places=extent.places,
        )

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        return self.at(kind, length).compile(kind, length, precision)


def printed_family(name: str, kind: Kind) -> ModelFamily:
    """The mdm or smdm of a family whose circuits a metered machine prints: its positions call the machine."""
    problem, family = FamilyProblem(name), PRINTED[name]
    rows = PrintedRows(family)
    vocabulary = vocabulary_of(problem.letters, 2, ("mask", "reject", "accept"))
    programs = {"planner": printed_planner(rows, vocabulary), "predictor": printed_predictor(rows, vocabulary)}
    design = Design(programs, vocabulary, family.depth, rows.slots)
    return ModelFamily(kind, family.least, design, None, problem.to_json())


IN_PLACE: tuple[Kind, ...] = ("mdm", "plt")


@dataclass(frozen=True, eq=False)
class ReachabilityCompiler(FamilyCompiler):
    """Graphs of v vertices, as words of v² bits: squaring in place if slots may be rewritten, else by the circuit.

    | kind       | steps          | space                                            |
    |------------|----------------|--------------------------------------------------|
    | mdm, plt   | ⌈log2 v⌉       | v² + v³                                          |
    | smdm       | depth, 2⌈log2 v⌉ at most | wires + gates: a written slot stays as it is |
    | cot        | gates, fan-in two        | one symbol per step                    |
    """

    def layout_of(self, kind: Kind, length: int) -> str:
        if kind not in IN_PLACE:
            return super().layout_of(kind, length)
        v = isqrt(length)
        return f"squaring in place: {v**2} entries that are rewritten in every step, {v**3} products"

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        if kind not in IN_PLACE:
            return super().bound(kind, length)
        v = isqrt(length)
        return max(1, squarings(v)), squaring_slots(v)

    def extent(self, kind: Kind, length: int) -> Extent:
        """Count five addresses if the matrix is squared in place; otherwise return the extent of the circuit."""
        if kind not in IN_PLACE:
            return super().extent(kind, length)
        places = length + squaring_slots(isqrt(length))
        return Extent(layers=3, symbols=5, fixed=13 if kind == "plt" else 17, per_bit=5, places=places)

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if kind not in IN_PLACE:
            return super().compile(kind, length, precision)
        self.family.check_length(length)
        v = isqrt(length)
        steps, role = (squarings(v), "pad") if kind == "plt" else (max(1, squarings(v)), "mask")
        vocabulary = vocabulary_of(self.family.letters, 2, (role, "reject", "accept"))
        programs: dict[str, Program]
        if kind == "plt":
            programs = {"model": squaring_loop(v, vocabulary)}
        else:
            programs = {"planner": squaring_planner(v, vocabulary), "predictor": squaring_predictor(v, vocabulary)}
        return model_of(
            kind,
            programs,
            precision,
            vocabulary,
            length=length,
            padding=squaring_slots(v),
            steps=steps,
            problem=self.problem,
        )
