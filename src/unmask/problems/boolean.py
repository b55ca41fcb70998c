"""Problems that a circuit decides: a word is a string of bits, the answer is the last output."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import ProblemError, WordError
from unmask.problems.aiger import parse_aiger, read_aiger, write_aiger
from unmask.problems.blif import read_blif
from unmask.problems.circuit import Circuit

BITS = ("0", "1")


@dataclass(frozen=True, eq=False)
class CircuitProblem:
    """Does the last output of the circuit hold? Oracle: the circuit as it was read, gate by gate."""

    name: str
    circuit: Circuit

    @property
    def length(self) -> int:
        return len(self.circuit.inputs)

    def answer(self, word: str | Sequence[str]) -> bool:
        return self.outputs(word)[-1]

    def outputs(self, word: str | Sequence[str]) -> list[bool]:
        """All output bits, in the circuit's order."""
        if len(word) != self.length or any(bit not in BITS for bit in word):
            raise WordError(f"the circuit reads {self.length} bits, 0 or 1, not {str(word)[:60]!r}")
        bits = np.array([[bit == "1" for bit in word]], dtype=bool).reshape(1, self.length)
        return [bool(b) for b in self.circuit.evaluate(bits)[0]]

    def to_json(self) -> dict[str, Any]:
        """The circuit itself, as ASCII AIGER."""
        return {"kind": "circuit", "name": self.name, "aiger": self._aiger}

    @cached_property
    def _aiger(self) -> str:
        return write_aiger(self.circuit)


def parse_circuit(path: str) -> CircuitProblem:
    """aiger:FILE."""
    if not path:
        raise ProblemError("aiger: names no file; write aiger:FILE")
    return CircuitProblem(f"aiger:{Path(path).name}", read_aiger(path))


def parse_blif_circuit(path: str) -> CircuitProblem:
    """blif:FILE."""
    if not path:
        raise ProblemError("blif: names no file; write blif:FILE")
    return CircuitProblem(f"blif:{Path(path).name}", read_blif(path))


def circuit_from_json(name: str, aiger: str) -> CircuitProblem:
    return CircuitProblem(name, parse_aiger(aiger.encode(), name))
