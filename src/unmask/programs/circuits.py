"""Circuit × kind → Model: which program, and the frame it runs in.

| kind       | steps             | space                        |
|------------|-------------------|------------------------------|
| mdm, smdm  | depth             | wires + gates                |
| plt        | depth             | wires + gates                |
| cot        | gates, fan-in two | one symbol per step          |
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.problems.circuit import Circuit
from unmask.problems.circuit_shape import collapsed
from unmask.problems.families import FamilyProblem
from unmask.programs.assemble import assemble
from unmask.programs.circuit_chain import chain_gates, circuit_chain
from unmask.programs.circuit_diffusion import circuit_planner, circuit_predictor
from unmask.programs.circuit_looped import circuit_loop
from unmask.programs.circuit_plan import CircuitPlan, circuit_plan
from unmask.programs.vocabulary import vocabulary_of
from unmask.weights.model import Kind, Model
from unmask.weights.transformer import Transformer

KINDS: tuple[Kind, ...] = ("mdm", "smdm", "plt", "cot")


@dataclass(frozen=True, eq=False)
class CircuitCompiler:
    """A circuit, ready for any kind; words are strings of two letters, 0 and 1 unless others are given."""

    circuit: Circuit
    problem: dict[str, Any]
    letters: tuple[str, str] = ("0", "1")

    def __post_init__(self) -> None:
        if not self.circuit.inputs:
            raise ProblemError("the circuit has no input: there is nothing to read, evaluate it by hand")

    @cached_property
    def plan(self) -> CircuitPlan:
        return circuit_plan(collapsed(self.circuit))

    def layout_of(self, kind: Kind, length: int) -> str:  # noqa: ARG002
        if kind == "cot":
            return f"one gate of fan-in two per step, {len(chain_gates(self.circuit))} of them"
        plan = self.plan
        return f"{plan.wires} wires and {plan.is_and.size} gates of any fan-in, depth {plan.depth}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return KINDS

    @property
    def length(self) -> int:
        return len(self.circuit.inputs)

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Random bits."""
        while True:
            yield "".join(rng.choice(self.letters) for _ in range(length))

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) that the constructions promise."""
        assert length == len(self.circuit.inputs)
        if kind == "cot":
            size = len(chain_gates(self.circuit))
            return size, size
        return max(1, self.plan.depth), self.plan.slots

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if length != len(self.circuit.inputs):
            raise ProblemError(f"the circuit reads {len(self.circuit.inputs)} bits, not {length}; leave --length out")
        if kind not in KINDS:
            raise ProblemError(
                f"a circuit compiles to {', '.join(KINDS)}; compile to mdm, then `unmask convert --to {kind}`"
            )
        roles = {"plt": ("pad",), "cot": ()}.get(kind, ("mask",))
        vocabulary = vocabulary_of(self.letters, 2, (*roles, "reject", "accept"))
        steps, padding, plan = self.plan.depth, self.plan.slots, self.plan
        transformers: dict[str, Transformer]
        if kind == "cot":
            gates = chain_gates(self.circuit)
            steps = padding = len(gates)
            program = circuit_chain(self.circuit, gates, vocabulary)
            transformers = {"model": assemble(program, precision, attention="causal")}
        elif kind == "plt":
            transformers = {"model": assemble(circuit_loop(plan, vocabulary), precision, loop=(0, 3))}
        else:
            transformers = {
                "planner": assemble(circuit_planner(plan, vocabulary), precision),
                "predictor": assemble(circuit_predictor(plan, vocabulary), precision),
            }
        return Model(
            kind=kind,
            length=length,
            padding=padding,
            steps=steps,
            **vocabulary.fields(),
            transformers=transformers,
            problem=self.problem,
        )


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

    def at(self, length: int) -> CircuitCompiler:
        """The compiler of one length."""
        return CircuitCompiler(self.family.circuit(length), self.problem, self.family.letters)

    def layout_of(self, kind: Kind, length: int) -> str:
        return self.at(length).layout_of(kind, length)

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        return self.at(length).bound(kind, length)

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        return self.at(length).compile(kind, length, precision)

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        return self.at(length).words(length, rng)
