"""Layout: the rows of a framework, what each row fetches, and what it holds after every step.

    states(w)[t, r]      what row r holds after t steps: an element, or MASK, or PAD
    pointers[t, r, f]    the row whose content r needs as its f-th operand in step t, or NO_OPERAND

A row that keeps one operand itself fetches one; a node of a tree fetches two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from unmask.expressions import constant
from unmask.lab.task_sources import Algebra, TaskSource
from unmask.programs.regular.product_tree import loop_child, queue_child, queue_slots, tree_steps
from unmask.weights.kinds import Kind

NO_OPERAND = -1
MASK, PAD = -1, -2
"""In `states`: not an element."""
FETCHES = 2  # operands of a product; a rule of a program may read more
MOST_FETCHES = 8
ROW_BITS = 8
MOST_ROWS = 1 << ROW_BITS
"""The largest number of rows: a row is identified by a code of ROW_BITS bits."""
LAST_SLOT = (-1,)


class TaskLayout(Protocol):
    """The layout of one framework at one length."""

    @property
    def kind(self) -> Kind:
        """Return the kind of model whose loop runs it."""
        ...

    @property
    def length(self) -> int: ...

    @property
    def padding(self) -> int:
        """Return P: slots or pads."""
        ...

    @property
    def steps(self) -> int:
        """Return T, the number of steps."""
        ...

    @property
    def pointers(self) -> np.ndarray:
        """Return [steps, rows, fetches], with at least FETCHES fetches."""
        ...

    @property
    def answer_slots(self) -> tuple[int, ...]:
        """Return the positions of the answers in the final output of the loop of its kind."""
        ...

    def states(self, source: Any, words: np.ndarray, /) -> np.ndarray:
        """Return the content of every row after every step, [batch, steps + 1, rows]."""
        ...


@dataclass(frozen=True)
class TaskRows:
    """A layout with N letters and P slots."""

    length: int
    padding: int
    steps: int

    @property
    def rows(self) -> int:
        return self.length + self.padding

    def nothing_fetched(self) -> np.ndarray:
        return np.full((self.steps, self.rows, FETCHES), NO_OPERAND)

    def blank(self, words: np.ndarray) -> np.ndarray:
        """Return [batch, steps + 1, rows]: the letters, and masks in all slots."""
        states = np.full((len(words), self.steps + 1, self.rows), MASK)
        states[:, :, : self.length] = words[:, None]
        return states


# Direct: the answers, in one step, and nothing in between.


@dataclass(frozen=True)
class DirectLayout:
    """w · m → the product; for a program, as many slots as it has answers."""

    length: int
    padding: int = 1
    kind: ClassVar[Kind] = "mdm"
    steps: ClassVar[int] = 1

    @property
    def answer_slots(self) -> tuple[int, ...]:
        return tuple(range(-self.padding, 0))

    @property
    def pointers(self) -> np.ndarray:
        return self._rows.nothing_fetched()

    def states(self, source: TaskSource, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        states[:, 1, self.length :] = source.answers(words)
        return states

    @property
    def _rows(self) -> TaskRows:
        return TaskRows(self.length, self.padding, self.steps)


# Chain of thought: prefix products, one symbol per letter, or per c - 1 letters.
#
#     y_t = y_{t-1} · w_t,   written by row N - 1 + t (the last one), which holds y_{t-1} and fetches w_t; y_0 = w_0
#     y_t = y_{t-1} · w_{(c-1)t} … w_{(c-1)(t+1)-1},   a chain of ⌈N/(c-1)⌉ symbols, each a product of c factors
#
# The compiled chain (programs/regular/state_chain.py) is the case c = 2; its state is where y_t takes the start.


@dataclass(frozen=True)
class ChainLayout:
    """N letters, then their products; a row that fetches several letters points to the first and the last."""

    length: int
    factors: int = 2
    kind: ClassVar[Kind] = "cot"
    answer_slots: ClassVar[tuple[int, ...]] = LAST_SLOT

    @property
    def padding(self) -> int:
        return self.steps

    @property
    def steps(self) -> int:
        return -(-self.length // self._letters)

    @property
    def pointers(self) -> np.ndarray:
        """Return the same pointers for every step: rows that do not exist yet are not read."""
        pointers = self._rows.nothing_fetched()
        for t, (first, last) in enumerate(self._fetched()):
            pointers[:, self.length - 1 + t, 0] = first
            if last > first:
                pointers[:, self.length - 1 + t, 1] = last
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        product = np.full(len(words), algebra.identity)
        for t, (first, last) in enumerate(self._fetched()):
            product = algebra.table[product, algebra.product(words[:, first : last + 1])]
            states[:, t + 1 :, self.length + t] = product[:, None]
        return states

    @property
    def _letters(self) -> int:
        return self.factors - 1

    def _fetched(self) -> list[tuple[int, int]]:
        """Return for every symbol the first and the last of its letters."""
        return [(t, min(self.length, t + self._letters) - 1) for t in range(0, self.length, self._letters)]

    @property
    def _rows(self) -> TaskRows:
        return TaskRows(self.length, self.padding, self.steps)


# Masked diffusion by a tree: a slot is the product of two rows, written once, as soon as both are written.
#
# The rows and their two factors are those of the compiled model (programs/regular/product_tree.py).


@dataclass(frozen=True)
class TreeLayout:
    """N letters, N - 1 products, ⌈log2 N⌉ steps."""

    length: int
    kind: ClassVar[Kind] = "smdm"
    answer_slots: ClassVar[tuple[int, ...]] = LAST_SLOT

    @property
    def padding(self) -> int:
        return queue_slots(constant(self.length)).at(self.length)

    @property
    def steps(self) -> int:
        return max(1, tree_steps(self.length))

    @cached_property
    def factors(self) -> np.ndarray:
        """Return [slots, 2]: the rows of the two factors of each slot."""
        rows = self.length + np.arange(self.padding)
        children = [queue_child(constant(self.length), side) for side in (0, 1)]
        return np.stack([child.at_positions(self.length, rows) for child in children], axis=1)

    @cached_property
    def level(self) -> np.ndarray:
        """Return [slots]: the step that writes each slot, from 0."""
        level = np.full(self.length + self.padding, -1)
        for slot, factors in enumerate(self.factors):
            level[self.length + slot] = level[factors].max() + 1
        return level[self.length :]

    @property
    def pointers(self) -> np.ndarray:
        pointers = self._rows.nothing_fetched()
        pointers[:, self.length :] = self.factors
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        last = states[:, -1]
        for slot, (left, right) in enumerate(self.factors):
            last[:, self.length + slot] = algebra.table[last[:, left], last[:, right]]
        written = self.level < np.arange(self.steps + 1)[:, None]
        slots = states[:, :, self.length :]
        slots[:] = np.where(written, last[:, None, self.length :], MASK)
        return states

    @property
    def _rows(self) -> TaskRows:
        return TaskRows(self.length, self.padding, self.steps)


# Masked diffusion that edits in place: the scan of Hillis and Steele, with c = 2 factors a step or with more.
#
#     step 0       y_i = w_i
#     step j > 0   y_i = y_{i - (c-1)s} … y_{i - 2s} · y_{i - s} · y_i,   s = c^(j-1)         ⌈log_c N⌉ + 1 steps
#
# A slot that does not exist is left out. A slot keeps one factor and fetches the others, which change from step to
# step: its pointers depend on the step, which a model of the paper would have to read off a clock in its canvas. After
# the last step slot i holds the product of w_0 … w_i.


@dataclass(frozen=True)
class ScanLayout:
    """N letters, N prefix products; a slot that fetches several points to the nearest and the farthest."""

    length: int
    factors: int = 2
    kind: ClassVar[Kind] = "mdm"
    answer_slots: ClassVar[tuple[int, ...]] = LAST_SLOT

    @property
    def padding(self) -> int:
        return self.length

    @property
    def steps(self) -> int:
        return len(self._spans) + 1

    @property
    def pointers(self) -> np.ndarray:
        pointers = self._rows.nothing_fetched()
        slots = np.arange(self.length)
        pointers[0, self.length :, 0] = slots
        for step, span in enumerate(self._spans, start=1):
            moved = slots[span:]
            farthest = moved - span * np.minimum(self.factors - 1, moved // span)
            pointers[step, self.length + moved, 0] = self.length + moved - span
            pointers[step, self.length + moved, 1] = np.where(
                farthest < moved - span, self.length + farthest, NO_OPERAND
            )
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        products = words
        states[:, 1, self.length :] = products
        for step, span in enumerate(self._spans, start=1):
            product = products
            for back in range(span, min(self.factors * span, self.length), span):
                product = np.concatenate(
                    [product[:, :back], algebra.table[products[:, :-back], product[:, back:]]], axis=1
                )
            products = product
            states[:, step + 1, self.length :] = products
        return states

    @property
    def _spans(self) -> list[int]:
        """Return how far apart the factors of each step are: 1, c, c², … below N."""
        return [self.factors**j for j in range(self.length) if self.factors**j < self.length]

    @property
    def _rows(self) -> TaskRows:
        return TaskRows(self.length, self.padding, self.steps)


# Looped: every loop replaces row i by the product of the rows 2i and 2i + 1.
#
#     rows 0 … N - 1   as in the compiled loop (programs/regular/product_loop.py)
#     row N            the identity, for rows that do not exist
#     row N + 1        the answer: entry 0 of its level, whose factors are the rows 0 and 1
#
# The compiled loop has one pad, which looks up row 0 after the last loop; here a second pad computes it.


@dataclass(frozen=True)
class LoopLayout:
    """N letters and two pads."""

    length: int
    kind: ClassVar[Kind] = "plt"
    answer_slots: ClassVar[tuple[int, ...]] = LAST_SLOT
    padding: ClassVar[int] = 2

    @property
    def steps(self) -> int:
        return max(1, tree_steps(self.length))

    @cached_property
    def factors(self) -> np.ndarray:
        """Return the two factors of each row, [rows, 2]."""
        rows = np.arange(self.length + 1)
        factors = [loop_child(side).at_positions(self.length, rows) for side in (0, 1)]
        return np.concatenate([np.stack(factors, axis=1), [[0, min(1, self.length)]]])

    @property
    def pointers(self) -> np.ndarray:
        return np.broadcast_to(self.factors, (self.steps, *self.factors.shape)).copy()

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        """Return the states; before the first loop, pads hold PAD and stand for the identity."""
        states = TaskRows(self.length, self.padding, self.steps).blank(words)
        states[:, 0, self.length :] = PAD
        products = np.concatenate([words, np.full((len(words), self.padding), algebra.identity)], axis=1)
        for step in range(self.steps):
            products = algebra.table[products[:, self.factors[:, 0]], products[:, self.factors[:, 1]]]
            states[:, step + 1] = products
        return states
