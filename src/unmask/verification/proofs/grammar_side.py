"""A grammar as a side of a comparison: which spans each nonterminal derives, from the rules as they are written.

    α derives i … j, no symbol of it alone:    X α'  =  ⋁_{i<k<j} X[i,k] ∧ α'[k,j]  ∨  [X ⇒ ε] α'[i,j]
    A[i,j]  =  ⋁ of this over the rules of all B with A ⇒ B by units, and of the letters that such a rule can turn into
    α[i,j]  =  this, or one of its symbols derives i … j and all others ε

Binary form, which is what is compiled, has no part in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from unmask.limits import stage
from unmask.problems.circuits.circuit import FALSE, TRUE, CircuitBuilder
from unmask.problems.context_free_grammars import Alternative, Grammar, derive_empty
from unmask.verification.proofs.sides import Decision


@dataclass(frozen=True, eq=False)
class GrammarSide:
    """`letters` are symbols as they are typed."""

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
        """By a rule of its own whose first step is no unit."""
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
