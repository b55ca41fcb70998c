"""Which programs were assembled on the way to a model: weights do not say how their positions were declared.

>>> with recorded_programs() as programs:
...     pass  # compile or convert
>>> len(programs)
0
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from unmask.programs.language.program import Program

_RECORD: ContextVar[list[Program] | None] = ContextVar("programs", default=None)


@contextmanager
def recorded_programs() -> Generator[list[Program]]:
    """Inside it, every program that is assembled is appended to the list."""
    programs: list[Program] = []
    token = _RECORD.set(programs)
    try:
        yield programs
    finally:
        _RECORD.reset(token)


def record(program: Program) -> None:
    """`assemble` says which program it turns into weights."""
    programs = _RECORD.get()
    if programs is not None:
        programs.append(program)
