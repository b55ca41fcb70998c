"""Model or specification → gates that compute its answers on words of one length.

Every `Decider` reads the letters from the same inputs, so that two of them can be compared (`miter`):

| specification   | gates                                          |
|-----------------|------------------------------------------------|
| Automaton       | state by state, one-hot                        |
| LetteredCircuit | gate by gate                                   |
| ExpressionShape | operation by operation, one literal per value  |
| Recurrences     | slot by slot, one literal per value            |
| Grammar         | span by span, from the rules as written        |
| DecisionGraph   | level by level, one literal per node           |
| Model           | variable by variable, extracted from weights   |

The letters of a word are encoded in bits (`word_encoding`). A *literal* is a gate or its negation, as an
integer: see `problems.circuits.circuit`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np

from unmask.errors import TooLarge, UnmaskError
from unmask.limits import stage
from unmask.problems.automata.automaton import Automaton
from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder
from unmask.problems.context_free_grammars import Alternative, Grammar, derive_empty
from unmask.problems.expression_shapes import ExpressionShape, apply_operator
from unmask.problems.problem import DecisionGraph, LetteredCircuit, Recurrences, Specification
from unmask.reasoners.typed_words import is_integer
from unmask.recurrences.interpreter import Interpreter
from unmask.recurrences.system import is_truth, symbol_names
from unmask.recurrences.unfolding import Key, slot_name
from unmask.verification.word_encoding import OneHotLiterals, WordEncoding
from unmask.verification.words.extraction import ACCEPT, REJECT, Extraction, extract
from unmask.verification.words.network import Cases, Network, Variable
from unmask.verification.words.references import symbol_numbers, token_numbers
from unmask.weights.model import Model


class NetworkGates:
    """A network as gates: for every variable that is needed, one literal per value."""

    def __init__(self, network: Network, builder: CircuitBuilder, letters: Sequence[OneHotLiterals]) -> None:
        self._network, self._builder = network, builder
        self._literals: dict[int, OneHotLiterals] = dict(zip(network.letters, letters, strict=True))

    def holds(self, cases: Cases, labels: np.ndarray) -> int:
        """Return the literal that is true if the label of the case that applies is true."""
        for v in stage("variables as gates", self._network.below(cases.variables)):
            if v not in self._literals:
                variable = self._network.variables[v]
                if variable.table is None:
                    self._literals[v] = self._switch(variable)
                else:
                    self._literals[v] = self._table(variable.parents, variable.table, variable.size)
        true = labels.astype(bool)[cases.index].astype(np.int32)
        return self._table(cases.variables, true, 2)[1]

    def _switch(self, variable: Variable) -> OneHotLiterals:
        terms: list[list[int]] = [[] for _ in range(variable.size)]
        for guard, branch in zip(self._literals[variable.parents[0]], variable.branches, strict=True):
            for value, literal in enumerate(self._table(branch.variables, branch.index, variable.size)):
                terms[value].append(self._builder.and_(guard, literal))
        return [self._builder.or_(*literals) for literals in terms]

    def _table(self, parents: Sequence[int], table: np.ndarray, size: int) -> OneHotLiterals:
        """Decide parent after parent, as a decision diagram: equal subtables are built once."""
        literals_of: dict[bytes, OneHotLiterals] = {}

        def literals(depth: int, subtable: np.ndarray) -> OneHotLiterals:
            if depth == len(parents):
                return [TRUE if value == int(subtable) else FALSE for value in range(size)]
            key = bytes([depth % 256]) + subtable.tobytes()
            if key in literals_of:
                return literals_of[key]
            groups: dict[bytes, tuple[list[int], np.ndarray]] = {}  # values of this parent with equal subtables
            for value, literal in enumerate(self._literals[parents[depth]]):
                groups.setdefault(subtable[value].tobytes(), ([], subtable[value]))[0].append(literal)
            terms: list[list[int]] = [[] for _ in range(size)]
            for group, next_subtable in groups.values():
                guard = TRUE if len(groups) == 1 else self._builder.or_(*group)
                for value, literal in enumerate(literals(depth + 1, next_subtable)):
                    if literal != FALSE:
                        terms[value].append(self._builder.and_(guard, literal))
            possible = [value for value in range(size) if terms[value]]
            result = [FALSE] * size
            for value in possible:
                result[value] = self._builder.or_(*terms[value])
            if len(possible) == 2:
                result[possible[1]] = result[possible[0]] ^ 1
            literals_of[key] = result
            return result

        return literals(0, np.asarray(table, order="C"))


@dataclass(frozen=True, eq=False)
class Decision:
    """Per output: answer → the literal of "this is the answer". `fails` is the literal of "the run ends in an error".

    An answer is accept, reject, or `symbol s` for any other symbol s.
    """

    answers: list[dict[str, int]]
    fails: int = FALSE

    @classmethod
    def of_bits(cls, bits: Sequence[int]) -> "Decision":
        return cls([{ACCEPT: bit, REJECT: bit ^ 1} for bit in bits])


class Decider(Protocol):
    """A model or specification that gates can compute."""

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        """Return the literals of the answers; letters[i][k] is the literal "the i-th letter is letter k"."""
        ...


@dataclass(frozen=True, eq=False)
class ModelDecider:
    """An extracted model; `symbols[letter]` is the number of the input symbol that the model reads for the letter."""

    extraction: Extraction
    symbols: Sequence[int]
    outputs: int = 1

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        count = len(self.extraction.model.input_symbols)
        by_symbol = [
            [
                builder.or_(*(x for x, s in zip(letter, self.symbols, strict=True) if s == symbol))
                for symbol in range(count)
            ]
            for letter in letters
        ]
        gates = NetworkGates(self.extraction.network, builder, by_symbol)
        answers = []
        for slot in range(-self.outputs, 0):
            cases, names = self.extraction.answer(slot)
            answers.append({str(name): gates.holds(cases, names == name) for name in names})
        failures = [gates.holds(failure.cases, failure.labels) for failure in self.extraction.failures]
        return Decision(answers, builder.or_(*failures))


def _after_letter(
    builder: CircuitBuilder, nodes: dict[int, int], letter: OneHotLiterals, targets: Sequence[Sequence[int]]
) -> dict[int, int]:
    """Return node → literal of "the letters so far lead here" after one more letter; targets[node][letter]."""
    reached: dict[int, list[int]] = {}
    for node, literal in nodes.items():
        letters_to: dict[int, list[int]] = {}
        for letter_literal, target in zip(letter, targets[node], strict=True):
            letters_to.setdefault(target, []).append(letter_literal)
        for target, literals in letters_to.items():
            moves = literal if len(letters_to) == 1 else builder.and_(literal, builder.or_(*literals))
            reached.setdefault(target, []).append(moves)
    return {target: builder.or_(*terms) for target, terms in reached.items()}


@dataclass(frozen=True, eq=False)
class AutomatonDecider:
    """State by state, one-hot; `tokens[letter]` is the automaton's token for the letter."""

    automaton: Automaton
    tokens: Sequence[int]

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        delta = self.automaton.delta[:, self.tokens].tolist()
        states = {self.automaton.start: TRUE}
        for letter in letters:
            states = _after_letter(builder, states, letter, delta)
        accepting = [literal for state, literal in states.items() if self.automaton.accepting[state]]
        return Decision.of_bits([TRUE if len(accepting) == len(states) else builder.or_(*accepting)])


@dataclass(frozen=True, eq=False)
class GraphDecider:
    """Level by level, one literal per node."""

    graph: DecisionGraph

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        nodes = {0: TRUE}
        for letter, level in zip(letters, self.graph.levels, strict=True):
            nodes = _after_letter(builder, nodes, letter, level)
        answers: list[dict[str, list[int]]] = [{} for _ in self.graph.leaves[0]]
        for leaf, literal in nodes.items():
            for terms, output in zip(answers, self.graph.leaves[leaf], strict=True):
                name = {True: ACCEPT, False: REJECT}.get(output, f"symbol {output}")
                terms.setdefault(name, []).append(literal)
        return Decision(
            [
                {name: TRUE if len(xs) == len(nodes) else builder.or_(*xs) for name, xs in terms.items()}
                for terms in answers
            ]
        )


@dataclass(frozen=True, eq=False)
class CircuitDecider:
    """A circuit with one input per letter of the word; `bits[letter]` is the bit that it reads for the letter.

    Only its last `outputs` are answers.
    """

    circuit: Circuit
    bits: Sequence[int]
    outputs: int = 1

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        values = {FALSE: FALSE, TRUE: TRUE}  # literal of this circuit → literal of the builder's
        for node, letter in enumerate(letters, 1):
            is_one = builder.or_(*(x for x, bit in zip(letter, self.bits, strict=True) if bit))
            values[2 * node], values[2 * node + 1] = is_one, is_one ^ 1
        for k, gate in enumerate(self.circuit.gates):
            operation = builder.and_ if gate.kind == "and" else builder.or_
            value = operation(*(values[x] for x in gate.inputs))
            node = 2 * (self.circuit.first_gate + k)
            values[node], values[node + 1] = value, value ^ 1
        return Decision.of_bits([values[x] for x in self.circuit.outputs[-self.outputs :]])


@dataclass(frozen=True, eq=False)
class ExpressionDecider:
    """Operation by operation, one literal per value; `letters` are the letters as typed."""

    shape: ExpressionShape
    letters: Sequence[str]

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        word = [dict(zip(self.letters, letter, strict=True)) for letter in letters]
        shape = self.shape
        fits = [word[i].get(symbol, FALSE) for i, symbol in enumerate(shape.symbols) if symbol is not None]
        values: list[dict[int, int]] = []
        for i in shape.operands:
            numbers = {int(s): x for s, x in word[i].items() if is_integer(s)}
            values.append(numbers)
            fits.append(builder.or_(*numbers.values()))
        for operation in shape.operations:
            terms: dict[int, list[int]] = {}
            for a, x in values[operation.left].items():
                for b, y in values[operation.right].items():
                    terms.setdefault(apply_operator(operation.symbol, a, b), []).append(builder.and_(x, y))
            values.append({value: builder.or_(*pairs) for value, pairs in terms.items()})
        fit = builder.and_(*fits)
        answers = {f"symbol {value}": builder.and_(fit, x) for value, x in values[-1].items()}
        return Decision([{**answers, REJECT: fit ^ 1}])


def miter(deciders: tuple[Decider, Decider], encoding: WordEncoding) -> tuple[Circuit, np.ndarray]:
    """Return (circuit of both sides, pairs [n, 2] of literals that must be equal).

    The pairs are equal on every word if and only if neither side fails and both give the same answers.
    """
    builder = CircuitBuilder(encoding.names())
    letters = encoding.literals(builder)
    first, second = (decider.decide(builder, letters) for decider in deciders)
    pairs = [(first.fails, FALSE), (second.fails, FALSE)]
    for first_answer, second_answer in zip(first.answers, second.answers, strict=True):
        pairs += [
            (first_answer.get(name, FALSE), second_answer.get(name, FALSE))
            for name in sorted({*first_answer, *second_answer})
        ]
    return builder.circuit([literal for pair in pairs for literal in pair]), np.array(pairs)


MOST_COMBINATIONS = 1 << 14  # combinations of arguments of one rule in one slot

ValueLiterals = dict[Any, int]
"""Value → the literal of "it has this value"."""


@dataclass(frozen=True, eq=False)
class RecurrenceDecider:
    """Slot by slot, one literal per value; `letters` are the letters as typed, the last `outputs` answers count."""

    interpreter: Interpreter
    letters: Sequence[str]
    outputs: int

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        unfolding = self.interpreter.unfolding
        word = [dict(zip(self.letters, letter, strict=True)) for letter in letters]
        slots: dict[Key, ValueLiterals] = {}
        for slots in self.interpreter.evaluate(word, WireValues(builder)):  # noqa: B007
            pass
        names = symbol_names(unfolding.system)
        return Decision([_answers(slots[key], names) for key in unfolding.answers[-self.outputs :]])


@dataclass(frozen=True, eq=False)
class WireValues:
    """A literal for every value that a slot may have: the domain in which the evaluator builds a circuit."""

    builder: CircuitBuilder

    def constant(self, value: Any) -> ValueLiterals:
        return {value: TRUE}

    def apply(
        self, function: Callable[[tuple[Any, ...]], Any], arguments: Sequence[ValueLiterals], key: Key
    ) -> ValueLiterals:
        count = prod(map(len, arguments))
        if count > MOST_COMBINATIONS:
            raise TooLarge(
                f"the rule of {slot_name(key)} has {count:,} combinations, too many for a proof; use --method sample"
            )
        terms: dict[Any, list[int]] = {}
        for combination in product(*(values.items() for values in arguments)):
            value = function(tuple(value for value, _ in combination))
            terms.setdefault(value, []).append(self.builder.and_(*(literal for _, literal in combination)))
        return self._possible(terms)

    def union(self, sets: Sequence[ValueLiterals], gather: Callable[[frozenset], Any], key: Key) -> ValueLiterals:
        """Return a literal for every union: first one for "this item is in the union", then one for every set."""
        terms: dict[Any, list[int]] = {}
        for values in sets:
            for items, literal in values.items():
                for item in items:
                    terms.setdefault(item, []).append(literal)
        unions: ValueLiterals = {frozenset(): TRUE}
        for item, literal in self._possible(terms).items():
            if 2 * len(unions) > MOST_COMBINATIONS:
                raise TooLarge(f"{slot_name(key)} collects too many items for a proof; use --method sample")
            without = {union: self.builder.and_(x, literal ^ 1) for union, x in unions.items()}
            unions = without | {union | {item}: self.builder.and_(x, literal) for union, x in unions.items()}
        return {gather(union): x for union, x in unions.items() if x != FALSE}

    def _possible(self, terms: dict[Any, list[int]]) -> ValueLiterals:
        """Return the OR of every value's terms, without values that cannot occur."""
        values = {value: self.builder.or_(*literals) for value, literals in terms.items()}
        return {value: literal for value, literal in values.items() if literal != FALSE}


def _answers(values: ValueLiterals, names: dict[Any, str]) -> dict[str, int]:
    return {
        (ACCEPT if value else REJECT) if is_truth(value) else f"symbol {names[value]}": x for value, x in values.items()
    }


@dataclass(frozen=True, eq=False)
class GrammarDecider:
    """Span by span; `letters` are the letters as typed."""

    grammar: Grammar
    letters: Sequence[str]

    def decide(self, builder: CircuitBuilder, letters: list[OneHotLiterals]) -> Decision:
        word = [dict(zip(self.letters, letter, strict=True)) for letter in letters]
        return Decision.of_bits([_Spans(self.grammar, builder, word).accepted()])


@dataclass(eq=False)
class _Spans:
    """Literals of "these symbols derive the letters [i, j)", shorter spans first.

    A *tail* is a non-empty suffix of the right-hand side of a rule.
    """

    grammar: Grammar
    builder: CircuitBuilder
    word: list[dict[str, int]]
    by_name: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """(A, i, j) → "the nonterminal A derives the span"."""
    by_several: dict[tuple[Alternative, int, int], int] = field(default_factory=dict)
    """(tail, i, j) → "the tail derives the span, and at least two of its symbols derive a non-empty part of it"."""

    def accepted(self) -> int:
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
        """All tails, the shortest first."""
        rules = {rhs[k:] for listed in self.grammar.rules.values() for rhs in listed for k in range(len(rhs))}
        return sorted(rules, key=len)

    @cached_property
    def units(self) -> dict[str, set[str]]:
        """A → every B, A included, such that A derives B when the symbols next to B derive the empty word."""
        reached = {name: {name} for name in self.grammar.rules}
        changed = True
        while changed:
            changed = False
            for names in reached.values():
                more = {symbol for b in names for rhs in self.grammar.rules[b] for symbol in self.unit_symbols[rhs]}
                more = (more & self.grammar.rules.keys()) - names
                names |= more
                changed |= bool(more)
        return reached

    @cached_property
    def unit_symbols(self) -> dict[Alternative, list[str]]:
        """Tail → its symbols that can derive the whole span, because all others can derive the empty word."""
        return {
            tail: [symbol for k, symbol in enumerate(tail) if self.empty.issuperset(tail[:k] + tail[k + 1 :])]
            for tail in [(), *self.tails]
        }

    def _span(self, i: int, j: int) -> None:
        for tail in self.tails:
            splits = (
                self.builder.and_(self._symbol(tail[0], i, k), self._tail(tail[1:], k, j)) for k in range(i + 1, j)
            )
            without_first = self.by_several.get((tail[1:], i, j), FALSE) if tail[0] in self.empty else FALSE
            self.by_several[tail, i, j] = self._or([*splits, without_first])
        non_unit = {name: self._or(self._non_unit(name, i, j)) for name in self.grammar.rules}
        for name, reached in self.units.items():
            self.by_name[name, i, j] = self._or(non_unit[b] for b in sorted(reached))

    def _non_unit(self, name: str, i: int, j: int) -> Iterator[int]:
        """Yield literals of "a rule of this name derives the span, and no nonterminal of it derives the span alone"."""
        for rhs in self.grammar.rules[name]:
            yield self.by_several.get((rhs, i, j), FALSE)
            yield from (
                self._symbol(symbol, i, j) for symbol in self.unit_symbols[rhs] if symbol not in self.grammar.rules
            )

    def _symbol(self, symbol: str, i: int, j: int) -> int:
        if symbol in self.grammar.rules:
            return self.by_name[symbol, i, j]
        return self.word[i].get(symbol, FALSE) if j == i + 1 else FALSE

    def _tail(self, symbols: Alternative, i: int, j: int) -> int:
        """Return the literal "these symbols derive the span", after `_span` has processed the span."""
        if not symbols:
            return FALSE
        alone = (self._symbol(symbol, i, j) for symbol in self.unit_symbols[symbols])
        return self._or([self.by_several[symbols, i, j], *alone])

    def _or(self, literals: Iterable[int]) -> int:
        return self.builder.or_(*literals)


def decider_of(specification: Specification | Model, letters: Sequence[str], outputs: int) -> Decider:
    """Return the decider of a specification; `letters` as typed, its last `outputs` answers count."""
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


def extracted_circuit(model: Model, *, outputs: int = 1) -> Circuit:
    """Return the circuit that the weights compute at their N and p.

    inputs    x3.1: bit 1 of the number of the input symbol at index 3 (x3 if there are two symbols)
    outputs   answer0, answer1, …: one for each of the last `outputs` slots
              undecided: an answer is neither accept nor reject
              undefined: the run ends in an error
    """
    slots = model.symbols_written
    if not 1 <= outputs <= slots:
        raise UnmaskError(f"the model has {slots} slots, so it cannot have {outputs} outputs; use 1 … {slots}")
    symbols = range(len(model.input_symbols))
    encoding = WordEncoding(len(symbols), model.length)
    return circuit_of(ModelDecider(extract(model), symbols, outputs), encoding)


def circuit_of(decider: Decider, encoding: WordEncoding) -> Circuit:
    """Return the circuit of a decider, with the outputs of `extracted_circuit`."""
    builder = CircuitBuilder(encoding.names())
    decision = decider.decide(builder, encoding.literals(builder))
    accepted = [answer.get(ACCEPT, FALSE) for answer in decision.answers]
    decided = [builder.or_(answer.get(ACCEPT, FALSE), answer.get(REJECT, FALSE)) for answer in decision.answers]
    undecided = builder.and_(builder.and_(*decided) ^ 1, decision.fails ^ 1)
    named = [f"answer{i}" for i in range(len(accepted))]
    return builder.circuit([*accepted, undecided, decision.fails], [*named, "undecided", "undefined"])
