"""BLIF files, combinational: tables of cubes, one for each signal.

.model NAME
.inputs a b c        may be repeated; a line that ends in \\ goes on in the next; # starts a comment
.outputs f
.names a b c f       rows of 0, 1 and - for the inputs, and 1 or 0 for the value of f on them;
1-0 1                all rows of a table give the same value, every other input the other one
.end
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.problems.circuits.circuit import FALSE, MOST_WIRES, Circuit, CircuitBuilder
from unmask.problems.circuits.file import read_circuit_file

MOST_SIGNALS = 2_000_000
SEQUENTIAL = (".latch", ".mlatch", ".clock")
HIERARCHY = (".subckt", ".gate", ".search", ".exdc")


def read_blif(path: str | Path) -> Circuit:
    """The circuit of a file."""
    return parse_blif(read_circuit_file(path).decode("utf-8", "replace"), str(path))


def parse_blif(text: str, name: str = "the circuit") -> Circuit:
    """The circuit of a BLIF text."""
    return _Reader(name).read(text).circuit()


@dataclass
class _Table:
    """One `.names`: what it reads, and its rows; `value` is what they give."""

    line: int
    reads: list[str]
    rows: list[str] = field(default_factory=list)
    value: bool = True


class _Reader:
    """Collects the declarations of a text, then builds the gates of what the outputs depend on."""

    def __init__(self, name: str) -> None:
        self.name, self.line = name, 0
        self.models: list[str] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.tables: dict[str, _Table] = {}
        self.open: _Table | None = None
        self.ended = False

    def read(self, text: str) -> "_Reader":
        cubes = 0
        for words in self._statements(text):
            if words[0].startswith("."):
                self.open = None
                self._declare(words[0], words[1:])
            else:
                cubes += self._row(words)
            if len(self.tables) + len(self.inputs) + len(self.outputs) > MOST_SIGNALS or cubes > MOST_WIRES:
                raise TooLarge(f"{self.name} has too many signals or cubes; use a smaller circuit")
        if not self.models:
            self._refuse("has no .model")
        if not self.outputs:
            self._refuse("has no .outputs")
        return self

    def _statements(self, text: str):
        """The words of every line, continued ones as one, without comments."""
        pending: list[str] = []
        for number, raw in enumerate(text.splitlines(), start=1):
            content = raw.partition("#")[0].rstrip()
            self.line = number
            pending += content.removesuffix("\\").split()
            if not content.endswith("\\") and pending:
                yield pending
                pending = []
        if pending:
            yield pending

    def _declare(self, keyword: str, words: list[str]) -> None:
        if keyword == ".model":
            if self.models:
                self._refuse("starts a second .model", "only flat circuits of one model are read, flatten it first")
            self.models.append(" ".join(words))
        elif keyword in SEQUENTIAL:
            self._refuse(f"has a {keyword}", "only combinational circuits are read, without latches")
        elif keyword in HIERARCHY:
            self._refuse(f"has a {keyword}", "only flat circuits of .names tables are read, flatten it first")
        elif self.ended:
            self._refuse(f"has a {keyword} after .end")
        elif keyword == ".end":
            self.ended = True
        elif keyword in (".inputs", ".outputs"):
            (self.inputs if keyword == ".inputs" else self.outputs).extend(words)
        elif keyword == ".names":
            if not words:
                self._refuse("has a .names without a signal")
            *reads, signal = words
            if signal in self.tables:
                self._refuse(f"defines the signal {shortened(signal)!r} twice")
            self.open = self.tables[signal] = _Table(self.line, reads)
        else:
            self._refuse(f"has the unknown declaration {shortened(keyword)!r}")

    def _row(self, words: list[str]) -> int:
        table = self.open
        if table is None:
            self._refuse(f"has {shortened(words[0])!r} where a declaration is needed")
        cube, value = ("", words[0]) if len(words) == 1 and not table.reads else (words[0], "".join(words[1:]))
        if len(cube) != len(table.reads) or set(cube) - set("01-") or value not in ("0", "1"):
            self._refuse(f"has a row that is not {len(table.reads)} of 0, 1, - and then 0 or 1")
        if table.rows and table.value != (value == "1"):
            self._refuse("has a table whose rows give both 0 and 1")
        table.value = value == "1"
        table.rows.append(cube)
        return 1 + len(cube)

    def circuit(self) -> Circuit:
        builder = CircuitBuilder(self.inputs)
        literal: dict[str, int] = {}
        for i, signal in enumerate(self.inputs):
            if signal in literal or signal in self.tables:
                raise ProblemError(f"{self.name} defines the signal {shortened(signal)!r} twice")
            literal[signal] = builder.input(i)
        for root in self.outputs:
            self._build(root, builder, literal)
        return builder.circuit([literal[signal] for signal in self.outputs], self.outputs)

    def _build(self, root: str, builder: CircuitBuilder, literal: dict[str, int]) -> None:
        """The gates of a signal, and of all that it depends on and that is not built yet."""
        stack, entered = [root], set()
        while stack:
            signal = stack[-1]
            if signal in literal:
                stack.pop()
                continue
            table = self.tables.get(signal)
            if table is None:
                raise ProblemError(f"{self.name} reads the signal {shortened(signal)!r}, which nothing defines")
            missing = [x for x in table.reads if x not in literal]
            if not missing:
                literal[signal] = _gate(builder, table, [literal[x] for x in table.reads])
                stack.pop()
                continue
            if signal in entered:
                raise ProblemError(
                    f"{self.name} has a cycle through the signal {shortened(signal)!r}, defined in line {table.line}"
                )
            entered.add(signal)
            stack += missing

    def _refuse(self, what: str, hint: str = "it is not a well-formed BLIF file") -> NoReturn:
        raise ProblemError(f"{self.name}, line {self.line}, {what}; {hint}")


def _gate(builder: CircuitBuilder, table: _Table, reads: list[int]) -> int:
    """OR over the rows of the AND of their literals, negated where the rows give 0."""
    if not table.rows:
        return FALSE
    cubes = [
        builder.and_(*(x ^ (bit == "0") for x, bit in zip(reads, row, strict=True) if bit != "-")) for row in table.rows
    ]
    return builder.or_(*cubes) ^ (not table.value)
