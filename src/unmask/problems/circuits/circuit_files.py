"""AIGER and BLIF files ↔ Circuit, combinational only.

AIGER, ASCII (aag) and binary (aig): and-inverter graphs with symbol tables. BLIF is described further below.

aag M I L O A        M the largest variable, I inputs, L latches (must be 0), O outputs, A and-gates
i0 name, o0 name     symbol table;  `c` starts the comments
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.files import read_file
from unmask.problems.circuits.circuit import FALSE, MOST_WIRES, Circuit, CircuitBuilder, Gate

# Reading the bytes of a circuit file, unless it is too large.


LARGEST_FILE = 1 << 26


def read_circuit_file(path: str | Path) -> bytes:
    """The content of a file."""
    return read_file(path, f"the circuit {path}", most=LARGEST_FILE, error=ProblemError)


MOST_VARIABLES = 2_000_000


def read_aiger(path: str | Path) -> Circuit:
    """The circuit of a file."""
    return parse_aiger(read_circuit_file(path), str(path))


def parse_aiger(content: bytes, name: str = "the circuit") -> Circuit:
    """The circuit of an AIGER text."""
    return _AigerReader(content, name).circuit()


def write_aiger(circuit: Circuit) -> str:
    """An ASCII AIGER text; wide gates become chains of and-gates, OR is a negated AND."""
    from unmask.problems.circuits.circuit import with_binary_gates

    small = with_binary_gates(circuit)
    first = small.first_gate
    meaning = list(range(2 * first))
    rows = []
    for k, gate in enumerate(small.gates):
        left, right = (meaning[x] ^ (gate.kind == "or") for x in gate.inputs)
        node = 2 * (first + k)
        rows.append(f"{node} {max(left, right)} {min(left, right)}")
        meaning += [node ^ (gate.kind == "or"), node ^ (gate.kind == "or") ^ 1]
    inputs = [str(2 * (1 + i)) for i in range(len(small.inputs))]
    outputs = [str(meaning[x]) for x in small.outputs]
    header = f"aag {first - 1 + len(rows)} {len(inputs)} 0 {len(outputs)} {len(rows)}"
    names = [f"i{i} {s}" for i, s in enumerate(small.inputs)] + [f"o{i} {s}" for i, s in enumerate(small.output_names)]
    return "\n".join([header, *inputs, *outputs, *rows, *names]) + "\n"


class _AigerReader:
    """Reads lines, then, in the binary format, deltas."""

    def __init__(self, content: bytes, name: str) -> None:
        self.content, self.name, self.position, self.line = content, name, 0, 0

    def circuit(self) -> Circuit:
        kind, *numbers = self._line().split() or [""]
        if kind not in ("aag", "aig") or len(numbers) < 5:
            raise self._error("must start with `aag M I L O A` or `aig M I L O A`")
        largest, inputs, latches, outputs, gates, *rest = (self._number(x) for x in numbers)
        if latches:
            raise ProblemError(
                f"{self.name} has {latches} latches; only combinational circuits are read, without latches"
            )
        if any(rest):
            raise self._error("has bad-state, constraint, justice or fairness properties, which are not supported")
        if max(largest, inputs, outputs, gates) > MOST_VARIABLES:
            raise TooLarge(f"{self.name} announces more than {MOST_VARIABLES} variables; use a smaller circuit")
        if largest < inputs + gates or (kind == "aig" and largest != inputs + gates):
            raise self._error(f"announces {largest} variables for {inputs} inputs and {gates} gates")
        binary = kind == "aig"
        input_literals = (
            [2 * (1 + i) for i in range(inputs)] if binary else [self._literal(largest) for _ in range(inputs)]
        )
        output_literals = [self._literal(largest) for _ in range(outputs)]
        and_gates = self._binary_gates(inputs, gates) if binary else [self._gate(largest) for _ in range(gates)]
        names = self._symbols(inputs, outputs)
        return _build_circuit(self.name, input_literals, output_literals, and_gates, names)

    def _line(self) -> str:
        end = self.content.find(b"\n", self.position)
        if end < 0:
            end = len(self.content)
        if self.position >= len(self.content):
            raise ProblemError(f"{self.name} ends too early, after line {self.line}; it may be cut off")
        text, self.position = self.content[self.position : end], end + 1
        self.line += 1
        return text.decode("utf-8", "replace").rstrip("\r")

    def _number(self, text: str) -> int:
        if not _is_number(text):
            raise self._error(f"has {text[:20]!r} where a number is needed")
        return int(text)

    def _literal(self, largest: int) -> int:
        value = self._number(self._line().strip())
        if value > 2 * largest + 1:
            raise self._error(f"has the literal {value}, beyond {2 * largest + 1}")
        return value

    def _gate(self, largest: int) -> tuple[int, int, int]:
        parts = [self._number(x) for x in self._line().split()]
        if len(parts) != 3 or max(parts) > 2 * largest + 1 or parts[0] & 1 or parts[0] < 2:
            raise self._error("has a gate that is not three literals, the first of them even")
        return parts[0], parts[1], parts[2]

    def _binary_gates(self, inputs: int, count: int) -> list[tuple[int, int, int]]:
        gates = []
        for k in range(count):
            node = 2 * (1 + inputs + k)
            left = node - self._delta()
            right = left - self._delta()
            if not 0 <= right <= left < node:
                raise ProblemError(f"and-gate {k} of {self.name} reads a literal that does not come before it")
            gates.append((node, left, right))
        return gates

    def _delta(self) -> int:
        value, shift = 0, 0
        while True:
            if self.position >= len(self.content) or shift > 35:
                raise ProblemError(f"{self.name} is cut off within its and-gates")
            byte = self.content[self.position]
            self.position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _symbols(self, inputs: int, outputs: int) -> dict[str, str]:
        names: dict[str, str] = {}
        while self.position < len(self.content):
            text = self._line()
            if text in ("c", ""):
                break
            position, _, name = text.partition(" ")
            count = {"i": inputs, "o": outputs}.get(position[:1], 0)
            if not name or not _is_number(position[1:]) or int(position[1:]) >= count:
                raise self._error(f"has the symbol entry {text[:30]!r}, which names no input or output")
            names[position] = name
        return names

    def _error(self, fault: str) -> ProblemError:
        return ProblemError(f"{self.name}, line {self.line}, {fault}; it is not a well-formed AIGER file")


def _is_number(text: str) -> bool:
    """Return whether the text is a number of at most 12 digits."""
    return text.isascii() and text.isdigit() and len(text) <= 12


def _build_circuit(
    name: str,
    input_literals: list[int],
    output_literals: list[int],
    and_gates: list[tuple[int, int, int]],
    names: dict[str, str],
) -> Circuit:
    """Return the circuit with inputs first, then gates in an order in which each comes after the nodes it reads."""
    literal = {0: 0}
    for i, x in enumerate(input_literals):
        if x & 1 or x < 2 or x in literal:
            raise ProblemError(f"input {i} of {name} is the literal {x}, which must be even, positive and new")
        literal[x] = 2 * (1 + i)
    reads = {node: (left, right) for node, left, right in and_gates}
    if len(reads) < len(and_gates) or any(node in literal for node in reads):
        raise ProblemError(f"{name} defines a variable twice")
    gates: list[Gate] = []
    for node in _topological_order(name, reads, defined=set(literal)):
        gates.append(Gate("and", tuple(literal[x & ~1] ^ (x & 1) for x in reads[node])))
        literal[node] = 2 * (len(input_literals) + len(gates))
    for x in output_literals:
        if x & ~1 not in literal:
            raise ProblemError(f"{name} has the output {x}, which nothing defines")
    return Circuit(
        inputs=tuple(names.get(f"i{i}", f"i{i}") for i in range(len(input_literals))),
        gates=tuple(gates),
        outputs=tuple(literal[x & ~1] ^ (x & 1) for x in output_literals),
        output_names=tuple(names.get(f"o{i}", f"o{i}") for i in range(len(output_literals))),
    )


def _topological_order(name: str, reads: dict[int, tuple[int, int]], defined: set[int]) -> Iterator[int]:
    """Yield the nodes of the gates, each after those that it reads, by a depth-first search in linear time."""
    for root in reads:
        waiting, entered = [root], set()  # entered: the nodes on the path from the root to the current node
        while waiting:
            node = waiting[-1]
            missing = [] if node in defined else [x & ~1 for x in reads[node] if x & ~1 not in defined]
            for x in missing:
                if x not in reads:
                    raise ProblemError(f"gate {node} of {name} reads the literal {x}, which nothing defines")
                if x in entered or x == node:
                    raise ProblemError(f"{name} has a cycle through the literal {x}")
            if missing:
                entered.add(node)
                waiting += missing
                continue
            waiting.pop()
            entered.discard(node)
            if node not in defined:
                defined.add(node)
                yield node


# BLIF files, combinational: tables of cubes, one for each signal.
#
# .model NAME
# .inputs a b c        may be repeated; a line that ends in \ goes on in the next; # starts a comment
# .outputs f
# .names a b c f       rows of 0, 1 and - for the inputs, and 1 or 0 for the value of f on them;
# 1-0 1                all rows of a table have the same value; inputs that match no row have the other value
# .end


MOST_SIGNALS = 2_000_000
SEQUENTIAL = (".latch", ".mlatch", ".clock")
HIERARCHY = (".subckt", ".gate", ".search", ".exdc")


def read_blif(path: str | Path) -> Circuit:
    """The circuit of a file."""
    return parse_blif(read_circuit_file(path).decode("utf-8", "replace"), str(path))


def parse_blif(text: str, name: str = "the circuit") -> Circuit:
    """The circuit of a BLIF text."""
    return _BlifReader(name).read(text).circuit()


@dataclass
class _Table:
    """One `.names` table: the signals that it reads, and its rows; `value` is the value of f on them."""

    line: int
    reads: list[str]
    rows: list[str] = field(default_factory=list)
    value: bool = True


class _BlifReader:
    """Collects the declarations of a text, then builds the gates that the outputs depend on."""

    def __init__(self, name: str) -> None:
        self.name, self.line = name, 0
        self.models: list[str] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.tables: dict[str, _Table] = {}
        self.open: _Table | None = None
        self.ended = False

    def read(self, text: str) -> "_BlifReader":
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
        """The words of every line, without comments; continued lines are joined."""
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
        """Build the gates of a signal, and of the signals that it depends on if they are not built yet."""
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

    def _refuse(self, fault: str, hint: str = "it is not a well-formed BLIF file") -> NoReturn:
        raise ProblemError(f"{self.name}, line {self.line}, {fault}; {hint}")


def _gate(builder: CircuitBuilder, table: _Table, reads: list[int]) -> int:
    """OR over the rows of the AND of their literals, negated if the value of the rows is 0."""
    if not table.rows:
        return FALSE
    cubes = [
        builder.and_(*(x ^ (bit == "0") for x, bit in zip(reads, row, strict=True) if bit != "-")) for row in table.rows
    ]
    return builder.or_(*cubes) ^ (not table.value)
