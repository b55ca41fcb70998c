"""aiger:FILE, blif:FILE and family:NAME: a word is a string of bits, and the answer is the last output of a circuit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from unmask.errors import ProblemError, WordError
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.circuits.circuit_families import FAMILIES, textbook_circuit
from unmask.problems.circuits.circuit_files import parse_aiger, read_aiger, read_blif, write_aiger
from unmask.problems.problem import LetteredCircuit, Outcome, Problem, Stored, Word

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
        """The circuit as it was read; the circuit that is compiled has other gates."""
        return LetteredCircuit(self.circuit, BITS)

    def stored(self) -> Stored:
        """The circuit itself, as ASCII AIGER."""
        return StoredCircuit(self.title, self._aiger)

    @cached_property
    def _aiger(self) -> str:
        return write_aiger(self.circuit)


class StoredCircuit(Stored, frozen=True, tag="circuit"):
    """What a model folder stores of a circuit: its AIGER text."""

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
    return _circuit_from_file("aiger", path, read_aiger)


def parse_blif_file(path: str) -> CircuitProblem:
    """blif:FILE."""
    return _circuit_from_file("blif", path, read_blif)


def pasted_circuit(text: str) -> CircuitProblem:
    """A circuit given as the text of an ASCII AIGER file."""
    return CircuitProblem("aiger:pasted", parse_aiger(_in_utf8(text), "the circuit"))


def _circuit_from_file(prefix: str, path: str, read: Callable[[str], Circuit]) -> CircuitProblem:
    if not path:
        raise ProblemError(f"{prefix}: has no file name; write {prefix}:FILE")
    return CircuitProblem(f"{prefix}:{Path(path).name}", read(path))


# family:NAME: a problem for words of every length.


LONGEST_FAMILY_WORD = 4096


@dataclass(frozen=True)
class FamilyProblem(Problem):
    """What are the outputs of the family? Oracle: a few lines of Python, without a circuit."""

    family: str

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ProblemError(f"unknown family {self.family[:40]!r}; use one of {', '.join(FAMILIES)}")

    @property
    def name(self) -> str:
        return f"family:{self.family}"

    @property
    def letters(self) -> tuple[str, str]:
        return FAMILIES[self.family].letters

    def has_length(self, length: int) -> bool:
        return FAMILIES[self.family].fits(length) and length <= LONGEST_FAMILY_WORD

    def check_length(self, length: int) -> None:
        """Raise ProblemError if no word has this length."""
        if not self.has_length(length):
            lengths = FAMILIES[self.family].lengths
            raise ProblemError(f"{self.name} has words of length {lengths}, up to {LONGEST_FAMILY_WORD}, not {length}")

    def outputs(self, length: int) -> int:
        self.check_length(length)
        return len(FAMILIES[self.family].outputs([0] * length))

    def outcome(self, word: Word) -> Outcome:
        if any(letter not in self.letters for letter in word):
            raise WordError(f"a word of {self.name} is made of {' and '.join(self.letters)}, not {str(word)[:40]!r}")
        return Outcome.of_bits(FAMILIES[self.family].outputs([self.letters.index(x) for x in word]))

    def specification(self, length: int) -> LetteredCircuit:
        """The textbook circuit of the family."""
        self.check_length(length)
        return LetteredCircuit(textbook_circuit(self.family, length), self.letters)

    def stored(self) -> Stored:
        return StoredFamily(self.family)


class StoredFamily(Stored, frozen=True, tag="family"):
    """What a model folder stores of a family of circuits: its name."""

    family: str

    def problem(self) -> FamilyProblem:
        return FamilyProblem(self.family)
