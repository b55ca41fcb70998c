"""Model → circuit whose depth is at most a constant times T: one forward pass after the other, wired together.

    kind            one step                                                             depth of T steps at most
    mdm, smdm       planner and predictor side by side, then a choice per slot           T·(pass + 2)
    topk, k = null  one pass, then a choice per slot by its largest logit                T·(pass + 3)
    plt             one loop of the layers [l1, l2)                                      T·loop + pass
    cot, pcot       one pass over what is written so far                                 T·pass

`pass` is that of pass_depth, a constant for fixed p and number of layers. A topk that counts, with a fixed k, is
refused: no circuit of constant depth counts up to a k that grows.
"""

from collections.abc import Iterator

from unmask.errors import UnmaskError
from unmask.problems.circuit import FALSE, Circuit, CircuitBuilder
from unmask.problems.circuit_shape import trimmed
from unmask.verification.constant_depth import (
    Row,
    Sum,
    WiredTransformer,
    input_names,
    pass_depth,
    token_wires,
)
from unmask.verification.one_hot import OneHot, argmax, at_least, choose, constant
from unmask.verification.saturating_sum import saturating_sum
from unmask.weights.model import DIFFUSION, Model


def constant_depth_model(model: Model, *, slots: bool = False, total: Sum = saturating_sum) -> Circuit:
    """What a model does without noise, as a circuit of the outputs `undefined`, `rejected` and `accepted`.

    Inputs as `input_names` gives them, over the input symbols. `undefined` holds if and only if the run ends in an
    error: a row attends to nothing, or the planner of an smdm chooses a written slot. With `slots`, what the slots hold
    in the end comes first: `slot 2 is a`.
    """
    return trimmed(_Run(model, total).circuit(slots))


def model_depth(model: Model) -> int:
    """What the circuit's depth never exceeds: it depends on T, p and the layers alone."""
    layers = max(len(transformer.layers) for transformer in model.transformers.values())
    tokens, answer = 2, 1
    if model.kind == "plt":
        first, last = model.transformers["model"].loop or (0, 0)
        layers = first + model.steps * (last - first) + layers - last
        return tokens + pass_depth(model.precision, layers) + answer
    return tokens + model.steps * (pass_depth(model.precision, layers) + 3) + answer


class _Run:
    """A run over wires; mirrors the loops of reasoners/."""

    def __init__(self, model: Model, total: Sum) -> None:
        if model.kind == "topk" and model.k is not None:
            raise UnmaskError(
                f"a topk that chooses k = {model.k} slots counts, which no constant depth allows; "
                "convert it to mdm first, or use one whose k is null"
            )
        tokens = [model.token[s] for s in model.input_symbols]
        self.model = model
        self.builder = CircuitBuilder(input_names(model.length, max(1, len(tokens))))
        begin = [] if model.begin is None else [constant(model.token[model.begin])]
        word = token_wires(self.builder, model.length, tokens) if model.length else []
        self.given: list[OneHot] = begin + word
        self.transformers = {
            name: WiredTransformer(self.builder, transformer, total=total)
            for name, transformer in model.transformers.items()
        }
        self.errors = [FALSE]

    def circuit(self, show_slots: bool) -> Circuit:
        model, builder = self.model, self.builder
        slots = (
            self._diffusion() if model.kind in DIFFUSION else self._looped() if model.kind == "plt" else self._chain()
        )
        outputs: dict[str, int] = {}
        if show_slots:
            held = ((i, symbol, slot) for i, slot in enumerate(slots) for symbol in model.vocabulary)
            outputs = {f"slot {i} is {symbol}": slot.get(model.token[symbol], FALSE) for i, symbol, slot in held}
        outputs["undefined"] = builder.or_(*self.errors, *(t.undefined for t in self.transformers.values()))
        outputs["rejected"], outputs["accepted"] = (self._says(slots[-1], s) for s in (model.reject, model.accept))
        return builder.circuit(list(outputs.values()), list(outputs))

    def _diffusion(self) -> list[OneHot]:
        model, builder = self.model, self.builder
        mask = model.token[model.mask or ""]
        canvas = [constant(mask)] * model.padding
        plan = self._by_threshold if model.kind == "topk" else self._by_planner
        name = "model" if model.kind == "topk" else "predictor"
        for _ in range(model.steps):
            logits = list(self._read(name, canvas))
            chosen = plan(canvas, logits)
            symbols = [argmax(builder, row, without=mask) for row in logits]
            if model.kind == "smdm":
                written = (builder.and_(u, y.get(mask, FALSE) ^ 1) for u, y in zip(chosen, canvas, strict=True))
                self.errors.append(builder.or_(*written))
            canvas = [choose(builder, u, x, y) for u, x, y in zip(chosen, symbols, canvas, strict=True)]
        return canvas

    def _by_planner(self, canvas: list[OneHot], _: list[Row]) -> list[int]:
        return [argmax(self.builder, row).get(1, FALSE) for row in self._read("planner", canvas)]

    def _by_threshold(self, _: list[OneHot], logits: list[Row]) -> list[int]:
        """Chosen if the largest logit, the mask's left out, is above -B."""
        mask, least = self.model.token[self.model.mask or ""], 1 - self.model.precision.bound
        return [
            self.builder.or_(*(at_least(self.builder, x, least) for s, x in enumerate(row) if s != mask))
            for row in logits
        ]

    def _looped(self) -> list[OneHot]:
        model, wired = self.model, self.transformers["model"]
        first, last = wired.transformer.loop or (0, 0)
        pads = [constant(model.token[model.pad or ""])] * model.padding if model.padding else []
        residual = wired.layers(wired.embed(self.given + pads), 0, first)
        for _ in range(model.steps):
            residual = wired.layers(residual, first, last)
        residual = wired.layers(residual, last, len(wired.transformer.layers))
        return [argmax(self.builder, wired.logits(residual[-1]))]

    def _chain(self) -> list[OneHot]:
        model = self.model
        masks = [constant(model.token[model.mask or ""])] * (model.block or 0) if model.block else []
        written: list[OneHot] = []
        for _ in range(model.steps):
            rows = list(self._read("model", written + masks, last=model.block or 1))
            written += [argmax(self.builder, row) for row in rows]
        return written

    def _read(self, name: str, canvas: list[OneHot], *, last: int | None = None) -> Iterator[Row]:
        """The logits of the slots, or of the last rows."""
        wired = self.transformers[name]
        residual = wired.layers(wired.embed(self.given + canvas), 0, len(wired.transformer.layers))
        return (wired.logits(row) for row in residual[-(last or self.model.padding) :])

    def _says(self, slot: OneHot, symbol: str) -> int:
        """The slot holds the symbol, or one that stands for it."""
        meant = (
            t for t in slot if self.model.aliases.get(self.model.vocabulary[t], self.model.vocabulary[t]) == symbol
        )
        return self.builder.or_(*(slot[t] for t in meant))
