"""All errors that a caller can cause.

UnmaskError                  the message says what is wrong, where, and what to do
├── WeightsError             tensors that do not fit together
├── FolderError              a model folder that cannot be read or written
├── WordError                a word that the model cannot read
├── PlannerError             a planner that is unknown or does not apply
├── ProblemError             a problem that cannot be understood
│   └── PatternError         a regular expression, with the construct and its column
├── TooLarge                 refused for its size, with the estimate
├── AttendsToNothing         Z = 0: layer, head, row
└── EditsWrittenSlot         a mask-dominated planner chose an unmasked slot: step, slot

OutOfTime                    the time of a budget is over; stops all work inside the budget
"""

import sys
from collections.abc import Callable
from typing import Any


class UnmaskError(Exception):
    """Base of all errors of the library. The message says what is wrong, where, and what to do.

    Examples:
        >>> compile_problem("(a|b", "mdm", length=9)
        Traceback (most recent call last):
        unmask.errors.PatternError: Python cannot parse the pattern (missing ), unterminated subpattern): correct it ...
    """


class WeightsError(UnmaskError):
    """Tensors that do not fit together."""


class FolderError(UnmaskError):
    """A model folder that cannot be read or written."""


class WordError(UnmaskError):
    """A word that the model cannot read."""


class PlannerError(UnmaskError):
    """A planner that is unknown, or that does not apply to the model."""


class ProblemError(UnmaskError):
    """A problem that cannot be understood."""


class PatternError(ProblemError):
    """A regular expression that cannot be compiled: the construct and its column (from 1)."""

    def __init__(self, reason: str, *, pattern: str, column: int | None = None) -> None:
        self.reason, self.pattern, self.column = reason, pattern, column
        where = "" if column is None else f" at column {column}"
        super().__init__(f"{reason}{where} of the regex {shortened(pattern)!r}")


class TooLarge(UnmaskError):
    """Refused because of its size."""


class OutOfTime(BaseException):
    """The time of a budget is over. Derives from BaseException, so that loops that skip bad words do not swallow it."""

    def __init__(self, seconds: float, so_far: str) -> None:
        self.seconds, self.so_far = seconds, so_far
        where = f" at {so_far}" if so_far else ""
        super().__init__(f"the time limit of {seconds:g} s was reached{where}; give more with --timeout SECONDS")


class AttendsToNothing(UnmaskError):
    """Every exponential of a row underflowed, so that Z = 0 and the weights exp/Z do not exist."""

    def __init__(self, *, layer: int, head: int, row: int, word: int = 0, transformer: str = "model") -> None:
        self.layer, self.head, self.row, self.word, self.transformer = layer, head, row, word, transformer
        super().__init__(
            f"the {transformer} attends to nothing at layer {layer}, head {head}, row {row}: "
            "every exponential underflows to 0, so Z = 0; give the row a visible key with a larger score"
        )


class EditsWrittenSlot(UnmaskError):
    """The planner of an smdm chose a slot that is not masked."""

    def __init__(self, *, step: int, slot: int, symbol: str) -> None:
        self.step, self.slot, self.symbol = step, slot, symbol
        super().__init__(
            f"the planner of an smdm may choose masked slots only, but step {step} chose slot {slot}, "
            f"which holds {symbol!r}; run it as reasoner 'mdm' or correct the planner"
        )


def shortened(text: str, *, most: int = 60) -> str:
    """Return the text, cut in the middle if it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2) :]}"


def shown_value(value: Any, write: Callable[[Any], str] = repr) -> str:
    """Return `repr` or `str` of a value for an error message: short, and without raising an error itself."""
    try:
        return shortened(text_of_user_value(value, write))
    except ProblemError:
        if isinstance(value, int):
            return "an integer of thousands of digits"
        return f"a value of the class {shortened(type(value).__name__)}"


def message_of(error: BaseException, most: int) -> str:
    """Return the message of an error that the user's program raised; its `__str__` may fail."""
    try:
        return shortened(text_of_user_value(error, str), most=most)
    except ProblemError:
        return "an error that cannot be printed"


def text_of_user_value(value: Any, write: Callable[[Any], str]) -> str:
    """Return `str` or `repr` of a value of the user's program; its `__str__` is the user's code and may fail."""
    try:
        return str.__str__(write(value))
    except (KeyboardInterrupt, OutOfTime):
        raise
    except BaseException as error:
        name = shortened(type(value).__name__)
        if isinstance(value, int):
            reason = f"it is an integer with more than {sys.get_int_max_str_digits():,} digits"
        else:
            reason = f"its text cannot be made, which raises {shortened(type(error).__name__)}"
        raise ProblemError(
            f"a value of the class {name} cannot be written as a symbol: {reason}; use a string in its place"
        ) from None


def visible(text: str) -> str:
    """Return the text with every unprintable character replaced by its code point: "\\x1b[2J" → "\\\\u{1b}[2J"."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
