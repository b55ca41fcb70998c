"""Circuit × kind → Model: which program, and the frame it runs in.

| kind       | steps             | space                        |
|------------|-------------------|------------------------------|
| mdm, smdm  | depth             | wires + gates                |
| plt        | depth             | wires + gates                |
| cot        | gates, fan-in two | one symbol per step          |
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.circuits.shape import collapsed
from unmask.problems.family import FamilyProblem
from unmask.programs.circuits.by_depth import CircuitSize, circuit_system
from unmask.programs.circuits.chain import chain_gates, chain_system
from unmask.programs.circuits.uniform import least_length, uniform_system
from unmask.programs.compilers.addition import Adder, AdditionFamily
from unmask.programs.compilers.every_length import SystemFamily
from unmask.programs.compilers.family import ForEveryLength
from unmask.programs.compilers.model import model_of, stated_outputs
from unmask.programs.compilers.recurrences import SystemCompiler
from unmask.programs.language.program import Program
from unmask.programs.recurrences.diffusion import system_planner, system_predictor
from unmask.programs.recurrences.looped import system_loop
from unmask.programs.recurrences.placement import chain
from unmask.programs.recurrences.plan import Plan, most_added
from unmask.programs.recurrences.strings import system_string
from unmask.programs.recurrences.symbols import symbols_of
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding
from unmask.weights.model import Kind, Model
from unmask.weights.price import Extent

KINDS: tuple[Kind, ...] = ("mdm", "smdm", "plt", "cot")
BY_RECURRENCE: tuple[Kind, ...] = ("mdm", "smdm")
"""The kinds for which a family of circuits is compiled as a recurrence in N, where it has one."""


@dataclass(frozen=True, eq=False)
class CircuitCompiler:
    """A circuit, ready for any kind; words are strings of two letters, 0 and 1 unless others are given."""

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
        return KINDS

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
        """Three addresses, of wires and gates or of a gate and its two inputs, a few flags."""
        if kind == "cot":  # a word of one letter has a fifth symbol before it
            places = (length == 1) + length + len(chain_gates(self.circuit))
            return Extent(layers=1, symbols=5, fixed=21, per_bit=3, places=places)
        return Extent(
            layers=3, symbols=5, fixed=18 if kind == "plt" else 28, per_bit=3, places=length + self.size.slots
        )

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if length != len(self.circuit.inputs):
            raise ProblemError(f"the circuit reads {len(self.circuit.inputs)} bits, not {length}; leave out --length")
        if kind not in KINDS:
            raise ProblemError(
                f"a circuit compiles to {', '.join(KINDS)}; compile to mdm, then `unmask convert --to {kind}`"
            )
        roles = {"plt": ("pad",), "cot": ("begin",) if length == 1 else ()}.get(kind, ("mask",))
        if kind == "cot":
            return self._chain(roles, precision)
        plan = _planned(circuit_system(collapsed(self.circuit), self.letters), length, roles, precision)
        programs: dict[str, Program]
        if kind == "plt":
            programs = {"model": system_loop(plan)}
        else:
            programs = {"planner": system_planner(plan), "predictor": system_predictor(plan)}
        return self._model(kind, programs, precision, plan, padding=plan.slots, steps=self.size.depth)

    def _chain(self, roles: tuple[str, ...], precision: Precision) -> Model:
        gates = chain_gates(self.circuit)
        plan = _planned(chain_system(self.circuit, gates, self.letters), self.length, roles, precision)
        placement = chain(plan, plan.unfolding.keys)  # every gate comes after what it reads
        programs = {"model": system_string(placement)}
        return self._model("cot", programs, precision, plan, padding=len(gates), steps=len(gates))

    def for_every_length(self, kind: Kind, precision: Precision) -> None:  # noqa: ARG002
        return None

    def _model(self, kind: Kind, programs: dict[str, Program], precision: Precision, plan: Plan, **frame: Any) -> Model:
        vocabulary = plan.symbols.vocabulary
        outputs = stated_outputs(kind, len(plan.unfolding.answers))
        frame = {"length": plan.length, "problem": self.problem, "outputs": outputs, **frame}
        return model_of(kind, programs, precision, vocabulary, **frame)


def _planned(system: System, length: int, roles: tuple[str, ...], precision: Precision) -> Plan:
    return Plan(Unfolding(system, length), symbols_of(system, roles), most_added=most_added(precision))


@dataclass(frozen=True, eq=False)
class FamilyCompiler:
    """A family of circuits: one circuit for every length."""

    family: FamilyProblem

    @property
    def problem(self) -> dict[str, Any]:
        return self.family.to_json()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return KINDS

    @property
    def length(self) -> None:
        return None

    @cached_property
    def uniform(self) -> SystemCompiler | None:
        """The compiler of the recurrence in N, where the family has one."""
        system = uniform_system(self.family.family, self.family.letters)
        return None if system is None else SystemCompiler(system, self.problem, names_slots=False)

    @cached_property
    def adder(self) -> Adder | None:
        """The compiler of addition."""
        return Adder(self.problem, self.family.letters) if self.family.family == "addition" else None

    def at(self, kind: Kind, length: int) -> CircuitCompiler | SystemCompiler | Adder:
        """The compiler of one length: by the recurrence, or by the circuit; addition has a program of its own."""
        self.family.check_length(length)
        if self.adder is not None and kind in BY_RECURRENCE:
            return self.adder
        if self.uniform is not None and kind in BY_RECURRENCE and length >= least_length(self.family.family):
            return self.uniform
        return CircuitCompiler(self.family.circuit(length), self.problem, self.family.letters)

    def family_of(self, kind: Kind, precision: Precision) -> SystemFamily | AdditionFamily | None:
        """The models of every N but the shortest, where they are not compiled circuit by circuit."""
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
        """Of a recurrence and of the circuits of the shortest words together, so that it is the same for all N."""
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
