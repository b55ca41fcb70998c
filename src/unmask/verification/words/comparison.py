"""Comparison: a model, the reference it is compared with, and the engine that runs words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from unmask.engines.engine import Engine
from unmask.errors import WordError
from unmask.problems.problem import Outcome
from unmask.reasoners.typed_words import read_word
from unmask.verification.verdict import Verdict
from unmask.verification.words.references import Reference, outcomes, read_letters
from unmask.weights.model import Model


@dataclass(frozen=True, eq=False)
class Comparison:
    """A model and what it is compared with; the engine runs words."""

    model: Model
    reference: Reference
    engine: Engine
    certified: bool = False
    """Keep a certificate of the proof that is found."""
    by: str | None = None
    """The only way to prove that may be taken: induction or sat."""

    @property
    def unreadable(self) -> list[str]:
        """The letters of the reference that the model cannot read."""
        return [letter for letter, symbol in self.readings.items() if symbol is None] if self.model.length else []

    @cached_property
    def readings(self) -> dict[str, str | None]:
        """What words are made of, as it is typed, and the symbol that the model reads for it, if it does."""
        return read_letters(self.model, self.reference.letters, self.reference.characters)

    @property
    def letters(self) -> list[str]:
        """A letter for everything that the model or the reference distinguishes; the empty word has none."""
        return list(self.readings) if self.model.length else []

    def word(self, numbers: Sequence[int]) -> str:
        """The word of these letters."""
        letters = self.letters
        return self.reference.gap.join(letters[k] for k in numbers)

    def outcomes_of(self, words: Sequence[str]) -> list[Outcome]:
        """What the model says of each word."""
        reference = self.reference
        return outcomes(self.model, words, self.engine, outputs=reference.outputs, answers=reference.answer_symbols)

    def unread(self, method: str) -> Verdict | None:
        """A word of the problem that the model cannot read refutes it, whatever the method."""
        plain = next((letter for letter, symbol in self.readings.items() if symbol is not None), None)
        odd = next((letter for letter, symbol in self.readings.items() if symbol is None), plain)
        if odd is None or not self.model.length:
            return None
        word = self.reference.gap.join([plain or odd] * (self.model.length - 1) + [odd])
        try:
            read_word(self.model, word)
        except WordError as error:
            expected = str(self.reference.right(word))
            return Verdict("refuted", method, 1, counterexample=word, expected=expected, got=f"error: {error}")
        return None
