"""Outcome: what is said of a word, by a problem that knows what is right or by the run of a model."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One of four things, and their text:

    bits        output bits, the last of them the answer     accepted; rejected; accepted, outputs 011
    value       a number, as it is written                   gives 19
    undecided   symbols that are neither                     undecided: q3 m
    error       why there is no answer                       error: row 4 attends to nothing
    """

    bits: tuple[bool, ...] = ()
    value: str | None = None
    undecided: str | None = None
    error: str | None = None

    @classmethod
    def of_bits(cls, bits: Sequence[bool | int]) -> "Outcome":
        return cls(bits=tuple(bool(bit) for bit in bits))

    @property
    def accepted(self) -> bool | None:
        """The answer; a word that has a value is accepted. None where nothing was decided."""
        return self.bits[-1] if self.bits else True if self.value is not None else None

    def last(self, outputs: int) -> "Outcome":
        """The same, with that many bits at most; of a value with several symbols, the last so many."""
        value = None if self.value is None else " ".join(self.value.split(" ")[-outputs:])
        return Outcome(self.bits[-outputs:], value, self.undecided, self.error)

    def __str__(self) -> str:
        if self.error is not None:
            return f"error: {self.error}"
        if self.undecided is not None:
            return f"undecided: {self.undecided}"
        if self.value is not None:
            return f"gives {self.value}"
        answer = "accepted" if self.accepted else "rejected"
        return f"{answer}, outputs {''.join(str(int(bit)) for bit in self.bits)}" if len(self.bits) > 1 else answer


ACCEPTED, REJECTED = Outcome((True,)), Outcome((False,))
