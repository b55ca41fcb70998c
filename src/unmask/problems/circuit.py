"""aiger:FILE, blif:FILE: a word is a string of bits, the answer is the last output of the circuit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from unmask.errors import ProblemError, WordError
from unmask.problems.circuits.aiger import parse_aiger, read_aiger, write_aiger
from unmask.problems.circuits.blif import read_blif
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.outcome import Outcome
from unmask.problems.problem import Problem, Word
from unmask.problems.specification import LetteredCircuit
from unmask.problems.stored import Stored

BITS = ("0", "1")


@dataclass(frozen=True, eq=False)
class CircuitProblem(Problem):
    """What are the outputs of the circuit? Oracle: the circuit as it was read, gate by gate."""

    title: str
    circuit: Circuit

    @property
    def name(self) -> str:
        """The PROBLEM string, without the path of the file."""
        return self.title

    @property
    def letters(self) -> tuple[str, str]:
        return BITS

    @property
    def length(self) -> int:
        return len(self.circuit.inputs)

    def outputs(self, length: int) -> int:  # noqa: ARG002
        return len(self.circuit.outputs)

    def outcome(self, word: Word) -> Outcome:
        """All output bits, in the circuit's order."""
        if len(word) != self.length or any(bit not in BITS for bit in word):
            raise WordError(f"the circuit reads {self.length} bits, 0 or 1, not {str(word)[:60]!r}")
        bits = np.array([[bit == "1" for bit in word]], dtype=bool).reshape(1, self.length)
        return Outcome.of_bits(self.circuit.evaluate(bits)[0].tolist())

    def specification(self, length: int) -> LetteredCircuit:  # noqa: ARG002
        """The circuit as it was read; what is compiled is another one, of other gates."""
        return LetteredCircuit(self.circuit, BITS)

    def stored(self) -> Stored:
        """The circuit itself, as ASCII AIGER."""
        return StoredCircuit(self.title, self._aiger)

    @cached_property
    def _aiger(self) -> str:
        return write_aiger(self.circuit)


class StoredCircuit(Stored, frozen=True, tag="circuit"):
    name: str
    aiger: str

    def problem(self) -> CircuitProblem:
        return CircuitProblem(self.name, parse_aiger(_in_utf8(self.aiger), "the stored circuit"))


def _in_utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ProblemError(
            "the circuit contains half of a surrogate pair, which is not a character; remove it"
        ) from None


def parse_aiger_file(path: str) -> CircuitProblem:
    """aiger:FILE."""
    return _of_file("aiger", path, read_aiger)


def parse_blif_file(path: str) -> CircuitProblem:
    """blif:FILE."""
    return _of_file("blif", path, read_blif)


def pasted_circuit(text: str) -> CircuitProblem:
    """A circuit given as the text of an ASCII AIGER file."""
    return CircuitProblem("aiger:pasted", parse_aiger(_in_utf8(text), "the circuit"))


def _of_file(prefix: str, path: str, read: Callable[[str], Circuit]) -> CircuitProblem:
    if not path:
        raise ProblemError(f"{prefix}: has no file name; write {prefix}:FILE")
    return CircuitProblem(f"{prefix}:{Path(path).name}", read(path))
