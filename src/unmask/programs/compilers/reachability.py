"""family:reachability × kind → Model: by squaring in place where slots may be rewritten, by its circuit elsewhere.

| kind       | steps          | space                                            |
|------------|----------------|--------------------------------------------------|
| mdm, plt   | ⌈log2 v⌉       | v² + v³                                          |
| smdm       | depth, 2⌈log2 v⌉ at most | wires + gates: a written slot stays as it is |
| cot        | gates, fan-in two        | one symbol per step                    |
"""

from dataclasses import dataclass
from math import isqrt

from unmask.numerics.precision import Precision
from unmask.programs.compilers.circuits import FamilyCompiler
from unmask.programs.compilers.model import model_of
from unmask.programs.language.program import Program
from unmask.programs.language.vocabulary import vocabulary_of
from unmask.programs.reachability.diffusion import squaring_planner, squaring_predictor
from unmask.programs.reachability.looped import squaring_loop
from unmask.programs.reachability.parts import squaring_slots, squarings
from unmask.weights.model import Kind, Model
from unmask.weights.price import Extent

IN_PLACE: tuple[Kind, ...] = ("mdm", "plt")


@dataclass(frozen=True, eq=False)
class ReachabilityCompiler(FamilyCompiler):
    """Graphs of v vertices, as words of v² bits."""

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
        """Five addresses; else by the circuit."""
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
