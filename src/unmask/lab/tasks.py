"""Problem × N × framework → Task: what every row holds after every step, in tokens.

tokens    the symbols of the source (elements of a monoid, values of a program), then the mask, then the pad
answers   what the answer slots hold after the last step; for a monoid one slot, the product of the word

A source (`task_sources`) defines the symbols and the answer: the finite monoid of a regular problem, or a system of
recurrences. A layout (`task_layouts`, `program_layout`) defines the rows of a framework and what each row reads. A
task joins the two. Networks are trained on it and scored by it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from unmask.errors import ProblemError, UnmaskError, shortened
from unmask.lab.program_layout import ProgramSlots
from unmask.lab.task_layouts import MASK, PAD, ChainLayout, DirectLayout, LoopLayout, ScanLayout, TaskLayout, TreeLayout
from unmask.lab.task_sources import Algebra, ProgramSource, TaskSource, algebra_of, unused_name
from unmask.problems.program_problems import ProgramProblem

FRAMEWORKS: dict[str, Callable[..., TaskLayout]] = {
    "direct": DirectLayout,
    "cot": ChainLayout,
    "tree": TreeLayout,
    "scan": ScanLayout,
    "looped": LoopLayout,
}
"""Frameworks for products."""
OF_PROGRAMS: dict[str, Callable[[ProgramSource, int], TaskLayout]] = {
    "direct": lambda program, length: DirectLayout(length, program.problem.outputs(length)),
    "program": ProgramSlots,
}
PROGRAM = "program:"
FACTORS = 2  # factors of a step; a chain and a scan may have more
KINDS_WITH_WIDE_STEPS = ("cot", "scan")
LONGEST_WORD = 1024


@dataclass(frozen=True, eq=False)
class LabTask:
    """The task that a network is trained on."""

    framework: str
    source: TaskSource
    layout: TaskLayout
    factors: int = FACTORS

    @classmethod
    def of(
        cls,
        problem: str,
        length: int,
        framework: str,
        factors: int = FACTORS,
        *,
        program: ProgramProblem | None = None,
    ) -> "LabTask":
        """Return a task. A program is code, so its name is not enough: it must be passed in."""
        if not 1 < length <= LONGEST_WORD:
            raise ProblemError(f"the lab trains on lengths from 2 to {LONGEST_WORD:,}, not {length}; change the length")
        if problem.startswith(PROGRAM):
            return cls._of_program(problem, length, framework, factors, program)
        if framework not in FRAMEWORKS:
            names = ", ".join(FRAMEWORKS)
            raise UnmaskError(f"unknown framework {framework!r} for {problem} in the lab; use one of {names}")
        return cls(framework, _algebra(problem), layout_of_task(framework, length, factors), factors)

    @classmethod
    def _of_program(
        cls, problem: str, length: int, framework: str, factors: int, program: ProgramProblem | None
    ) -> "LabTask":
        if program is None or program.name != problem:
            raise ProblemError(f"the code of {shortened(problem)} is needed to run it; give --program FILE.py")
        if framework not in OF_PROGRAMS or factors != FACTORS:
            raise ProblemError(
                f"{shortened(problem)} is a program; use the framework {' or '.join(OF_PROGRAMS)}, "
                "and leave out factors"
            )
        source = ProgramSource(program)
        return cls(framework, source, OF_PROGRAMS[framework](source, length))

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Return the names of all tokens; mask and pad get names that no symbol has."""
        names = self.source.names
        for name in ("m", "□"):
            names = (*names, unused_name(name, names))
        return names

    @property
    def mask(self) -> int:
        return len(self.source.names)

    @property
    def pad(self) -> int:
        return self.mask + 1

    @property
    def length(self) -> int:
        return self.layout.length

    @property
    def rows(self) -> int:
        return self.layout.length + self.layout.padding

    @property
    def fetches(self) -> int:
        """Return the number of positions that a row is given, besides its own."""
        return self.pointers.shape[-1]

    @property
    def written_once(self) -> bool:
        """Return whether every slot is written at most once."""
        return self.layout.kind == "smdm" or self.framework == "direct"

    @property
    def causal(self) -> bool:
        return self.layout.kind == "cot"

    @property
    def supervised_rows(self) -> slice:
        """Return the rows that some step writes: the last rows, or all rows of a loop."""
        return slice(None) if self.framework == "looped" else slice(-self.layout.padding, None)

    @cached_property
    def pointers(self) -> np.ndarray:
        return self.layout.pointers

    def states(self, words: np.ndarray) -> np.ndarray:
        """Return the states as tokens, [batch, steps + 1, rows]."""
        states = self.layout.states(self.source, words)
        return np.where(states == MASK, self.mask, np.where(states == PAD, self.pad, states))

    def answers(self, words: np.ndarray) -> np.ndarray:
        """Return the right answers, [batch, answers]."""
        return self.source.answers(words)

    def shown_answers(self, canvas: np.ndarray) -> np.ndarray:
        """Return [batch, answers] from the final output of the loop of its kind, [batch, slots]."""
        return canvas[:, list(self.layout.answer_slots)]

    def longer(self, length: int) -> "LabTask":
        """Return the same task at another length."""
        if isinstance(self.source, ProgramSource):
            return replace(self, layout=OF_PROGRAMS[self.framework](self.source, length))
        return replace(self, layout=layout_of_task(self.framework, length, self.factors))


def layout_of_task(framework: str, length: int, factors: int) -> TaskLayout:
    if factors == FACTORS:
        return FRAMEWORKS[framework](length)
    if framework not in KINDS_WITH_WIDE_STEPS:
        raise UnmaskError(
            f"a step of {framework} multiplies two factors, not {factors}; use {' or '.join(KINDS_WITH_WIDE_STEPS)}"
        )
    return FRAMEWORKS[framework](length, factors)


@lru_cache(maxsize=32)
def _algebra(problem: str) -> Algebra:
    return algebra_of(problem)
