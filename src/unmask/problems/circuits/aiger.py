"""AIGER files, ASCII (aag) and binary (aig), combinational: and-inverter graphs with symbol tables.

aag M I L O A        M the largest variable, I inputs, L latches (must be 0), O outputs, A and-gates
i0 name, o0 name     symbol table;  `c` starts the comments
"""

from collections.abc import Iterator
from pathlib import Path

from unmask.errors import ProblemError, TooLarge
from unmask.problems.circuits.circuit import Circuit, Gate
from unmask.problems.circuits.file import read_circuit_file

MOST_VARIABLES = 2_000_000


def read_aiger(path: str | Path) -> Circuit:
    """The circuit of a file."""
    return parse_aiger(read_circuit_file(path), str(path))


def parse_aiger(content: bytes, name: str = "the circuit") -> Circuit:
    """The circuit of an AIGER text."""
    return _Reader(content, name).circuit()


def write_aiger(circuit: Circuit) -> str:
    """An ASCII AIGER text; wide gates become chains of and-gates, OR is a negated AND."""
    from unmask.problems.circuits.shape import binary

    small = binary(circuit)
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


class _Reader:
    """Reads lines, then, in the binary format, deltas."""

    def __init__(self, content: bytes, name: str) -> None:
        self.content, self.name, self.at, self.line = content, name, 0, 0

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
        given = [2 * (1 + i) for i in range(inputs)] if binary else [self._literal(largest) for _ in range(inputs)]
        ends = [self._literal(largest) for _ in range(outputs)]
        ands = self._binary_gates(inputs, gates) if binary else [self._gate(largest) for _ in range(gates)]
        names = self._symbols(inputs, outputs)
        return _ordered(self.name, given, ends, ands, names)

    def _line(self) -> str:
        end = self.content.find(b"\n", self.at)
        if end < 0:
            end = len(self.content)
        if self.at >= len(self.content):
            raise ProblemError(f"{self.name} ends too early, after line {self.line}; it may be cut off")
        text, self.at = self.content[self.at : end], end + 1
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
            if self.at >= len(self.content) or shift > 35:
                raise ProblemError(f"{self.name} is cut off within its and-gates")
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _symbols(self, inputs: int, outputs: int) -> dict[str, str]:
        names: dict[str, str] = {}
        while self.at < len(self.content):
            text = self._line()
            if text in ("c", ""):
                break
            place, _, name = text.partition(" ")
            count = {"i": inputs, "o": outputs}.get(place[:1], 0)
            if not name or not _is_number(place[1:]) or int(place[1:]) >= count:
                raise self._error(f"has the symbol entry {text[:30]!r}, which names no input or output")
            names[place] = name
        return names

    def _error(self, what: str) -> ProblemError:
        return ProblemError(f"{self.name}, line {self.line}, {what}; it is not a well-formed AIGER file")


def _is_number(text: str) -> bool:
    """Digits as they stand in a file, and so few that they are worth reading."""
    return text.isascii() and text.isdigit() and len(text) <= 12


def _ordered(
    name: str, given: list[int], ends: list[int], ands: list[tuple[int, int, int]], names: dict[str, str]
) -> Circuit:
    """Inputs first, gates in an order in which each comes after what it reads."""
    literal = {0: 0}
    for i, x in enumerate(given):
        if x & 1 or x < 2 or x in literal:
            raise ProblemError(f"input {i} of {name} is the literal {x}, which must be even, positive and new")
        literal[x] = 2 * (1 + i)
    reads = {node: (left, right) for node, left, right in ands}
    if len(reads) < len(ands) or any(node in literal for node in reads):
        raise ProblemError(f"{name} defines a variable twice")
    gates: list[Gate] = []
    for node in _after_what_they_read(name, reads, defined=set(literal)):
        gates.append(Gate("and", tuple(literal[x & ~1] ^ (x & 1) for x in reads[node])))
        literal[node] = 2 * (len(given) + len(gates))
    for x in ends:
        if x & ~1 not in literal:
            raise ProblemError(f"{name} has the output {x}, which nothing defines")
    return Circuit(
        inputs=tuple(names.get(f"i{i}", f"i{i}") for i in range(len(given))),
        gates=tuple(gates),
        outputs=tuple(literal[x & ~1] ^ (x & 1) for x in ends),
        output_names=tuple(names.get(f"o{i}", f"o{i}") for i in range(len(ends))),
    )


def _after_what_they_read(name: str, reads: dict[int, tuple[int, int]], defined: set[int]) -> Iterator[int]:
    """The nodes of the gates, each after those that it reads: a walk in depth, linear in the number of gates."""
    for root in reads:
        waiting, entered = [root], set()  # entered: on the way from the root to the node at hand
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
