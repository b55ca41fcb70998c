"""cfg:FILE: is the word derived by a context-free grammar?"""

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import count
from operator import or_
from pathlib import Path

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.files import read_file
from unmask.problems.context_free_grammars import BinaryGrammar, Grammar, derives, read_grammar, to_binary_grammar
from unmask.problems.problem import Outcome, Problem, Stored, Word
from unmask.problems.regular_problems import symbols_of_word
from unmask.recurrences import BOOLEAN, N, Slots, collect, each, indices, letter, some, subsets
from unmask.recurrences.system import System

# BinaryGrammar → System: which nonterminals derive the letters i … j (Cocke, Younger and Kasami).
#
#     cell[i, i] = {A : A → letter i}
#     cell[i, j] = {A : A → B C, B in cell[i, k], C in cell[k + 1, j], i <= k < j}
#
# With few nonterminals, the value of a slot is the set. With many, the vocabulary would have to name all sets, so each
# nonterminal has its own group of slots with truth values.


MOST_IN_SETS = 10
i, j, k = indices("i j k")


def chart(grammar: BinaryGrammar, *, sets: bool | None = None) -> System:
    """The system that recognises the grammar's words; `sets` says how the nonterminals of a factor are represented."""
    if sets is None:
        sets = len(grammar.nonterminals) <= MOST_IN_SETS
    groups, whole = _chart_of_sets(grammar) if sets else _chart_of_truth_values(grammar)
    used_names = {group.name for group in groups}
    names = ("accepted" + "'" * primes for primes in count())
    accepted = Slots(next(name for name in names if name not in used_names), (), BOOLEAN)
    accepted.rule((), lambda: grammar.empty, where=N.equals(0))
    accepted.rule(whole[0, N - 1], (lambda derived: grammar.start in derived) if sets else (lambda derived: derived))
    return System(tuple(grammar.letters), (*groups, accepted), answer=accepted[()])


def _chart_of_sets(grammar: BinaryGrammar) -> tuple[list[Slots], Slots]:
    cell = Slots("cell", (i.range(N), j.range(i, N)), subsets(grammar.nonterminals))
    cell.rule(letter(i), grammar.letters.__getitem__, where=i.equals(j))
    halves = each(cell[i, k]), each(cell[k + 1, j])
    cell.rule(collect(k.range(i, j), halves, lambda left, right: grammar.pairs.get((left, right), ())), frozenset)
    return [cell], cell


def _chart_of_truth_values(grammar: BinaryGrammar) -> tuple[list[Slots], Slots]:
    groups = {name: Slots(name, (i.range(N), j.range(i, N)), BOOLEAN) for name in grammar.nonterminals}
    for name, group in groups.items():
        group.rule(letter(i), lambda x, a=name: a in grammar.letters[x], where=i.equals(j))
        splits = [
            some(k.range(i, j), (groups[left][i, k], groups[right][k + 1, j]), lambda first, second: first and second)
            for (left, right), derived in grammar.pairs.items()
            if name in derived
        ]
        group.rule(splits, lambda *derivations: reduce(or_, derivations, False))
    return list(groups.values()), groups[grammar.start]


MOST_BYTES = 1 << 20
MOST_NONTERMINALS = 100


@dataclass(frozen=True, eq=False)
class GrammarProblem(Problem):
    """Is the word derived? Oracle: Earley's algorithm, on the rules of the file."""

    title: str
    text: str

    def __post_init__(self) -> None:
        count = len(self.binary.nonterminals)
        if count > MOST_NONTERMINALS:
            raise TooLarge(
                f"{shortened(self.title)} has {count} nonterminals in binary form, beyond {MOST_NONTERMINALS}; "
                "give a smaller grammar"
            )

    @property
    def name(self) -> str:
        """The PROBLEM string, without the path of the file."""
        return self.title

    @cached_property
    def grammar(self) -> Grammar:
        return read_grammar(self.text)

    @cached_property
    def binary(self) -> BinaryGrammar:
        return to_binary_grammar(self.grammar)

    @cached_property
    def system(self) -> System:
        """The system that is compiled."""
        return chart(self.binary)

    @property
    def letters(self) -> tuple[str, ...]:
        return self.grammar.letters

    def outcome(self, word: Word) -> Outcome:
        return Outcome.of_bits([derives(self.grammar, symbols_of_word(word, self.letters))])

    def specification(self, length: int) -> Grammar:  # noqa: ARG002
        """The rules of the file; their binary form is compiled."""
        return self.grammar

    def stored(self) -> Stored:
        """The grammar itself, not the path of its file."""
        return StoredGrammar(self.title, self.text)


class StoredGrammar(Stored, frozen=True, tag="cfg"):
    """The grammar, and the names of the slots of the compiled chart."""

    name: str
    grammar: str
    outputs: int = 1
    slots: tuple[str, ...] = ()

    def problem(self) -> GrammarProblem:
        return GrammarProblem(self.name, self.grammar)


def parse_grammar(path: str) -> GrammarProblem:
    """cfg:FILE."""
    if not path:
        raise ProblemError("cfg: has no file name; write cfg:FILE")
    content = read_file(path, f"the grammar {shortened(path)}", most=MOST_BYTES, error=ProblemError)
    try:
        return GrammarProblem(f"cfg:{Path(path).name}", content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ProblemError(f"the grammar {shortened(path)} is not text in UTF-8; correct the file") from None
