"""regex:PATTERN, or a bare pattern: does `re.fullmatch(pattern, word)` match? Words are any text."""

import re
import warnings
from dataclasses import dataclass
from functools import cached_property

from unmask.errors import PatternError, WordError, shortened
from unmask.problems.automata.automaton import Automaton
from unmask.problems.outcome import ACCEPTED, REJECTED, Outcome
from unmask.problems.problem import Word
from unmask.problems.regexes.parser import regex_flags
from unmask.problems.regexes.regex import regex_automaton
from unmask.problems.regular import RegularProblem
from unmask.problems.stored import Stored


@dataclass(frozen=True)
class RegexProblem(RegularProblem):
    """Does `re.fullmatch(pattern, word)` match? Oracle: `re` itself."""

    pattern: str
    ascii: bool = True
    ignore_case: bool = False

    def __post_init__(self) -> None:
        _ = self._compiled  # a pattern that Python refuses is refused here

    @property
    def name(self) -> str:
        """The PROBLEM string; what flags add to it is written inline."""
        flags = "i" * self.ignore_case + "u" * (not self.ascii and not self._reads_ascii)
        return f"regex:{f'(?{flags})' if flags else ''}{self.pattern}"

    @property
    def accepts(self) -> str:
        ascii = r": as under `re.ASCII`, `\d`, `\w`, `\s` and `\b` are those of ASCII" if self._reads_ascii else ""
        return f"A word is accepted if Python's `re.fullmatch` matches the pattern with it{ascii}."

    @property
    def _reads_ascii(self) -> bool:
        return bool(self._compiled.flags & re.ASCII)

    @cached_property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return regex_automaton(self.pattern, ascii=self.ascii, ignore_case=self.ignore_case)

    def outcome(self, word: Word) -> Outcome:
        """Whether the pattern matches the whole word."""
        if not isinstance(word, str):
            long = next((part for part in word if len(part) != 1), None)
            if long is not None:
                raise WordError(f"{shortened(long)!r} is not one character; give the word as a plain string")
            word = "".join(word)
        return ACCEPTED if self._compiled.fullmatch(word) is not None else REJECTED

    def stored(self) -> Stored:
        return StoredRegex(self.pattern, self.ascii, self.ignore_case)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        flags = regex_flags(self.pattern, ascii=self.ascii, ignore_case=self.ignore_case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return re.compile(self.pattern, flags)
            except (re.error, OverflowError, RecursionError, ValueError) as error:
                reason = f"Python cannot compile it ({error}): correct it"
                raise PatternError(reason, pattern=self.pattern) from None


class StoredRegex(Stored, frozen=True, tag="regex"):
    pattern: str
    ascii: bool
    ignore_case: bool

    def problem(self) -> RegexProblem:
        return RegexProblem(self.pattern, self.ascii, self.ignore_case)
