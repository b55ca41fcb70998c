"""Sides of a comparison: whatever decides words of one length, as gates over one encoding of the letters.

    letter k of the alphabet, at each place: ⌈log2 K⌉ bits; codes beyond K - 1 stand for the last letter
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unmask.problems.automaton import Automaton
from unmask.problems.circuit import Circuit, CircuitBuilder
from unmask.verification.extract import OTHER, Extraction
from unmask.verification.network_gates import NetworkGates


@dataclass(frozen=True, eq=False)
class Decision:
    """The literals of the answers, and of "there is no answer" (a run fails, or ends with another symbol)."""

    answers: list[int]
    none: int


class Side(Protocol):
    """Something that decides."""

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        """letters[place][letter] is the literal of "this letter stands here"."""
        ...


@dataclass(frozen=True)
class Encoding:
    """K letters at each of N places, as bits."""

    letters: int
    length: int

    @property
    def width(self) -> int:
        return max(0, (self.letters - 1).bit_length())

    def names(self) -> list[str]:
        if self.width == 1:
            return [f"x{place}" for place in range(self.length)]
        return [f"x{place}.{bit}" for place in range(self.length) for bit in range(self.width)]

    def literals(self, builder: CircuitBuilder) -> list[list[int]]:
        """[place][letter]"""
        return [self._place(builder, place) for place in range(self.length)]

    def _place(self, builder: CircuitBuilder, place: int) -> list[int]:
        bits = [builder.input(place * self.width + bit) for bit in range(self.width)]
        codes = [
            builder.and_(*(x ^ 1 if not code >> bit & 1 else x for bit, x in enumerate(bits)))
            for code in range(1 << self.width)
        ]
        return [*codes[: self.letters - 1], builder.or_(*codes[self.letters - 1 :])]

    def word(self, bits: Sequence[bool]) -> list[int]:
        """The letters of an assignment."""
        codes = (
            sum(int(bits[place * self.width + bit]) << bit for bit in range(self.width))
            for place in range(self.length)
        )
        return [min(code, self.letters - 1) for code in codes]


@dataclass(frozen=True, eq=False)
class ModelSide:
    """An extracted model; `symbols[letter]` is the number of the input symbol that it reads."""

    extraction: Extraction
    symbols: Sequence[int]
    outputs: int = 1

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        count = len(self.extraction.model.input_symbols)
        by_symbol = [
            [
                builder.or_(*(x for x, s in zip(place, self.symbols, strict=True) if s == symbol))
                for symbol in range(count)
            ]
            for place in letters
        ]
        gates = NetworkGates(self.extraction.network, builder, by_symbol)
        answers, none = [], []
        for slot in range(-self.outputs, 0):
            cases, labels = self.extraction.answer(slot)
            answers.append(gates.holds(cases, labels == 1))
            none.append(gates.holds(cases, labels == OTHER))
        none += [gates.holds(failure.cases, failure.labels) for failure in self.extraction.failures]
        return Decision(answers, builder.or_(*none))


@dataclass(frozen=True, eq=False)
class AutomatonSide:
    """State by state, one-hot; `tokens[letter]` is what the automaton reads."""

    automaton: Automaton
    tokens: Sequence[int]

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        delta = self.automaton.delta
        states = {self.automaton.start: 1}
        for place in letters:
            reached: dict[int, list[int]] = {}
            for state, literal in states.items():
                into: dict[int, list[int]] = {}
                for letter, token in enumerate(self.tokens):
                    into.setdefault(int(delta[state, token]), []).append(place[letter])
                for target, chosen in into.items():
                    moves = literal if len(into) == 1 else builder.and_(literal, builder.or_(*chosen))
                    reached.setdefault(target, []).append(moves)
            states = {target: builder.or_(*terms) for target, terms in reached.items()}
        accepting = [literal for state, literal in states.items() if self.automaton.accepting[state]]
        everything = len(accepting) == len(states)
        return Decision([1 if everything else builder.or_(*accepting)], 0)


@dataclass(frozen=True, eq=False)
class CircuitSide:
    """A circuit over bits; `bits[letter]` is what it reads. Only the last `outputs` count."""

    circuit: Circuit
    bits: Sequence[int]
    outputs: int = 1

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        values = {0: 0, 1: 1}
        for place, literals in enumerate(letters):
            one = builder.or_(*(x for x, bit in zip(literals, self.bits, strict=True) if bit))
            values[2 * (1 + place)], values[2 * (1 + place) + 1] = one, one ^ 1
        for k, gate in enumerate(self.circuit.gates):
            operation = builder.and_ if gate.kind == "and" else builder.or_
            value = operation(*(values[x] for x in gate.inputs))
            node = 2 * (self.circuit.first_gate + k)
            values[node], values[node + 1] = value, value ^ 1
        return Decision([values[x] for x in self.circuit.outputs[-self.outputs :]], 0)


def circuit_of(side: Side, encoding: Encoding, names: Sequence[str] | None = None) -> Circuit:
    """A side alone: its answers, then `undefined`."""
    builder = CircuitBuilder(encoding.names())
    decision = side.decide(builder, encoding.literals(builder))
    named = list(names) if names is not None else [f"answer{i}" for i in range(len(decision.answers))]
    return builder.circuit([*decision.answers, decision.none], [*named, "undefined"])


def miter(sides: tuple[Side, Side], encoding: Encoding) -> tuple[Circuit, np.ndarray]:
    """(circuit, pairs [n, 2] of literals that must be equal): both sides over one set of gates.

    "There is no answer" of either side must be false.
    """
    builder = CircuitBuilder(encoding.names())
    literals = encoding.literals(builder)
    first, second = (side.decide(builder, literals) for side in sides)
    pairs = [*zip(first.answers, second.answers, strict=True), (first.none, 0), (second.none, 0)]
    flat = [literal for pair in pairs for literal in pair]
    return builder.circuit(flat), np.array(pairs)
