"""Specification: what a proof holds a model against, at one length. It shares nothing with what is compiled.

| specification   | says of a word                                       |
|-----------------|------------------------------------------------------|
| Automaton       | whether it is accepted                               |
| LetteredCircuit | the output bits, the last of them the answer         |
| Shape           | its value, or that it is no expression of this shape |
| Recurrences     | the values of the answer slots                       |
| Grammar         | whether it is derived                                |
| DecisionGraph   | its outputs, as a function said of every word        |

`verification/proofs` turns each of them into gates.
"""

from dataclasses import dataclass

from unmask.problems.automata.automaton import Automaton
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.expressions.shape import Shape
from unmask.problems.grammars.notation import Grammar
from unmask.recurrences.interpreter import Interpreter

__all__ = ["Automaton", "DecisionGraph", "Grammar", "LetteredCircuit", "Recurrences", "Shape", "Specification"]


@dataclass(frozen=True, eq=False)
class LetteredCircuit:
    """A circuit whose input i is the letter at place i: letters[0] for 0, letters[1] for 1."""

    circuit: Circuit
    letters: tuple[str, str]


@dataclass(frozen=True, eq=False)
class Recurrences:
    """A system of recurrences at one length, as its interpreter computes it."""

    interpreter: Interpreter


@dataclass(frozen=True, eq=False)
class DecisionGraph:
    """levels[i][node][letter] is the node of the next level, or the leaf after the last; node 0 is the root.

    A leaf is a tuple of outputs: accept (True), reject (False), or the name of another symbol.
    """

    levels: list[list[tuple[int, ...]]]
    leaves: list[tuple[bool | str, ...]]


Specification = Automaton | LetteredCircuit | Shape | Recurrences | Grammar | DecisionGraph
