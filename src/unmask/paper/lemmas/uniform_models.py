"""Every compiler and every conversion → are its positions and weights uniform in N? (def:uniform-transformers)

| subject                               | positions        | meaning                                                 |
|---------------------------------------|------------------|---------------------------------------------------------|
| regular languages, reachability by    | uniform          | formulas on numbers of O(log N) bits, the same for all  |
| repeated squaring, programs and       |                  | N that were tried                                       |
| families that are recurrences in N    |                  |                                                         |
| circuits of a file, other families    | given as a table | positions list the circuit. A file is not a family. The |
| and kinds, arithmetic expressions,    |                  | positions of a `family:` are as uniform as its          |
| other programs                        |                  | circuits, those of a program as its unfolding. Whether  |
|                                       |                  | these are uniform is not shown here                     |
| conversions                           | relative         | formulas over the source's positions: uniform if the    |
|                                       |                  | source is                                               |

Weights: if a compiler instantiates one program for every N, every entry of the weights is in a finite table. Its row
and column depend on N only through the number of bits of each code. The models are compared with the table entry by
entry, by code that did not write them. Other weights are not checked.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.compilers.circuit_compiler import CircuitCompiler
from unmask.compilers.compiler import Compiler, compiler_for
from unmask.compilers.model_families import ModelFamily
from unmask.compilers.regular_compiler import RegularCompiler
from unmask.compilers.system_compiler import SystemCompiler
from unmask.numerics.arithmetic import Precision
from unmask.problems.automata.automaton import Automaton
from unmask.problems.catalogue import parse_problem
from unmask.problems.circuits.shallow_circuits import shallow_circuit
from unmask.programs.assembly import recorded_programs
from unmask.programs.program import Program
from unmask.programs.uniform_positions import FormulaGrowth, flaw_of, growth, uniformity
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter
from unmask.testing.random_model import random_model
from unmask.theorems.all_theorems import THEOREMS, TRANSFORMER_THEOREMS, VARIANTS
from unmask.theorems.theorem import Theorem, TransformerTheorem
from unmask.verification.lengths.expected_weights import compare_with_family
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

PRECISION = Precision(2)
SOURCE_LENGTHS = (3, 6, 12)


class NotUniform(AssertionError):
    """Raised if positions or weights are not as uniform as claimed."""


@dataclass(frozen=True)
class UniformityResult:
    """The formulas of positions of one compiler or conversion for several N, with the expected status."""

    name: str
    expected: str
    growth: FormulaGrowth
    note: str = ""
    entries: int | None = None
    """The number of entries of weights and positions compared with one program for every N; None if not compared."""

    @property
    def description(self) -> str:
        """Return the claim that the check supports."""
        growth = self.growth
        if growth.flaws:
            return f"refused: {'; '.join(growth.flaws)}"
        if growth.status == "given as a table":
            return f"not uniform: given as a table{self.note}"
        if growth.bits[-1] == 1:
            return "uniform if its source is: the source's own positions"
        relative = " if its source is" if growth.status == "relative" else ""
        return f"uniform{relative}: numbers of at most {growth.bits[-1]} bits at N = {growth.lengths[-1]}"

    @property
    def weights(self) -> str:
        return "not checked" if self.entries is None else f"one program for every N: {self.entries:,} entries"


def checked_results() -> tuple[UniformityResult, ...]:
    """Return the results of all compilers and conversions; raise `NotUniform` if one is not as uniform as claimed."""
    return tuple(require_expected_status(result) for result in all_results())


def require_expected_status(result: UniformityResult) -> UniformityResult:
    if result.growth.status != result.expected:
        raise NotUniform(f"{result.name}: {result.description}; expected: {result.expected}")
    return result


def all_results() -> Iterator[UniformityResult]:
    """Yield the result for every compiler, then for every conversion."""
    for source in SOURCES:
        compiler = source.compiler()
        for kind in source.kinds or compiler.kinds:
            yield compiler_result(source, compiler, kind)
    for theorem in (*THEOREMS, *VARIANTS):
        yield theorem_result(theorem)
    for transformer_theorem in TRANSFORMER_THEOREMS:
        yield transformer_theorem_result(transformer_theorem)


@dataclass(frozen=True)
class CompiledProblem:
    """A problem, the lengths to compile it for, the expected status, and the kinds (default: all that it compiles to).

    The shortest length is long enough to avoid special cases for small N.
    """

    name: str
    compiler: Callable[[], Compiler]
    lengths: tuple[int, ...]
    expected: str
    kinds: tuple[Kind, ...] = ()
    note: str = ""


def _parsed(problem: str) -> Callable[[], Compiler]:
    return lambda: compiler_for(parse_problem(problem))


def _all_maps_of_five_states() -> Compiler:
    """Return the compiler of a language with 3,125 maps, which are too many for one slot per node."""
    delta = np.array([[1, 1, 0], [2, 0, 1], [3, 2, 2], [4, 3, 3], [0, 4, 0]])
    return RegularCompiler.of(Automaton(("a", "b", "c"), delta, 0, np.array([1, 0, 0, 0, 0], dtype=bool)))


def _palindromes() -> Compiler:
    i, j = indices("i j")
    same = Slots("same", (i.range(N), j.range(i, N)), BOOLEAN)
    same.rule((same[i + 1, j - 1].or_else(True), letter(i), letter(j)), lambda inside, a, b: inside and a == b)
    return SystemCompiler(System("ab", same, answer=same[0, N - 1]), {})


def _common_walk() -> Compiler:
    """Return the compiler of a system whose groups are boxes, so that there is one program for every N."""
    i, j = indices("i j")
    way = Slots("way", (i.range(N), j.range(N)), BOOLEAN)
    reads = (way[i - 1, j].or_else(True), way[i, j - 1].or_else(False), letter(i), letter(j))
    way.rule(reads, lambda above, left, x, y: (above or left) and x == y)
    return SystemCompiler(System("ab", way, answer=way[N - 1, N - 1]), {})


FILE = ": a single circuit, not a family"
FAMILY = ": as uniform as the family's circuits, which is not shown here"
SOURCES: tuple[CompiledProblem, ...] = (
    CompiledProblem("(a|b)*abb", _parsed("(a|b)*abb"), (5, 16, 64), "uniform"),
    CompiledProblem("group:S3", _parsed("group:S3"), (5, 16, 64), "uniform"),
    CompiledProblem("all maps of 5 states", _all_maps_of_five_states, (5, 11, 24), "uniform"),
    CompiledProblem("family:reachability", _parsed("family:reachability"), (9, 25, 64), "uniform", ("mdm", "plt")),
    CompiledProblem(
        "family:reachability", _parsed("family:reachability"), (9, 16), "given as a table", ("smdm", "cot"), FAMILY
    ),
    CompiledProblem("family:parity", _parsed("family:parity"), (5, 16, 64), "uniform", ("mdm", "smdm")),
    CompiledProblem("family:parity", _parsed("family:parity"), (4, 9, 16), "given as a table", ("plt", "cot"), FAMILY),
    CompiledProblem("family:formula", _parsed("family:formula"), (5, 16, 64), "uniform", ("mdm", "smdm")),
    CompiledProblem("family:contains-aba", _parsed("family:contains-aba"), (5, 16, 64), "uniform", ("mdm", "smdm")),
    CompiledProblem("family:equal-halves", _parsed("family:equal-halves"), (6, 16, 64), "uniform", ("mdm", "smdm")),
    CompiledProblem("family:addition", _parsed("family:addition"), (4, 16, 64), "uniform", ("mdm", "smdm")),
    CompiledProblem("family:addition", _parsed("family:addition"), (4, 8), "given as a table", ("plt", "cot"), FAMILY),
    CompiledProblem(
        "a circuit of a file",
        lambda: CircuitCompiler(shallow_circuit("majority", 5), {}),
        (5,),
        "given as a table",
        note=FILE,
    ),
    CompiledProblem(
        "expr:(a+b)*c in 0..2",
        _parsed("expr:(a+b)*c in 0..2"),
        (),
        "given as a table",
        note=": a single expression, not a family",
    ),
    CompiledProblem("program: a common walk", _common_walk, (5, 9, 16), "uniform", ("mdm", "smdm", "topk")),
    CompiledProblem(
        "program: palindromes",
        _palindromes,
        (5, 9),
        "given as a table",
        note=": as uniform as the program's unfolding, which is not shown here",
    ),
)


def compiler_result(source: CompiledProblem, compiler: Compiler, kind: Kind) -> UniformityResult:
    """Check the programs that the compiler of a problem writes for one kind."""
    by_length, models = {}, []
    for length in source.lengths if compiler.length is None else (compiler.length,):
        programs = assembled(lambda length=length: models.append(compiler.compile(kind, length, PRECISION)))
        by_length[length] = [uniformity(program) for program in programs]
    name, offered = f"{source.name} → {kind}", compiler.for_every_length(kind, PRECISION)
    family = None if offered is None else offered.family
    entries = None if family is None else entries_compared(name, family, models)
    return UniformityResult(name, source.expected, growth(by_length), source.note, entries)


def entries_compared(name: str, family: ModelFamily, models: Sequence[Model]) -> int:
    """Compare models with the program of their family; return the number of entries.

    Raise `NotUniform` if an entry differs, or if the number of bits of a code is not a formula in N.
    """
    for program in family.design.programs.values():
        for register, capacity in program.codes.items():
            if (flaw := flaw_of(capacity, max(model.rows for model in models))) is not None:
                raise NotUniform(f"{name}: number of bits of {register}: {flaw}")
    try:
        return sum(compare_with_family(family, model) for model in models)
    except ObligationFailed as difference:
        raise NotUniform(f"{name}: {difference}; expected: one program for every N") from difference


def theorem_result(theorem: Theorem) -> UniformityResult:
    """Check the programs that a conversion writes, for small random sources whose slots grow with N."""
    by_length = {}
    for length in SOURCE_LENGTHS:
        source = small_source(theorem.source, length)
        programs = assembled(lambda source=source: theorem.convert(source))
        tables = [transformer.positions for transformer in source.transformers.values()]
        by_length[length] = [uniformity(program, sources=tables) for program in programs]
    return UniformityResult(theorem.stem, "relative", growth(by_length, at_best="relative"))


def transformer_theorem_result(theorem: TransformerTheorem) -> UniformityResult:
    """Check the programs that a conversion of single transformers writes."""
    by_length = {}
    for length in SOURCE_LENGTHS:
        source = small_source("topk", length).transformers["model"]
        source = replace(source, attention="unmasked" if theorem.stem.startswith("unmasked") else "causal")
        programs = assembled(lambda source=source: theorem.convert(source, len(source.positions)))
        by_length[length] = [uniformity(program, sources=[source.positions]) for program in programs]
    return UniformityResult(theorem.stem, "relative", growth(by_length, at_best="relative"))


def small_source(kind: Kind, length: int) -> Model:
    model = random_model(1, kind, length, precision=PRECISION.p, padding=length, steps=2, layers=1, width=3)
    return replace(model, k=None)


def assembled(build: Callable[[], object]) -> list[Program]:
    """Return the programs that a compilation or conversion assembles."""
    with recorded_programs() as programs:
        build()
    return programs


def uniformity_table(results: tuple[UniformityResult, ...]) -> str:
    """Return the table of docs/background/uniformity-table.md (`python -m unmask.paper.lemmas.uniform_models`)."""
    lines = ["| written by | N | its positions | its weights |", "|---|---|---|---|"]
    for result in results:
        name, lengths = result.name.replace("|", "\\|"), ", ".join(map(str, result.growth.lengths))
        lines.append(f"| `{name}` | {lengths} | {result.description} | {result.weights} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(uniformity_table(checked_results()), end="")
