"""Sides of a comparison: whatever decides words of one length, as gates over one encoding of the letters.

letter k of the alphabet, at each place: ⌈log2 K⌉ bits; codes beyond K - 1 stand for the last letter
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unmask.problems.automata.automaton import Automaton
from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder
from unmask.problems.expression_shapes import ExpressionShape, applied
from unmask.problems.problem import DecisionGraph
from unmask.reasoners.typed_words import is_integer
from unmask.verification.proofs.network_gates import NetworkGates
from unmask.verification.symbolic.extract import ACCEPT, REJECT, Extraction


@dataclass(frozen=True, eq=False)
class Decision:
    """Per output, the literal of every answer that may be given; `none` holds where a run fails.

    An answer is accept, reject, or `symbol s` for any other symbol s.
    """

    answers: list[dict[str, int]]
    none: int = FALSE

    @classmethod
    def of_bits(cls, bits: Sequence[int]) -> "Decision":
        return cls([{ACCEPT: bit, REJECT: bit ^ 1} for bit in bits])


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
            sum(int(bits[place * self.width + bit]) << bit for bit in range(self.width)) for place in range(self.length)
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
        answers = []
        for slot in range(-self.outputs, 0):
            cases, names = self.extraction.answer(slot)
            answers.append({str(name): gates.holds(cases, names == name) for name in names})
        failures = [gates.holds(failure.cases, failure.labels) for failure in self.extraction.failures]
        return Decision(answers, builder.or_(*failures))


@dataclass(frozen=True, eq=False)
class AutomatonSide:
    """State by state, one-hot; `tokens[letter]` is what the automaton reads."""

    automaton: Automaton
    tokens: Sequence[int]

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        delta = self.automaton.delta
        states = {self.automaton.start: TRUE}
        for place in letters:
            reached: dict[int, list[int]] = {}
            for state, literal in states.items():
                into: dict[int, list[int]] = {}
                for letter, token in enumerate(self.tokens):
                    into.setdefault(int(delta[state, token]), []).append(place[letter])
                for target, read in into.items():
                    moves = literal if len(into) == 1 else builder.and_(literal, builder.or_(*read))
                    reached.setdefault(target, []).append(moves)
            states = {target: builder.or_(*terms) for target, terms in reached.items()}
        accepting = [literal for state, literal in states.items() if self.automaton.accepting[state]]
        return Decision.of_bits([TRUE if len(accepting) == len(states) else builder.or_(*accepting)])


@dataclass(frozen=True, eq=False)
class GraphSide:
    """Level by level, one literal per node."""

    graph: DecisionGraph

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        nodes = {0: TRUE}
        for place, level in zip(letters, self.graph.levels, strict=True):
            reached: dict[int, list[int]] = {}
            for node, literal in nodes.items():
                into: dict[int, list[int]] = {}
                for letter, child in enumerate(level[node]):
                    into.setdefault(child, []).append(place[letter])
                for child, read in into.items():
                    moves = literal if len(into) == 1 else builder.and_(literal, builder.or_(*read))
                    reached.setdefault(child, []).append(moves)
            nodes = {child: builder.or_(*terms) for child, terms in reached.items()}
        answers: list[dict[str, list[int]]] = [{} for _ in self.graph.leaves[0]]
        for leaf, literal in nodes.items():
            for terms, output in zip(answers, self.graph.leaves[leaf], strict=True):
                name = {True: ACCEPT, False: REJECT}.get(output, f"symbol {output}")
                terms.setdefault(name, []).append(literal)
        count = len(nodes)
        return Decision(
            [{name: TRUE if len(x) == count else builder.or_(*x) for name, x in terms.items()} for terms in answers]
        )


@dataclass(frozen=True, eq=False)
class CircuitSide:
    """A circuit over bits; `bits[letter]` is what it reads. Only the last `outputs` count."""

    circuit: Circuit
    bits: Sequence[int]
    outputs: int = 1

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        values = {FALSE: FALSE, TRUE: TRUE}
        for place, literals in enumerate(letters):
            one = builder.or_(*(x for x, bit in zip(literals, self.bits, strict=True) if bit))
            values[2 * (1 + place)], values[2 * (1 + place) + 1] = one, one ^ 1
        for k, gate in enumerate(self.circuit.gates):
            operation = builder.and_ if gate.kind == "and" else builder.or_
            value = operation(*(values[x] for x in gate.inputs))
            node = 2 * (self.circuit.first_gate + k)
            values[node], values[node + 1] = value, value ^ 1
        return Decision.of_bits([values[x] for x in self.circuit.outputs[-self.outputs :]])


@dataclass(frozen=True, eq=False)
class ExpressionSide:
    """Operation by operation, one literal per value; `letters` are symbols as they are typed."""

    shape: ExpressionShape
    letters: Sequence[str]

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        here = [dict(zip(self.letters, place, strict=True)) for place in letters]
        shape = self.shape
        fits = [here[i].get(symbol, FALSE) for i, symbol in enumerate(shape.symbols) if symbol is not None]
        values: list[dict[int, int]] = []
        for place in shape.operands:
            numbers = {int(s): x for s, x in here[place].items() if is_integer(s)}
            values.append(numbers)
            fits.append(builder.or_(*numbers.values()))
        for operation in shape.operations:
            terms: dict[int, list[int]] = {}
            for a, x in values[operation.left].items():
                for b, y in values[operation.right].items():
                    terms.setdefault(applied(operation.symbol, a, b), []).append(builder.and_(x, y))
            values.append({value: builder.or_(*pairs) for value, pairs in terms.items()})
        fit = builder.and_(*fits)
        answers = {f"symbol {value}": builder.and_(fit, x) for value, x in values[-1].items()}
        return Decision([{**answers, REJECT: fit ^ 1}])


def circuit_of(side: Side, encoding: Encoding) -> Circuit:
    """A side alone: its answers, then `undecided` (an answer is neither), then `undefined` (the run fails)."""
    builder = CircuitBuilder(encoding.names())
    decision = side.decide(builder, encoding.literals(builder))
    accepted = [answer.get(ACCEPT, FALSE) for answer in decision.answers]
    decided = [builder.or_(answer.get(ACCEPT, FALSE), answer.get(REJECT, FALSE)) for answer in decision.answers]
    undecided = builder.and_(builder.and_(*decided) ^ 1, decision.none ^ 1)
    named = [f"answer{i}" for i in range(len(accepted))]
    return builder.circuit([*accepted, undecided, decision.none], [*named, "undecided", "undefined"])


def miter(sides: tuple[Side, Side], encoding: Encoding) -> tuple[Circuit, np.ndarray]:
    """(circuit, pairs [n, 2] of literals that must be equal): both sides over one set of gates.

    Each answer that one side may give, the other gives on the same words; and neither fails.
    """
    builder = CircuitBuilder(encoding.names())
    literals = encoding.literals(builder)
    first, second = (side.decide(builder, literals) for side in sides)
    pairs = [(first.none, FALSE), (second.none, FALSE)]
    for one, other in zip(first.answers, second.answers, strict=True):
        pairs += [(one.get(name, FALSE), other.get(name, FALSE)) for name in sorted({*one, *other})]
    flat = [literal for pair in pairs for literal in pair]
    return builder.circuit(flat), np.array(pairs)
