"""cfg:FILE: is the word derived by a context-free grammar?"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.files import read_file
from unmask.problems.grammars.binary import BinaryGrammar, binary
from unmask.problems.grammars.chart import chart
from unmask.problems.grammars.earley import derives
from unmask.problems.grammars.notation import Grammar, read_grammar
from unmask.problems.outcome import Outcome
from unmask.problems.problem import Problem, Word
from unmask.problems.regular import symbols_of
from unmask.problems.stored import Stored
from unmask.recurrences.system import System

MOST_BYTES = 1 << 20
MOST_NONTERMINALS = 100


@dataclass(frozen=True, eq=False)
class GrammarProblem(Problem):
    """Is the word derived? Oracle: Earley's algorithm, on the rules as they are written."""

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
        return binary(self.grammar)

    @cached_property
    def system(self) -> System:
        """What is compiled."""
        return chart(self.binary)

    @property
    def letters(self) -> tuple[str, ...]:
        return self.grammar.letters

    def outcome(self, word: Word) -> Outcome:
        return Outcome.of_bits([derives(self.grammar, symbols_of(word, self.letters))])

    def specification(self, length: int) -> Grammar:  # noqa: ARG002
        """The rules as they are written; what is compiled is their binary form."""
        return self.grammar

    def stored(self) -> Stored:
        """The grammar itself, not the path of its file."""
        return StoredGrammar(self.title, self.text)


class StoredGrammar(Stored, frozen=True, tag="cfg"):
    """The grammar, and how the slots of the compiled chart are called."""

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
