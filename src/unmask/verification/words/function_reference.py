"""A Python function as the reference of a model.

    FILE.py:function, or a function ──▶ UserFunction ──▶ FunctionReference

The function is called with a word: a string if every letter is one character, else a list of letters. It returns True
or False (accept or reject), or a list of outputs, one for each of the last symbols of the model. It must be pure.
For a proof it is called with every word, and the answers become a minimal decision graph of that length.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import OutOfTime, ProblemError, TooLarge, UnmaskError, message_of, shortened
from unmask.limits import stage
from unmask.problems.automata.automaton import Automaton
from unmask.problems.catalogue import problem_from_json
from unmask.problems.problem import DecisionGraph, Outcome, Words, is_plain, words_over
from unmask.problems.program_problems import line_in, run_file
from unmask.reasoners.typed_words import reads_expressions
from unmask.recurrences.rule_functions import LONGEST_REASON
from unmask.verification.words.references import outcome_of_symbols, read_letters, words_of_letters
from unmask.weights.model import Model

MOST_ASKED = 1 << 16  # words that a function is asked about for a proof
ASKED_TWICE = 64  # words about which it is asked again
FIRST_ASKED = 16  # words about which it is asked before any is compared
MOST_STATES = 256  # of an automaton that an induction is tried with

Output = bool | str
"""Accept or reject, or the name of another symbol."""


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of words, and what it is called."""

    name: str
    function: Callable[[Any], Any]
    path: str | None = None

    def ask(self, word: str | list[str]) -> Any:
        """What the function returns; what it prints is not shown, what it raises becomes an error message."""
        try:
            with redirect_stdout(StringIO()):
                return self.function(list(word) if isinstance(word, list) else word)
        except (KeyboardInterrupt, OutOfTime):
            raise
        except BaseException as error:  # of whatever class the user has made up
            line = None if self.path is None else line_in(self.path, error)
            where = f" at line {line}" if line is not None else ""
            raise ProblemError(
                f"{self.name} raises {type(error).__name__}{where} ({message_of(error, LONGEST_REASON)}) "
                f"for the word {shortened(repr(word))}; it must return an answer for every word"
            ) from error


def names_function(text: str) -> tuple[str, str] | None:
    """(file, function) of `FILE.py:function`, or None if the text has another form."""
    found = re.fullmatch(r"(?P<path>.+\.py):(?P<name>\w+)", text, flags=re.DOTALL)
    return (found["path"], found["name"]) if found else None


def load_user_function(path: str, name: str) -> UserFunction:
    """The function of that name in a Python file, which is run."""
    _, names = run_file(path, "file")
    function = names.get(name)
    if not callable(function):
        known = [key for key, value in names.items() if callable(value) and not key.startswith("_")]
        listed = f"it has {shortened(', '.join(known))}" if known else "it has no function"
        raise ProblemError(f"{shortened(path)} has no function {shortened(name)!r}; {listed}")
    return UserFunction(f"{Path(path).name}:{name}", function, path)


def user_function_of(function: Callable[[Any], Any]) -> UserFunction:
    """A function of the caller."""
    return UserFunction(f"the function {shortened(getattr(function, '__name__', repr(function)))}", function)


class FunctionReference:
    """What a function says about the words that a model reads."""

    characters = None

    def __init__(self, model: Model, function: UserFunction) -> None:
        self.model, self.function = model, function
        self._again = ASKED_TWICE
        self._known: dict[str, tuple[Output, ...]] = {}
        everything = [(0, 0x10FFFF, 0)]
        self.letters = (
            model.input_symbols
            if model.characters is None
            else tuple(x for x, symbol in read_letters(model, (), everything).items() if symbol is not None)
        )
        self.answers = [len(self._outputs(word)) for word in islice(self.words(random.Random(0)), FIRST_ASKED)][-1]
        self.outputs = min(self.answers, model.symbols_written if model.outputs is None else model.outputs)

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def answer_symbols(self) -> frozenset[str]:
        """Empty: symbols are compared without a translation."""
        return frozenset()

    @property
    def about(self) -> str | None:
        if self.model.characters is None or not self.model.length:
            return None
        shown = shortened(" ".join(self.letters))
        return f"every word over {shown}, one character for each class that the model distinguishes"

    def right(self, word: str) -> Outcome:
        names = {True: self.model.accept, False: self.model.reject}
        symbols = [names[x] if isinstance(x, bool) else x for x in self._outputs(word)[-self.outputs :]]
        return outcome_of_symbols(self.model, symbols)

    def words(self, rng: random.Random) -> Iterator[str]:
        """In turn a word over the letters, and one that the folder's own problem tries, if it can be read."""
        anything = words_over(self.letters or ("",), self.model.length, rng, gap=self.gap)
        try:
            own = problem_from_json(self.model.problem).words(self.model.length, rng)
            next(own)
        except (UnmaskError, IndexError):  # no problem, or one without letters
            own = anything
        allowed = set(self.letters)
        for one, other in zip(anything, own, strict=False):
            yield one
            if allowed.issuperset(other.split() if self.gap else other):
                yield other

    def every_word(self) -> Words:
        return words_of_letters(self.letters, self.model.length, self.gap)

    @property
    def lists_every_word(self) -> bool:
        return True

    def specification(self) -> Automaton | DecisionGraph:
        """The function as a decision graph of this length; TooLarge if there are too many words to ask about."""
        length, count = self.model.length, len(self.letters) ** self.model.length
        if count > MOST_ASKED:
            raise TooLarge(
                f"{self.name} would have to be asked about {count:,} words, more than {MOST_ASKED:,}; "
                "use --method sample"
            )
        answers_of_words = [
            self._outputs(self.gap.join(word))[-self.outputs :]
            for word in stage("asking the function", product(self.letters, repeat=length), count)
        ]
        graph = decision_graph(answers_of_words, len(self.letters), length)
        if self.outputs == 1 and all(isinstance(leaf[0], bool) for leaf in graph.leaves):
            automaton = _automaton(graph, self.letters)
            return graph if automaton is None else automaton
        return graph

    def _outputs(self, word: str) -> tuple[Output, ...]:
        known = self._known.get(word)
        if known is None:
            given: str | list[str] = word if is_plain(self.letters) and not self.gap else word.split()
            known = self._read(word, self.function.ask(given))
            if self._again:
                self._again -= 1
                self._check_again(word, given, known)
            if len(self._known) < MOST_ASKED:
                self._known[word] = known
        return known

    def _check_again(self, word: str, given: str | list[str], known: tuple[Output, ...]) -> None:
        again = self._read(word, self.function.ask(given))
        if again != known:
            raise ProblemError(
                f"{self.name} returns {_shown(known)} and then {_shown(again)} for the word {shortened(repr(word))}; "
                "it must be a pure function, without random numbers, a clock or a memory"
            )

    def _read(self, word: str, returned: Any) -> tuple[Output, ...]:
        several = isinstance(returned, (list, tuple)) or (isinstance(returned, np.ndarray) and returned.ndim == 1)
        outputs = tuple(self._output(word, x) for x in (returned if several else [returned]))
        first = next(iter(self._known.values()), outputs)
        if not outputs or len(outputs) != len(first):
            raise ProblemError(
                f"{self.name} returns {len(outputs)} outputs for the word {shortened(repr(word))}, and "
                f"{len(first)} for another; return the same number for every word, at least one"
            )
        return outputs

    def _output(self, word: str, x: Any) -> Output:
        """True, False, or the name of a symbol; 1 and 0 are bits, unless the model computes with numbers."""
        model = self.model
        if isinstance(x, (bool, np.bool_)):
            return bool(x)
        if isinstance(x, (int, np.integer)):
            own = str(x) in set(model.vocabulary) - {*model.input_symbols, model.accept, model.reject}
            if not (own or reads_expressions(model.input_symbols)) and x in (0, 1):
                return bool(x)
            x = str(x)
        if isinstance(x, str) and x in model.vocabulary:
            return {model.accept: True, model.reject: False}.get(x, x)
        expected = "True or False, or a list of True, False, numbers and symbols that the model can write"
        raise ProblemError(
            f"{self.name} returns {shortened(repr(x))} for the word {shortened(repr(word))}; return {expected}"
        )

    @property
    def gap(self) -> str:
        return "" if is_plain(self.letters) and not reads_expressions(self.letters) else " "


def decision_graph(answers_of_words: Sequence[tuple[Output, ...]], letters: int, length: int) -> DecisionGraph:
    """The minimal graph that leads every word, in lexicographic order, to what is said of it."""
    numbers: dict[Any, int] = {}
    row = [numbers.setdefault(outputs, len(numbers)) for outputs in answers_of_words]
    leaves, levels = list(numbers), []
    for _ in range(length):
        numbers = {}
        after = zip(*(iter(row),) * letters, strict=True)
        row = [numbers.setdefault(children, len(numbers)) for children in after]
        levels.append(list(numbers))
    return DecisionGraph(levels[::-1], leaves)


def _automaton(graph: DecisionGraph, letters: Sequence[str]) -> Automaton | None:
    """The same graph as an automaton, one state per node and one where words are too long; None if it is large."""
    sizes = [*(len(level) for level in graph.levels), len(graph.leaves)]
    first = np.cumsum([0, *sizes]).tolist()
    if first[-1] >= MOST_STATES or not letters:
        return None
    delta = np.full((first[-1] + 1, len(letters)), first[-1])
    for depth, level in enumerate(graph.levels):
        for node, children in enumerate(level):
            delta[first[depth] + node] = [first[depth + 1] + child for child in children]
    accepting = np.zeros(len(delta), dtype=bool)
    accepting[first[len(graph.levels)] : first[-1]] = [leaf[0] for leaf in graph.leaves]
    return Automaton(tuple(letters), delta, 0, accepting)


def _shown(outputs: Sequence[Output]) -> str:
    return shortened(repr(outputs[0] if len(outputs) == 1 else list(outputs)))
