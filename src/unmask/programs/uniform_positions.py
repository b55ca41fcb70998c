"""Program → whether its positions can be computed in logarithmic space: a static check of its declarations.

The second machine of def:uniform-transformers is given 1^N and a position n, and writes the row p(n, N). A declaration
is accepted if it is a formula of the operators below. On numbers of O(log N) bits each of them takes O(log N) space,
and a formula takes as much for every level of its height: the branches of an `if` are computed after its condition, in
the same space. Bounds, with S = max(rows, N, 2):

    value   |n|, |N| <= S;  |constant| = c;  e + e, e - e: the sum;  e·e: the product;  e mod m: m;  e div d: e;
            pos(e), the power of two below e: e;  ⌈log2 e⌉: 62;  [e <= e]: 1;  if: the larger branch;
            machine(e, …): the bound of its registers                                                   → c·S^d
    height  1 + that of the operands; of an `if` the larger of 1 + the condition's and the branches'
    nodes   how long the formula is

A metered function (`problems/circuits/metered.py`) keeps constantly many registers within its bound, which is enforced
while it runs. Any other Python function is refused.

One program only shows that its numbers are small. `growth` compares the programs of several N and refuses growth unlike
that of a formula: numbers whose bits, or formulas whose length, grow faster than log S, and formulas that get higher.

The check does not cover the first machine, which writes the weights, nor how the compiler computes the numbers that
change with N (the number of rows, ⌈N/2⌉, …), only that they have O(log N) bits. A table is not a formula. A converted
model may read the table of its source: it is uniform if the source is, and nothing more is claimed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unmask.expressions import Expression, fold, fold_parts
from unmask.problems.circuits.metered import MachineCall
from unmask.programs.declarations import Declaration, TableBits, TableFlag, TableRows
from unmask.programs.program import Program
from unmask.weights.matrices import Positions

MOST_BITS = 62  # bits of an intermediate value: `evaluate` computes with 64 bits
EXTRA_BITS = 16  # bits of a constant, in addition to twice those of S
MOST_HEIGHT = 32
DEGREE = 3  # the largest growth of the number of bits per bit of S

POSITION_COMPARISONS = frozenset({"<=", "<", ">=", ">", "="})


@dataclass(frozen=True)
class FormulaSize:
    """|value| <= coefficient · S^degree; the height and the number of nodes of a formula."""

    coefficient: int
    degree: int
    height: int
    nodes: int

    def bits(self, S: int) -> int:
        """An upper bound of the number of bits of the value."""
        return (self.coefficient * S**self.degree).bit_length()


@dataclass(frozen=True)
class CheckedRegister:
    """One register: its formulas with their sizes, and the bits of the largest intermediate value of any of them.

    `table` names the table that it reads, `flaw` is the reason why the register is refused.
    """

    register: str
    formulas: tuple[str, ...]
    sizes: tuple[FormulaSize, ...]
    shapes: tuple[str, ...]
    bits: int
    table: str | None = None
    flaw: str | None = None


@dataclass(frozen=True)
class Uniformity:
    """The result of the check of one program."""

    length: int
    rows: int
    declared: tuple[CheckedRegister, ...]

    @property
    def scale(self) -> int:
        """S."""
        return max(self.rows, self.length, 2)

    @property
    def status(self) -> str:
        """refused | given as a table | relative | uniform."""
        tables = {d.table for d in self.declared}
        if self.flaws:
            return "refused"
        return "given as a table" if "given" in tables else "relative" if "source" in tables else "uniform"

    @property
    def flaws(self) -> tuple[str, ...]:
        return tuple(f"{d.register}: {d.flaw}" for d in self.declared if d.flaw is not None)

    @property
    def bits(self) -> int:
        """The bits of the largest intermediate value."""
        return max((d.bits for d in self.declared), default=1)

    @property
    def height(self) -> int:
        return max((size.height for d in self.declared for size in d.sizes), default=0)

    @property
    def nodes(self) -> int:
        """The nodes of the longest formula."""
        return max((size.nodes for d in self.declared for size in d.sizes), default=0)

    @property
    def sentence(self) -> str:
        tables = [d.register for d in self.declared if d.table == "given"]
        return {
            "refused": f"refused: {'; '.join(self.flaws)}",
            "given as a table": f"not uniform: given as a table ({', '.join(tables)})",
            "relative": "uniform if its source is: formulas over the source's table of positions",
            "uniform": "uniform: formulas on numbers of O(log N) bits",
        }[self.status]


def uniformity(program: Program, *, sources: Sequence[Positions] = ()) -> Uniformity:
    """Check every declaration of a program; `sources` are the tables of positions that a conversion may read."""
    S = max(program.rows, program.length, 2)
    return Uniformity(
        program.length,
        program.rows,
        tuple(_declared(name, declaration, S, sources) for name, declaration in program.positions.items()),
    )


def _declared(name: str, declaration: Declaration, S: int, sources: Sequence[Positions]) -> CheckedRegister:
    formulas = tuple(_expressions(declaration))
    flaw = next((flaw for flaw in (flaw_of(e, S) for e in formulas) if flaw is not None), None)
    sizes_by_node = {} if flaw is not None else fold_parts(formulas, _size)
    sizes = tuple(sizes_by_node[id(e)] for e in formulas if sizes_by_node)
    bits = max((size.bits(S) for size in sizes_by_node.values()), default=1)
    table = None
    if isinstance(declaration, TableRows | TableBits | TableFlag):
        table = "source" if any(declaration.table is source for source in sources) else "given"
    elif not formulas:
        flaw = f"{type(declaration).__name__} declares no formula"
    if flaw is None:
        flaw = _too_large(max((size.height for size in sizes), default=0), bits)
    return CheckedRegister(
        name, tuple(map(str, formulas)), sizes, tuple(map(formula_shape, formulas)), bits, table, flaw
    )


def _expressions(declaration: Declaration) -> Iterator[Expression]:
    """All expressions that a declaration computes."""
    for field in ("expression", "row", "only"):
        expression = getattr(declaration, field, None)
        if expression is not None:
            yield expression


def flaw_of(expression: Expression, S: int) -> str | None:
    """Describe the first node that is not a formula, or whose number has too many bits for S rows; else None."""
    for node in _nodes(expression):
        if node.operator == "machine":
            if not isinstance(node.machine, MachineCall):
                return f"{node} calls a function that is not metered"
            continue
        if ARITY.get(node.operator) != len(node.operands):
            return f"{node} is not a formula of the operators of positions"
        if node.operator == "variable" and node.name not in ("n", "N"):
            return f"{node} is not the position n or the length N"
        bits = node.value.bit_length()
        if bits > 2 * S.bit_length() + EXTRA_BITS:
            return f"the number {node} has {bits} bits, for {S} rows"
        if node.operator in ("div", "mod") and node.operands[1].is_constant(0):
            return f"{node} divides by 0"
    return None


def _too_large(height: int, bits: int) -> str | None:
    if height > MOST_HEIGHT:
        return f"a formula of height {height}, beyond {MOST_HEIGHT}"
    return f"an intermediate value of up to {bits} bits, beyond {MOST_BITS}" if bits > MOST_BITS else None


ARITY = {
    **dict.fromkeys(("variable", "constant"), 0),
    **dict.fromkeys(("pos", "power of two below", "log2 above"), 1),
    **dict.fromkeys(("+", "-", "·", "mod", "div", *POSITION_COMPARISONS), 2),
    "if": 3,
}
"""The operators, each computable in logarithmic space on numbers of O(log N) bits, and their numbers of operands."""


def _nodes(expression: Expression) -> Iterator[Expression]:
    """Every node once, even if it is shared."""
    visited: set[int] = set()
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if id(node) not in visited:
            visited.add(id(node))
            yield node
            waiting.extend(node.operands)


def formula_size(expression: Expression) -> FormulaSize:
    """The bounds of a formula."""
    return fold(expression, _size)


def _size(node: Expression, operands: list[FormulaSize]) -> FormulaSize:
    nodes = 1 + sum(o.nodes for o in operands)
    height = 1 + max((o.height for o in operands), default=0)
    if node.operator == "if":
        height = max(1 + operands[0].height, operands[1].height, operands[2].height)
    coefficient, degree = _bound(node, operands)
    return FormulaSize(coefficient, degree, height, nodes)


def _bound(node: Expression, operands: list[FormulaSize]) -> tuple[int, int]:
    operator = node.operator
    if operator == "variable":
        return 1, 1
    if operator == "constant":
        return abs(node.value), 0
    if operator in POSITION_COMPARISONS:
        return 1, 0
    if operator == "log2 above":
        return MOST_BITS, 0
    if operator == "machine":
        assert isinstance(node.machine, MachineCall)
        bound = node.machine.bound  # (N + 2)^d <= (2S)^d
        return bound.coefficient << bound.degree, bound.degree
    if operator == "·":
        return operands[0].coefficient * operands[1].coefficient, operands[0].degree + operands[1].degree
    if operator in ("+", "-"):
        return sum(o.coefficient for o in operands), max(o.degree for o in operands)
    relevant = {"mod": operands[1:], "if": operands[1:]}.get(operator, operands[:1])
    return max(o.coefficient for o in relevant), max(o.degree for o in relevant)


def formula_shape(expression: Expression) -> str:
    """Return the formula without its numbers."""

    def shape(node: Expression, parts: list[str]) -> str:
        if node.operator == "constant":
            return "#"
        return f"{node.operator}({','.join(parts)})" if parts else node.name

    return fold(expression, shape)


@dataclass(frozen=True)
class FormulaGrowth:
    """The comparison of the programs of several N."""

    lengths: tuple[int, ...]
    status: str
    bits: tuple[int, ...]
    height: int
    changing: tuple[str, ...]
    """Registers whose formulas differ between N in more than their numbers; they grow with log S."""
    numbers: tuple[str, ...]
    """Registers whose formula contains numbers that the compiler computes from N: only their size is known."""
    flaws: tuple[str, ...]


ORDER = ("uniform", "relative", "given as a table", "refused")


def growth(programs: Mapping[int, Sequence[Uniformity]], *, at_best: str = "uniform") -> FormulaGrowth:
    """Compare the results for several N (N → one per program, in the same order); the status is never better."""
    lengths = tuple(sorted(programs))
    first, every = programs[lengths[0]], [result for length in lengths for result in programs[length]]
    flaws = [flaw for result in every for flaw in result.flaws]
    flaws += [
        f"{len(first)} programs for N = {lengths[0]}, {len(programs[length])} for N = {length}"
        for length in lengths[1:]
        if len(programs[length]) != len(first)
    ]
    pairs = [pair for length in lengths[1:] for pair in zip(first, programs[length], strict=False)]
    if not flaws:
        flaws = [flaw for small, large in pairs for flaw in _outgrown(small, large)]
    return FormulaGrowth(
        lengths,
        "refused" if flaws else max((at_best, *(u.status for u in every)), key=ORDER.index),
        tuple(max((u.bits for u in programs[length]), default=1) for length in lengths),
        max((u.height for u in every), default=0),
        tuple(sorted({name for small, large in pairs for name in _differing(small, large, "shapes")})),
        tuple(sorted({name for small, large in pairs for name in _differing(small, large, "formulas")})),
        tuple(dict.fromkeys(flaws)),
    )


def _outgrown(small: Uniformity, large: Uniformity) -> Iterator[str]:
    """The registers that grow faster from the smaller to the larger program than log S allows."""
    more = large.scale.bit_length() - small.scale.bit_length()
    where = f"from N = {small.length} to N = {large.length}"
    if large.bits > small.bits + DEGREE * more + 2:
        yield f"numbers grow from {small.bits} to {large.bits} bits {where}: not O(log N)"
    if (
        large.nodes * small.scale.bit_length()
        > 2 * small.nodes * large.scale.bit_length() + 32 * small.scale.bit_length()
    ):
        yield f"a formula grows from {small.nodes} to {large.nodes} nodes {where}: a table in disguise"
    if large.height > small.height + 2:
        yield f"a formula grows from height {small.height} to {large.height} {where}: not a bounded number of registers"


def _differing(small: Uniformity, large: Uniformity, field: str) -> Iterator[str]:
    """Registers of both programs that differ in a field."""
    small_values = {d.register: getattr(d, field) for d in small.declared}
    for declared in large.declared:
        if small_values.get(declared.register, getattr(declared, field)) != getattr(declared, field):
            yield declared.register
