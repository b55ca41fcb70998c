"""A Python function as the reference of a model.

    FILE.py:function, or a function ──▶ UserFunction ──▶ FunctionReference

The function is called with a word: a string if every letter is one character, else a list of letters. It returns True
or False (accept or reject), or a list of outputs, one for each of the last symbols of the model. It must be pure.
For a proof it is called with every word, and the answers become a minimal decision graph for words of that length.
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
from unmask.verification.model_outcomes import outcome_of_symbols
from unmask.verification.words.references import largest_answer_count, read_letters, words_of_letters
from unmask.weights.model import Model

MOST_CALLS = 1 << 16  # a proof calls the function with every word; it is refused if there are more words
CALLED_TWICE = 64  # the first words are tried twice, to find functions that are not pure
FIRST_CALLS = 16  # words that are tried at the start, to find out the number of outputs
MOST_STATES = 256  # a decision graph with fewer nodes becomes an automaton, so that an induction is possible

Output = bool | str
"""Accept or reject, or the name of another symbol."""


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of words, with its name in messages and the file that defines it."""

    name: str
    function: Callable[[Any], Any]
    path: str | None = None

    def __call__(self, word: str | list[str]) -> Any:
        """Return what the function returns. Its output is suppressed; an exception becomes a `ProblemError`."""
        try:
            with redirect_stdout(StringIO()):
                return self.function(list(word) if isinstance(word, list) else word)
        except (KeyboardInterrupt, OutOfTime):
            raise
        except BaseException as error:  # a user's exception may derive from BaseException
            line = None if self.path is None else line_in(self.path, error)
            where = f" at line {line}" if line is not None else ""
            raise ProblemError(
                f"{self.name} raises {type(error).__name__}{where} ({message_of(error, LONGEST_REASON)}) "
                f"for the word {shortened(repr(word))}; it must return an answer for every word"
            ) from error


def names_function(text: str) -> tuple[str, str] | None:
    """Return (file, function) of `FILE.py:function`, or None if the text has another form."""
    match = re.fullmatch(r"(?P<path>.+\.py):(?P<name>\w+)", text, flags=re.DOTALL)
    return (match["path"], match["name"]) if match else None


def load_user_function(path: str, name: str) -> UserFunction:
    """Run a Python file and return its function of that name."""
    _, names = run_file(path, "file")
    function = names.get(name)
    if not callable(function):
        functions = [key for key, value in names.items() if callable(value) and not key.startswith("_")]
        listed = f"it has {shortened(', '.join(functions))}" if functions else "it has no function"
        raise ProblemError(f"{shortened(path)} has no function {shortened(name)!r}; {listed}")
    return UserFunction(f"{Path(path).name}:{name}", function, path)


def user_function_of(function: Callable[[Any], Any]) -> UserFunction:
    return UserFunction(f"the function {shortened(getattr(function, '__name__', repr(function)))}", function)


class FunctionReference:
    """A function as the reference, for all words that the model reads."""

    characters = None

    def __init__(self, model: Model, function: UserFunction) -> None:
        self.model, self.function = model, function
        self._second_calls_left = CALLED_TWICE
        self._outputs_of_word: dict[str, tuple[Output, ...]] = {}
        all_characters = [(0, 0x10FFFF, 0)]
        self.letters = (
            model.input_symbols
            if model.characters is None
            else tuple(x for x, symbol in read_letters(model, (), all_characters).items() if symbol is not None)
        )
        self.answers = [len(self._outputs(word)) for word in islice(self.words(random.Random(0)), FIRST_CALLS)][-1]
        self.outputs = min(self.answers, largest_answer_count(model))

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def answer_symbols(self) -> frozenset[str]:
        """Empty, because the function returns symbols by name, which are compared directly."""
        return frozenset()

    @property
    def about(self) -> str | None:
        if self.model.characters is None or not self.model.length:
            return None
        letters = shortened(" ".join(self.letters))
        return f"every word over {letters}, one character for each class that the model distinguishes"

    def expected(self, word: str) -> Outcome:
        names = {True: self.model.accept, False: self.model.reject}
        symbols = [names[x] if isinstance(x, bool) else x for x in self._outputs(word)[-self.outputs :]]
        return outcome_of_symbols(self.model, symbols)

    def words(self, rng: random.Random) -> Iterator[str]:
        """Yield, in turn, a random word over the letters and a word of the problem that the model folder names."""
        random_words = words_over(self.letters or ("",), self.model.length, rng, gap=self.gap)
        try:
            problem_words = problem_from_json(self.model.problem).words(self.model.length, rng)
            next(problem_words)
        except (UnmaskError, IndexError):  # no problem, or one without letters
            problem_words = random_words
        allowed = set(self.letters)
        for random_word, problem_word in zip(random_words, problem_words, strict=False):
            yield random_word
            if allowed.issuperset(problem_word.split() if self.gap else problem_word):
                yield problem_word

    def every_word(self) -> Words:
        return words_of_letters(self.letters, self.model.length, self.gap)

    @property
    def lists_every_word(self) -> bool:
        return True

    def specification(self) -> Automaton | DecisionGraph:
        """Return the function as an automaton if it is small, else as a decision graph; TooLarge for too many words."""
        length, count = self.model.length, len(self.letters) ** self.model.length
        if count > MOST_CALLS:
            raise TooLarge(
                f"{self.name} would have to be asked about {count:,} words, more than {MOST_CALLS:,}; "
                "use --method sample"
            )
        outputs_of_words = [
            self._outputs(self.gap.join(word))[-self.outputs :]
            for word in stage("asking the function", product(self.letters, repeat=length), count)
        ]
        graph = decision_graph(outputs_of_words, len(self.letters), length)
        if self.outputs == 1 and all(isinstance(leaf[0], bool) for leaf in graph.leaves):
            automaton = _automaton_of_graph(graph, self.letters)
            return graph if automaton is None else automaton
        return graph

    def _outputs(self, word: str) -> tuple[Output, ...]:
        outputs = self._outputs_of_word.get(word)
        if outputs is None:
            argument: str | list[str] = word if is_plain(self.letters) and not self.gap else word.split()
            outputs = self._read(word, self.function(argument))
            if self._second_calls_left:
                self._second_calls_left -= 1
                self._check_second_call(word, argument, outputs)
            if len(self._outputs_of_word) < MOST_CALLS:
                self._outputs_of_word[word] = outputs
        return outputs

    def _check_second_call(self, word: str, argument: str | list[str], first: tuple[Output, ...]) -> None:
        second = self._read(word, self.function(argument))
        if second != first:
            raise ProblemError(
                f"{self.name} returns {_formatted_outputs(first)} and then {_formatted_outputs(second)} "
                f"for the word {shortened(repr(word))}; "
                "it must be a pure function, without random numbers, a clock or a memory"
            )

    def _read(self, word: str, returned: Any) -> tuple[Output, ...]:
        several = isinstance(returned, (list, tuple)) or (isinstance(returned, np.ndarray) and returned.ndim == 1)
        outputs = tuple(self._output(word, x) for x in (returned if several else [returned]))
        first = next(iter(self._outputs_of_word.values()), outputs)
        if not outputs or len(outputs) != len(first):
            raise ProblemError(
                f"{self.name} returns {len(outputs)} outputs for the word {shortened(repr(word))}, and "
                f"{len(first)} for another; return the same number for every word, at least one"
            )
        return outputs

    def _output(self, word: str, x: Any) -> Output:
        """Return True, False, or the name of a symbol; 1 and 0 are bits, unless the model computes with numbers."""
        model = self.model
        if isinstance(x, (bool, np.bool_)):
            return bool(x)
        if isinstance(x, (int, np.integer)):
            is_symbol = str(x) in set(model.vocabulary) - {*model.input_symbols, model.accept, model.reject}
            if not (is_symbol or reads_expressions(model.input_symbols)) and x in (0, 1):
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


def decision_graph(outputs_of_words: Sequence[tuple[Output, ...]], letters: int, length: int) -> DecisionGraph:
    """Return the minimal graph that leads every word to its outputs; words come in lexicographic order."""
    numbers: dict[Any, int] = {}
    nodes = [numbers.setdefault(outputs, len(numbers)) for outputs in outputs_of_words]
    leaves, levels = list(numbers), []
    for _ in range(length):
        numbers = {}
        siblings = zip(*(iter(nodes),) * letters, strict=True)
        nodes = [numbers.setdefault(children, len(numbers)) for children in siblings]
        levels.append(list(numbers))
    return DecisionGraph(levels[::-1], leaves)


def _automaton_of_graph(graph: DecisionGraph, letters: Sequence[str]) -> Automaton | None:
    """Return the graph as an automaton: a state per node, and one for words that are too long; None if it is large."""
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


def _formatted_outputs(outputs: Sequence[Output]) -> str:
    return shortened(repr(outputs[0] if len(outputs) == 1 else list(outputs)))
