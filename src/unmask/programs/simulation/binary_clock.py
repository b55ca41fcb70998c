"""A clock for T steps in ⌈log2 T⌉ slots: which step this is, in binary, with no symbol of its own.

    slot k holds bit k of the number of steps taken so far: the symbols of two numbers, ⟨0⟩ and ⟨1⟩; masked is 0
    blocked(k) = some slot j < k is off              one head, THRESH
    next(k)    = off(k) XOR blocked(k)               an MLP of a later layer; XOR is a sum of two exclusive ANDs
    waiting    = some slot that is on in T - 1 is off: since the count is at most T - 1, exactly before the last step

Bounds:       ⌈log2 T⌉ slots, no symbol; 2·⌈log2 T⌉ + 9 columns: what a slot sees is a thermometer code.
Exactness:    exact for T steps, for p >= 1. Nobody counts beyond T - 1.
"""

from dataclasses import dataclass

import numpy as np

from unmask.programs.gadgets.detection import detect, everywhere
from unmask.programs.gadgets.hide import hide, hide_later
from unmask.programs.gadgets.logic import conjunction, veto
from unmask.programs.language.builders import Columns, LayerBuilder, MlpBuilder
from unmask.programs.language.coefficients import ONE
from unmask.programs.language.declarations import OneHot, Thermometer
from unmask.programs.language.positions import Expression, both, choose, constant, n
from unmask.programs.language.program import Program


@dataclass(frozen=True, eq=False)
class BinaryClock:
    """The registers of a clock whose slots stand from one position on."""

    off: Columns
    counting: Columns
    elsewhere: Columns
    lowest: Columns
    not_due: Columns
    place: Columns
    after: Columns
    averages: Columns
    waiting: Columns
    blocked: Columns

    @classmethod
    def of(cls, program: Program, first: Expression, steps: int) -> "BinaryClock":
        """A clock of `steps` >= 2 steps, lowest bit first."""
        places = clock_slots(steps)
        counting = both(n >= first, n < first + places)
        place = n - first
        due = constant(0)
        for k in range(places):
            due = choose(place.equals(k), constant((steps - 1) >> k & 1), due)
        seen = choose(counting, (place - 1).positive_part(), places)  # the lowest sees itself, others what is below
        return cls(
            off=program.register("bit is off"),
            counting=program.flag("counting", counting),
            elsewhere=program.flag("not counting", counting.equals(0)),
            lowest=program.flag("lowest bit", place.equals(0)),
            not_due=program.flag("not on at the end", due.equals(0)),
            place=program.register("place of the bit", places, OneHot(place, counting)),
            after=program.register("places not below", places, Thermometer(seen)),
            averages=program.register("how many are off", ("at the end", "below")),
            waiting=program.register("not the last step"),
            blocked=program.register("no carry"),
        )

    def embed(self, program: Program, *off: int) -> None:
        """The symbols that a slot of the clock holds where its bit is 0."""
        program.embed(off, self.off)

    def look(self, layer: LayerBuilder) -> None:
        """Every row: is this not the last step? Every slot of the clock: is there no carry?"""
        at_the_end = everywhere(layer)
        hide(at_the_end, self.not_due, copies=1)
        detect(at_the_end, layer.mlp, self.off, self.averages[:1], self.waiting)
        below = everywhere(layer)
        hide_later(below, self.after, self.place)
        hide(below, self.elsewhere)
        detect(below, layer.mlp, self.off, self.averages[1:], self.blocked)
        veto(layer.mlp, self.lowest, self.blocked)

    def tick(self, mlp: MlpBuilder, codes: list[tuple[int, int]]) -> None:
        """In a layer after `look`: the next bit; each of `codes` is the column of ⟨0⟩ and that of ⟨1⟩."""
        flips = [
            conjunction(mlp, self.off, [[self.blocked[0], self.elsewhere[0]]]),
            conjunction(mlp, self.blocked, [[self.off[0], self.elsewhere[0]]]),
        ]
        next_on = np.concatenate(flips)
        here = conjunction(mlp, self.counting, [[]])
        for zero, one in codes:
            mlp.write(next_on, np.array([one]))
            mlp.write(next_on, np.array([zero]), -ONE)
            mlp.write(here, np.array([zero]))


def clock_slots(steps: int) -> int:
    """⌈log2 T⌉: what a clock of `steps` steps takes."""
    return (steps - 1).bit_length()
