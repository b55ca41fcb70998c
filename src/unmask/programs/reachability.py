"""family:reachability × kind → Model: by squaring in place where slots may be rewritten, by its circuit elsewhere.

| kind       | steps          | space                                            |
|------------|----------------|--------------------------------------------------|
| mdm, plt   | ⌈log2 v⌉       | v² + v³                                          |
| smdm       | depth, 2⌈log2 v⌉ at most | wires + gates: a written slot stays as it is |
| cot        | gates, fan-in two        | one symbol per step                    |
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

from unmask.numerics.precision import Precision
from unmask.programs.assemble import assemble
from unmask.programs.circuits import FamilyCompiler
from unmask.programs.limits import check_table
from unmask.programs.program import Program
from unmask.programs.squaring_diffusion import squaring_planner, squaring_predictor
from unmask.programs.squaring_looped import squaring_loop
from unmask.programs.squaring_parts import squaring_slots, squarings
from unmask.programs.vocabulary import vocabulary_of
from unmask.weights.model import Kind, Model
from unmask.weights.transformer import Transformer

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

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Graphs with about as many edges as vertices: some have the path, some have not."""
        v = isqrt(length)
        while True:
            yield "".join(str(int(rng.randrange(v) == 0)) for _ in range(length))

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if kind not in IN_PLACE:
            return super().compile(kind, length, precision)
        self.family.check_length(length)
        v = isqrt(length)
        steps, role = (squarings(v), "pad") if kind == "plt" else (max(1, squarings(v)), "mask")
        vocabulary = vocabulary_of(self.family.letters, 2, (role, "reject", "accept"))
        transformers: dict[str, Transformer]
        if kind == "plt":
            transformers = {"model": _weights(squaring_loop(v, vocabulary), precision, loop=(1, 3))}
        else:
            transformers = {
                "planner": _weights(squaring_planner(v, vocabulary), precision),
                "predictor": _weights(squaring_predictor(v, vocabulary), precision),
            }
        return Model(
            kind=kind,
            length=length,
            padding=squaring_slots(v),
            steps=steps,
            **vocabulary.fields(),
            transformers=transformers,
            problem=self.problem,
        )


def _weights(program: Program, precision: Precision, *, loop: tuple[int, int] | None = None) -> Transformer:
    check_table(program)
    return assemble(program, precision, loop=loop)
