"""Claim: a family, what its words are made of, and the automaton that it is held against."""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.precision import Precision
from unmask.problems.automata.automaton import Automaton
from unmask.programs.compilers.family import Family
from unmask.programs.language.program import Program, Size
from unmask.verification.families.obligations.arithmetic import Arithmetic, Term
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.obligations.rows import Rows


@dataclass(frozen=True, eq=False)
class Claim:
    """The family decides the language of the automaton: for every N from its least on, and every word of that length.

    Letter i is read as the token `tokens[i]` of the family's vocabulary, and is `letters[i]` for the automaton.
    """

    family: Family
    precision: Precision
    automaton: Automaton
    tokens: np.ndarray
    letters: np.ndarray
    arithmetic: Arithmetic

    def program(self, name: str) -> Program:
        programs = self.family.design.programs
        if name not in programs or programs[name].every is None:
            raise Open(f"the family has no program of every N called {name}")
        return programs[name]

    def rows(self, name: str) -> Rows:
        return Rows(self.program(name), self.precision, self.family.least)

    def token(self, role: str) -> int:
        return self.family.design.vocabulary[role]

    @property
    def verdicts(self) -> np.ndarray:
        """The tokens of reject and accept."""
        return self.family.design.vocabulary.verdicts

    def require_frame(self, *, steps: Term, padding: Term, rows: Term, block: Term | None = None) -> None:
        """Steps, slots and rows are exactly these, for every N."""
        design, arithmetic = self.family.design, self.arithmetic
        row = arithmetic.row()
        sizes: list[tuple[str, Size | None, Term | None]] = [
            ("steps", design.steps, steps),
            ("slots or pads", design.padding, padding),
            ("symbols per step", design.block, block),
        ]
        for name, size, wanted in sizes:
            if size is None or wanted is None:
                if size is not wanted:
                    raise Open(f"the family has {name} that it should not have, or lacks them")
                continue
            arithmetic.require(f"frame: {name}", arithmetic.at(size, row) == wanted)
        for name in design.programs:
            every = self.program(name).every
            assert every is not None
            arithmetic.require(f"frame: rows of the {name}", arithmetic.at(every, row) == rows)
