"""law:FILE: a distribution over strings. It has no answers, so that it is no problem that could be compiled."""

from typing import NoReturn

from unmask.errors import ProblemError, shortened

PREFIX = "law:"


def law_path(text: str) -> str | None:
    """FILE of law:FILE; None for whatever else is written there."""
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None


def parse_law(path: str) -> NoReturn:
    """Refused: `unmask samplers` reads it, nothing else does."""
    raise ProblemError(
        f"law:{shortened(path)} is a distribution, which has no answers; use `unmask samplers law:FILE --length N`"
    )
