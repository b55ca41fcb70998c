"""The slots of a program as rows, in its own steps.

    written once    slot s holds its value from step depth(s) on                      T = depth,         a mask before
    rewritten       step 0 writes what the slots start with, step t the t-th round    T = rounds + 1

A row points to the positions that it reads, one after another, as many as the longest rule reads; for a read over a
range, to the first and the last. A slot that reads itself already holds the value and needs no pointer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from unmask.errors import TooLarge
from unmask.lab.task_layouts import FETCHES, MASK, MOST_FETCHES, NO_OPERAND, TaskRows
from unmask.lab.task_sources import ProgramSource, TaskSource
from unmask.limits import check, check_memory
from unmask.recurrences.interpreter import Interpreter
from unmask.recurrences.unfolding import (
    ConstantOperand,
    Key,
    LetterOperand,
    MappedOperand,
    Operand,
    RangeOperand,
    SlotOperand,
    SlotStep,
)
from unmask.weights.kinds import Kind

KEPT, KEPT_BYTES = 1024, 1 << 24  # most words whose canvases are kept, and most bytes of them: short words recur


@dataclass(frozen=True, eq=False)
class ProgramSlots:
    """The layout with all slots of a program, in its own steps."""

    program: ProgramSource
    length: int

    @cached_property
    def interpreter(self) -> Interpreter:
        return self.program.problem.interpreter(self.length)

    @property
    def edits(self) -> bool:
        return self.program.problem.system.edits

    @property
    def kind(self) -> Kind:
        return "mdm" if self.edits else "smdm"

    @cached_property
    def keys(self) -> list[Key]:
        """Return the slots in order, those of the answer last, as in a compiled model."""
        unfolding = self.interpreter.unfolding
        answers = set(unfolding.answers)
        return [*(key for key in unfolding.keys if key not in answers), *unfolding.answers]

    @property
    def padding(self) -> int:
        return len(self.keys)

    @property
    def steps(self) -> int:
        unfolding = self.interpreter.unfolding
        return unfolding.steps + 1 if self.edits else max(unfolding.depth.values())

    @cached_property
    def pointers(self) -> np.ndarray:
        unfolding = self.interpreter.unfolding
        rules = self._fetched(unfolding.rules)
        starts = self._fetched(unfolding.starts) if self.edits else rules
        width = max(FETCHES, rules.shape[1], starts.shape[1])
        if width > MOST_FETCHES:
            raise TooLarge(
                f"in the lab a rule reads at most {MOST_FETCHES} positions, but {self.program.problem.name} "
                "has rules that "
                f"read {width} (a read over a range counts as two: its first and its last); split its rules"
            )
        shape = self.steps, self.length + self.padding, width
        check_memory(8 * prod(shape), f"what {shape[1]:,} rows read in {shape[0]:,} steps")
        pointers = np.full(shape, NO_OPERAND)
        pointers[:, self.length :, : rules.shape[1]] = rules
        if self.edits:
            pointers[0] = NO_OPERAND
            pointers[0, self.length :, : starts.shape[1]] = starts
        return pointers

    def _fetched(self, steps: dict[Key, SlotStep]) -> np.ndarray:
        """Return [slots, reads], without reads that need no pointer: of the slot itself or of a constant."""
        operand_rows = [self._operand_rows(key, steps[key].operands) for key in self.keys]
        table = np.full((self.padding, max(map(len, operand_rows))), NO_OPERAND)
        for slot, rows in enumerate(operand_rows):
            table[slot, : len(rows)] = rows
        return table[:, (table != NO_OPERAND).any(axis=0)]

    def _operand_rows(self, key: Key, operands: tuple[Operand, ...]) -> list[int]:
        own_row = self._row[key]
        return [NO_OPERAND if row == own_row else row for operand in operands for row in self._rows_of(operand)]

    def _rows_of(self, operand: Operand) -> list[int]:
        if isinstance(operand, LetterOperand):
            return [operand.position]
        if isinstance(operand, SlotOperand):
            return [self._row[operand.key]]
        if isinstance(operand, MappedOperand):
            return self._rows_of(operand.operand)
        if isinstance(operand, RangeOperand):
            if not operand.operands:
                return [NO_OPERAND] * (2 * len(operand.over.reads))
            ends = zip(operand.operands[0], operand.operands[-1], strict=True)
            return [row for first, last in ends for end in (first, last) for row in self._rows_of(end)]
        assert isinstance(operand, ConstantOperand)
        return [NO_OPERAND]

    @cached_property
    def _row(self) -> dict[Key, int]:
        return {key: self.length + slot for slot, key in enumerate(self.keys)}

    @property
    def answer_slots(self) -> tuple[int, ...]:
        return tuple(range(-len(self.interpreter.unfolding.answers), 0))

    def states(self, source: TaskSource, words: np.ndarray) -> np.ndarray:  # noqa: ARG002
        states = TaskRows(self.length, self.padding, self.steps).blank(words)
        for number, word in enumerate(words):
            check()
            states[number, :, self.length :] = self._canvases(tuple(word.tolist()))
        return states

    @cached_property
    def _canvases(self) -> Callable[[tuple[int, ...]], np.ndarray]:
        each = 4 * (self.steps + 1) * self.padding  # bytes of the canvases of one word
        return lru_cache(maxsize=min(KEPT, KEPT_BYTES // each))(self._canvases_of)

    def _canvases_of(self, word: tuple[int, ...]) -> np.ndarray:
        """Return the canvases of one word, [steps + 1, slots]."""
        run = self.interpreter.run(self.program.spelled(np.array(word)))
        symbol = self.program.symbol
        if self.edits:
            rounds = [[symbol[values[key]] for key in self.keys] for values in run.history]
            return np.array([[MASK] * self.padding, *rounds], dtype=np.int32)
        last = np.array([symbol[run.values[key]] for key in self.keys], dtype=np.int32)
        return np.where(self._written, last, np.int32(MASK))

    @cached_property
    def _written(self) -> np.ndarray:
        """Return which slots are written after every step, [steps + 1, slots]."""
        depth = np.array([self.interpreter.unfolding.depth[key] for key in self.keys])
        return depth <= np.arange(self.steps + 1)[:, None]
