"""Medium: what the loops need to know of the values that they run over.

    the same loop over          tokens are                       one run of the loop is
    arrays (`arrays`)           integers, a batch of words       a run
    tables (symbolic/)          tables over the letters          all words at once
    wires (circuits/)           one wire per symbol              a circuit
    a network (lab/)            integers, a batch of words       a run of a trained model

The loops say what is read, decided and written, and in which order; a medium says how. Rows and slots are always
those at the end: the begin symbol and the input stand before whatever a loop hands over.
"""

from collections.abc import Mapping
from typing import Literal, Protocol, TypeVar, runtime_checkable

from unmask.weights.kinds import Kind

Tokens = TypeVar("Tokens")
"""A string of symbols after the input: the canvas, the pads, what was generated."""

Logits = TypeVar("Logits")
"""out·h of some rows."""

Symbols = TypeVar("Symbols")
"""What rows decode to, before it is written anywhere."""

Choice = TypeVar("Choice")
"""Which slots are taken."""

Residual = TypeVar("Residual")
"""The residual stream of all rows, between two layers."""

Moment = int | Literal["initial", "final"]
"""Where in a run layers are applied: in a step, or before or after all of them."""


@runtime_checkable
class Reasoner(Protocol):
    """What a loop asks of the model itself: its kind, its T and P, and its symbols. Every `Model` answers."""

    @property
    def kind(self) -> Kind: ...

    @property
    def steps(self) -> int: ...

    @property
    def padding(self) -> int: ...

    @property
    def block(self) -> int | None: ...

    @property
    def k(self) -> int | None: ...

    @property
    def mask(self) -> str | None: ...

    @property
    def pad(self) -> str | None: ...

    @property
    def token(self) -> Mapping[str, int]: ...

    @property
    def answer_rows(self) -> int:
        """The number of last rows that a looped model decodes."""
        ...

    @property
    def loop(self) -> tuple[int, int, int]:
        """(l1, l2, the number of layers) of a looped model."""
        ...


@runtime_checkable
class Medium(Protocol[Tokens, Logits, Symbols, Choice, Residual]):
    """One run of one model."""

    @property
    def model(self) -> Reasoner: ...

    # every framework

    def copies(self, symbol: str | None, count: int) -> Tokens:
        """symbol^count; a symbol that the model does not have stands for nothing, and its count is 0."""
        ...

    def read(self, step: int, name: str, tokens: Tokens, last: int, *, asked: Choice | None = None) -> Logits:
        """A whole pass of the named transformer over input · tokens: the logits of the last rows.

        Of these rows, only those of the slots `asked` for need be computed.
        """
        ...

    def decode(self, logits: Logits, *, without: int | None = None) -> Symbols:
        """The argmax of every row, the lowest index wins a tie; `without` is left out."""
        ...

    # masked diffusion

    def taken(self, decisions: Logits) -> Choice:
        """The slots whose planner row decodes to 1."""
        ...

    def masks_alone(self, step: int, choice: Choice, canvas: Tokens) -> Choice:
        """The same choice; to take a slot that is written is an error of this step."""
        ...

    def surest(self, logits: Logits, k: int, *, without: int) -> Choice:
        """The k slots of the largest maximal logit, the lowest slot wins a tie."""
        ...

    def above_least(self, logits: Logits, *, without: int) -> Choice:
        """The slots whose maximal logit is above -B."""
        ...

    def overwrite(self, canvas: Tokens, choice: Choice, symbols: Symbols) -> Tokens:
        """x_i where u_i = 1, y_i elsewhere."""
        ...

    # chain of thought

    def joined(self, left: Tokens, right: Tokens) -> Tokens:
        """left · right."""
        ...

    def written(self, symbols: Symbols) -> Tokens:
        """Symbols as tokens that can be read."""
        ...

    # looped

    def embed(self, tokens: Tokens) -> Residual:
        """H⁰ of input · tokens."""
        ...

    def noisy(self, step: int, residual: Residual) -> Residual:
        """With the noise of the tape in the listed columns, where there is a tape."""
        ...

    def layers(self, moment: Moment, residual: Residual, first: int, last: int) -> Residual:
        """After the layers [first, last)."""
        ...

    def last_rows(self, residual: Residual, count: int) -> Logits:
        """The logits of the last `count` rows."""
        ...
