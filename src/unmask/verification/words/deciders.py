"""Deciders: everything that decides words of one length, as gates over one encoding of the letters.

| specification   | gates                                          |
|-----------------|------------------------------------------------|
| Automaton       | state by state, one-hot                        |
| LetteredCircuit | gate by gate                                   |
| ExpressionShape | operation by operation, one literal per value  |
| Recurrences     | slot by slot, one literal per value            |
| Grammar         | span by span, from the rules as written        |
| DecisionGraph   | level by level, one literal per node           |
| Model           | variable by variable, extracted from weights   |

Letter k of an alphabet of K letters is written in ⌈log2 K⌉ bits at each place; codes beyond K - 1 mean the last letter.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Protocol

import numpy as np

from unmask.errors import TooLarge, WordError, shortened
from unmask.limits import stage
from unmask.problems.automata.automaton import Automaton
from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder
from unmask.problems.context_free_grammars import Alternative, Grammar, derive_empty
from unmask.problems.expression_shapes import ExpressionShape, applied
from unmask.problems.problem import DecisionGraph, LetteredCircuit, Recurrences, Specification
from unmask.reasoners.typed_words import is_integer
from unmask.recurrences.interpreter import Interpreter
from unmask.recurrences.system import is_truth, symbol_names
from unmask.recurrences.unfolding import Key, slot_name
from unmask.verification.words.extraction import ACCEPT, REJECT, Extraction, extract
from unmask.verification.words.network import Cases, Network, Variable
from unmask.verification.words.references import symbol_of
from unmask.weights.model import Model

Literals = list[int]


class NetworkGates:
    """Literals of a network's variables, made when they are asked for; letters are given by their literals."""

    def __init__(self, network: Network, builder: CircuitBuilder, letters: Sequence[Literals]) -> None:
        self._network, self._builder = network, builder
        self._literals: dict[int, Literals] = dict(zip(network.letters, letters, strict=True))

    def holds(self, cases: Cases, labels: np.ndarray) -> int:
        """The literal of "the label is true"."""
        for v in stage("variables as gates", self._network.below(cases.variables)):
            if v not in self._literals:
                variable = self._network.variables[v]
                if variable.table is None:
                    self._literals[v] = self._switch(variable)
                else:
                    self._literals[v] = self._table(variable.parents, variable.table, variable.size)
        true = labels.astype(bool)[cases.index].astype(np.int32)
        return self._table(cases.variables, true, 2)[1]

    def _switch(self, variable: Variable) -> Literals:
        terms: list[list[int]] = [[] for _ in range(variable.size)]
        for guard, branch in zip(self._literals[variable.parents[0]], variable.branches, strict=True):
            for value, literal in enumerate(self._table(branch.variables, branch.index, variable.size)):
                terms[value].append(self._builder.and_(guard, literal))
        return [self._builder.or_(*some) for some in terms]

    def _table(self, parents: Sequence[int], table: np.ndarray, size: int) -> Literals:
        known: dict[bytes, Literals] = {}

        def literals(depth: int, part: np.ndarray) -> Literals:
            if depth == len(parents):
                return [TRUE if value == int(part) else FALSE for value in range(size)]
            key = bytes([depth % 256]) + part.tobytes()
            if key in known:
                return known[key]
            groups: dict[bytes, tuple[list[int], np.ndarray]] = {}
            for value, literal in enumerate(self._literals[parents[depth]]):
                groups.setdefault(part[value].tobytes(), ([], part[value]))[0].append(literal)
            terms: list[list[int]] = [[] for _ in range(size)]
            for alike, rest in groups.values():
                guard = TRUE if len(groups) == 1 else self._builder.or_(*alike)
                for value, literal in enumerate(literals(depth + 1, rest)):
                    if literal != FALSE:
                        terms[value].append(self._builder.and_(guard, literal))
            used = [value for value in range(size) if terms[value]]
            result = [FALSE] * size
            for value in used:
                result[value] = self._builder.or_(*terms[value])
            if len(used) == 2:
                result[used[1]] = result[used[0]] ^ 1
            known[key] = result
            return result

        return literals(0, np.asarray(table, order="C"))


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


class Decider(Protocol):
    """Something that decides."""

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        """letters[place][letter] is the literal of "this letter is here"."""
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
class ModelDecider:
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
class AutomatonDecider:
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
class GraphDecider:
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
class CircuitDecider:
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
class ExpressionDecider:
    """Operation by operation, one literal per value; `letters` are symbols as typed."""

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


def circuit_of(side: Decider, encoding: Encoding) -> Circuit:
    """A side alone: its answers, then `undecided` (an answer is neither), then `undefined` (the run fails)."""
    builder = CircuitBuilder(encoding.names())
    decision = side.decide(builder, encoding.literals(builder))
    accepted = [answer.get(ACCEPT, FALSE) for answer in decision.answers]
    decided = [builder.or_(answer.get(ACCEPT, FALSE), answer.get(REJECT, FALSE)) for answer in decision.answers]
    undecided = builder.and_(builder.and_(*decided) ^ 1, decision.none ^ 1)
    named = [f"answer{i}" for i in range(len(accepted))]
    return builder.circuit([*accepted, undecided, decision.none], [*named, "undecided", "undefined"])


def miter(sides: tuple[Decider, Decider], encoding: Encoding) -> tuple[Circuit, np.ndarray]:
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


MOST_COMBINATIONS = 1 << 14  # of the values that one rule may be given in one slot

Values = dict[Any, int]
"""Value → the literal of "it has this value"."""


@dataclass(frozen=True, eq=False)
class RecurrenceDecider:
    """`letters` are symbols as typed; the last `outputs` answers count."""

    interpreter: Interpreter
    letters: Sequence[str]
    outputs: int

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        unfolding = self.interpreter.unfolding
        word = [dict(zip(self.letters, place, strict=True)) for place in letters]
        slots: dict[Key, Values] = {}
        for slots in self.interpreter.evaluate(word, WireValues(builder)):  # noqa: B007
            pass
        names = symbol_names(unfolding.system)
        return Decision([_answers(slots[key], names) for key in unfolding.answers[-self.outputs :]])


@dataclass(frozen=True, eq=False)
class WireValues:
    """A literal for every value that a slot may have: the domain in which the evaluator builds a circuit."""

    builder: CircuitBuilder

    def constant(self, value: Any) -> Values:
        return {value: TRUE}

    def apply(self, function: Callable[[tuple[Any, ...]], Any], given: Sequence[Values], key: Key) -> Values:
        terms: dict[Any, list[int]] = {}
        for values, literals in _combinations(given, key):
            terms.setdefault(function(values), []).append(self.builder.and_(*literals))
        return _merged(self.builder, terms)

    def union(self, sets: Sequence[Values], gather: Callable[[frozenset], Any], key: Key) -> Values:
        """Item by item whether it is found; then every set of items."""
        terms: dict[Any, list[int]] = {}
        for found in sets:
            for items, literal in found.items():
                for item in items:
                    terms.setdefault(item, []).append(literal)
        unions: Values = {frozenset(): TRUE}
        for item, literal in _merged(self.builder, terms).items():
            if 2 * len(unions) > MOST_COMBINATIONS:
                raise TooLarge(f"{slot_name(key)} collects too many items for a proof; use --method sample")
            without = {union: self.builder.and_(x, literal ^ 1) for union, x in unions.items()}
            unions = without | {union | {item}: self.builder.and_(x, literal) for union, x in unions.items()}
        return {gather(union): x for union, x in unions.items() if x != FALSE}


def _combinations(given: Sequence[Values], key: Key) -> Iterator[tuple[tuple[Any, ...], list[int]]]:
    """(values, literals) of every combination that can occur."""
    count = 1
    for values in given:
        count *= len(values)
    if count > MOST_COMBINATIONS:
        raise TooLarge(
            f"the rule of {slot_name(key)} has {count:,} combinations, too many for a proof; use --method sample"
        )
    for chosen in product(*(values.items() for values in given)):
        yield tuple(value for value, _ in chosen), [literal for _, literal in chosen]


def _merged(builder: CircuitBuilder, terms: dict[Any, list[int]]) -> Values:
    merged = {value: builder.or_(*literals) for value, literals in terms.items()}
    return {value: literal for value, literal in merged.items() if literal != FALSE}


def _answers(values: Values, names: dict[Any, str]) -> dict[str, int]:
    return {
        (ACCEPT if value else REJECT) if is_truth(value) else f"symbol {names[value]}": x for value, x in values.items()
    }


@dataclass(frozen=True, eq=False)
class GrammarDecider:
    """`letters` are symbols as typed."""

    grammar: Grammar
    letters: Sequence[str]

    def decide(self, builder: CircuitBuilder, letters: list[list[int]]) -> Decision:
        word = [dict(zip(self.letters, place, strict=True)) for place in letters]
        return Decision.of_bits([_Spans(self.grammar, builder, word).start()])


@dataclass(eq=False)
class _Spans:
    """Literals of "these symbols derive the letters i … j - 1", shorter spans first."""

    grammar: Grammar
    builder: CircuitBuilder
    word: list[dict[str, int]]
    derived: dict[tuple[str, int, int], int] = field(default_factory=dict)
    several: dict[tuple[Alternative, int, int], int] = field(default_factory=dict)
    """The same for what follows the first symbols of a rule, where no symbol covers the span alone."""

    def start(self) -> int:
        length = len(self.word)
        if not length:
            return TRUE if self.grammar.start in self.empty else FALSE
        spans = [(i, i + size) for size in range(1, length + 1) for i in range(length + 1 - size)]
        for i, j in stage("deriving spans", spans):
            self._span(i, j)
        return self._symbol(self.grammar.start, 0, length)

    @cached_property
    def empty(self) -> set[str]:
        return derive_empty(self.grammar)

    @cached_property
    def tails(self) -> list[Alternative]:
        """What follows any symbols of a rule, the shortest first."""
        rules = {rhs[k:] for listed in self.grammar.rules.values() for rhs in listed for k in range(len(rhs))}
        return sorted(rules, key=len)

    @cached_property
    def units(self) -> dict[str, set[str]]:
        """A ⇒ B, itself among them."""
        reached = {name: {name} for name in self.grammar.rules}
        changed = True
        while changed:
            changed = False
            for below in reached.values():
                more = {one for b in below for rhs in self.grammar.rules[b] for one in self.alone[rhs]}
                more = (more & self.grammar.rules.keys()) - below
                below |= more
                changed |= bool(more)
        return reached

    @cached_property
    def alone(self) -> dict[Alternative, list[str]]:
        """Of a tail, the symbols beside which all others may be empty."""
        return {
            tail: [one for k, one in enumerate(tail) if self.empty.issuperset(tail[:k] + tail[k + 1 :])]
            for tail in [(), *self.tails]
        }

    def _span(self, i: int, j: int) -> None:
        for tail in self.tails:
            splits = (
                self.builder.and_(self._symbol(tail[0], i, k), self._symbols(tail[1:], k, j)) for k in range(i + 1, j)
            )
            later = self.several.get((tail[1:], i, j), FALSE) if tail[0] in self.empty else FALSE
            self.several[tail, i, j] = self._or([*splits, later])
        own = {name: self._or(self._own(name, i, j)) for name in self.grammar.rules}
        for name, below in self.units.items():
            self.derived[name, i, j] = self._or(own[b] for b in sorted(below))

    def _own(self, name: str, i: int, j: int) -> Iterator[int]:
        """Yield literals of the rules of a name whose first step is not a unit."""
        for rhs in self.grammar.rules[name]:
            yield self.several.get((rhs, i, j), FALSE)
            yield from (self._symbol(one, i, j) for one in self.alone[rhs] if one not in self.grammar.rules)

    def _symbol(self, symbol: str, i: int, j: int) -> int:
        if symbol in self.grammar.rules:
            return self.derived[symbol, i, j]
        return self.word[i].get(symbol, FALSE) if j == i + 1 else FALSE

    def _symbols(self, symbols: Alternative, i: int, j: int) -> int:
        """Of a span that is done."""
        if not symbols:
            return FALSE
        alone = (self._symbol(one, i, j) for one in self.alone[symbols])
        return self._or([self.several[symbols, i, j], *alone])

    def _or(self, literals: Iterable[int]) -> int:
        return self.builder.or_(*literals)


def decider_of(specification: Specification | Model, letters: Sequence[str], outputs: int) -> Decider:
    """Return the decider of a specification over these letters, as typed; its last `outputs` count."""
    if isinstance(specification, Model):
        return ModelDecider(extract(specification), symbol_numbers(specification, letters).tolist(), outputs)
    if isinstance(specification, Automaton):
        return AutomatonDecider(specification, token_numbers(specification, letters).tolist())
    if isinstance(specification, LetteredCircuit):
        bits = [specification.letters.index(letter) for letter in letters]
        return CircuitDecider(specification.circuit, bits, outputs)
    if isinstance(specification, Recurrences):
        return RecurrenceDecider(specification.interpreter, letters, outputs)
    if isinstance(specification, DecisionGraph):
        return GraphDecider(specification)
    if isinstance(specification, Grammar):
        return GrammarDecider(specification, letters)
    return ExpressionDecider(specification, letters)


def symbol_numbers(model: Model, letters: Sequence[str]) -> np.ndarray:
    """The number of the input symbol that a model reads for each letter."""
    numbers = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    symbols = [symbol_of(model, letter) for letter in letters]
    for letter, symbol in zip(letters, symbols, strict=True):
        if symbol is None:  # `Question.unread` comes first
            raise WordError(f"the letter {shortened(letter)!r} occurs on only one side; compare over common letters")
    return np.array([numbers[symbol] for symbol in symbols if symbol is not None], dtype=np.int64)


def token_numbers(automaton: Automaton, letters: Sequence[str]) -> np.ndarray:
    return np.array([int(automaton.token_ids([letter])[0]) for letter in letters])
