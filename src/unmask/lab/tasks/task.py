"""Task: algebra × layout, in tokens.

tokens   0 … |M| - 1 the elements, then the mask, then the pad
answer   what the last row holds after the last step: the product of the word
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from unmask.errors import ProblemError, UnmaskError
from unmask.lab.tasks.algebra import Algebra, algebra_of
from unmask.lab.tasks.chain import Chain
from unmask.lab.tasks.direct import Direct
from unmask.lab.tasks.layout import MASK, PAD, Layout
from unmask.lab.tasks.loop import Loop
from unmask.lab.tasks.scan import Scan
from unmask.lab.tasks.tree import Tree

FRAMEWORKS: dict[str, Callable[..., Layout]] = {
    "direct": Direct,
    "cot": Chain,
    "tree": Tree,
    "scan": Scan,
    "looped": Loop,
}
FACTORS = 2  # of a step; a chain and a scan may have more
WIDER = ("cot", "scan")
LONGEST = 1024


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned."""

    framework: str
    algebra: Algebra
    layout: Layout
    factors: int = FACTORS

    @classmethod
    def of(cls, problem: str, length: int, framework: str, factors: int = FACTORS) -> "Task":
        if framework not in FRAMEWORKS:
            raise UnmaskError(f"there is no framework {framework!r} in the lab; use one of {', '.join(FRAMEWORKS)}")
        if not 1 < length <= LONGEST:
            raise ProblemError(f"the lab trains on lengths from 2 to {LONGEST:,}, not {length}; change the length")
        return cls(framework, _algebra(problem), layout_of(framework, length, factors), factors)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Names of all tokens; mask and pad get a name that no element has."""
        names = [*self.algebra.names]
        for name in ("m", "□"):
            while name in names:
                name += "'"
            names.append(name)
        return tuple(names)

    @property
    def mask(self) -> int:
        return self.algebra.size

    @property
    def pad(self) -> int:
        return self.algebra.size + 1

    @property
    def length(self) -> int:
        return self.layout.length

    @property
    def rows(self) -> int:
        return self.layout.length + self.layout.padding

    @property
    def causal(self) -> bool:
        return self.layout.kind == "cot"

    @property
    def taught(self) -> slice:
        """The rows that some step writes: the last ones, but all of a loop."""
        return slice(None) if self.framework == "looped" else slice(-self.layout.padding, None)

    @cached_property
    def pointers(self) -> np.ndarray:
        return self.layout.pointers

    def states(self, words: np.ndarray) -> np.ndarray:
        """[batch, steps + 1, rows] as tokens."""
        states = self.layout.states(self.algebra, words)
        return np.where(states == MASK, self.mask, np.where(states == PAD, self.pad, states))

    def answers(self, words: np.ndarray) -> np.ndarray:
        return self.algebra.product(words)

    def longer(self, length: int) -> "Task":
        """The same at another length."""
        return replace(self, layout=layout_of(self.framework, length, self.factors))


def layout_of(framework: str, length: int, factors: int) -> Layout:
    if factors == FACTORS:
        return FRAMEWORKS[framework](length)
    if framework not in WIDER:
        raise UnmaskError(f"a step of {framework} multiplies two factors, not {factors}; use {' or '.join(WIDER)}")
    return FRAMEWORKS[framework](length, factors)


@lru_cache(maxsize=32)
def _algebra(problem: str) -> Algebra:
    return algebra_of(problem)
