"""Wires as the medium of a loop: the symbol of a slot is one-hot, a choice is one literal, a logit is one-hot again.

An error of a run, a row that attends to nothing or a written slot that an smdm edits, is a literal of `undefined`.
"""

from collections.abc import Sequence

from unmask.errors import UnmaskError
from unmask.problems.circuits.circuit import FALSE, CircuitBuilder
from unmask.reasoners.loops import Moment
from unmask.verification.circuits.constant_depth import (
    OneHotRow,
    Sum,
    WiredTransformer,
    input_names,
    token_wires,
)
from unmask.verification.circuits.one_hot import OneHotWires, argmax, at_least, choose, constant
from unmask.weights.model import Model

Slots = list[OneHotWires]


class Wires:
    """One run over wires of `builder`, whose inputs are the bits of the input symbols."""

    def __init__(self, model: Model, total: Sum) -> None:
        if model.kind == "topk" and model.k is not None:
            raise UnmaskError(
                f"a topk that chooses k = {model.k} slots has to count, which is impossible in constant depth; "
                "convert it to mdm first, or use one whose k is null"
            )
        tokens = [model.token[s] for s in model.input_symbols]
        self._model = model
        self.builder = CircuitBuilder(input_names(model.length, max(1, len(tokens))))
        begin = [] if model.begin is None else [constant(model.token[model.begin])]
        word = token_wires(self.builder, model.length, tokens) if model.length else []
        self._input: Slots = begin + word
        self._transformers = {
            name: WiredTransformer(self.builder, transformer, total=total)
            for name, transformer in model.transformers.items()
        }
        self._edits = [FALSE]

    @property
    def model(self) -> Model:
        return self._model

    @property
    def undefined(self) -> int:
        """[the run so far has ended in an error]."""
        return self.builder.or_(*self._edits, *(wired.undefined for wired in self._transformers.values()))

    def copies(self, symbol: str | None, count: int) -> Slots:
        return [] if symbol is None else [constant(self._model.token[symbol])] * count

    def read(
        self,
        step: int,  # noqa: ARG002
        name: str,
        tokens: Slots,
        last: int,
        *,
        asked: list[int] | None = None,  # noqa: ARG002
    ) -> list[OneHotRow]:
        wired = self._transformers[name]
        residual = wired.layers(wired.embed(self._input + tokens), 0, len(wired.transformer.layers))
        return [wired.logits(row) for row in residual[len(residual) - last :]]

    def decode(self, logits: Sequence[OneHotRow], *, without: int | None = None) -> Slots:
        return [argmax(self.builder, row, without=without) for row in logits]

    def taken(self, decisions: Sequence[OneHotRow]) -> list[int]:
        return [decision.get(1, FALSE) for decision in self.decode(decisions)]

    def masks_alone(self, step: int, choice: list[int], canvas: Slots) -> list[int]:  # noqa: ARG002
        mask = self._model.token[self._model.mask or ""]
        edits = (self.builder.and_(u, y.get(mask, FALSE) ^ 1) for u, y in zip(choice, canvas, strict=True))
        self._edits.append(self.builder.or_(*edits))
        return choice

    def surest(self, logits: Sequence[OneHotRow], k: int, *, without: int) -> list[int]:  # noqa: ARG002
        raise AssertionError("a model that counts is refused before its loop begins")

    def above_least(self, logits: Sequence[OneHotRow], *, without: int) -> list[int]:
        least = 1 - self._model.precision.bound
        return [
            self.builder.or_(*(at_least(self.builder, x, least) for s, x in enumerate(row) if s != without))
            for row in logits
        ]

    def overwrite(self, canvas: Slots, choice: list[int], symbols: Slots) -> Slots:
        return [choose(self.builder, u, x, y) for u, x, y in zip(choice, symbols, canvas, strict=True)]

    def joined(self, left: Slots, right: Slots) -> Slots:
        return left + right

    def written(self, symbols: Slots) -> Slots:
        return symbols

    def embed(self, tokens: Slots) -> list[OneHotRow]:
        return self._transformers["model"].embed(self._input + tokens)

    def noisy(self, step: int, residual: list[OneHotRow]) -> list[OneHotRow]:  # noqa: ARG002
        return residual

    def layers(self, moment: Moment, residual: list[OneHotRow], first: int, last: int) -> list[OneHotRow]:  # noqa: ARG002
        return self._transformers["model"].layers(residual, first, last)

    def last_rows(self, residual: list[OneHotRow], count: int) -> list[OneHotRow]:
        return [self._transformers["model"].logits(row) for row in residual[-count:]]
