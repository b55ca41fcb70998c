"""Sampler × reference model → runs, and the three ways in which a write can be wrong.

A run is attributed to one cause, so that one fault fails one check and not ten:

    the model's prediction is wrong      although all operands were right: the model did not see the canvas
    the write is not the prediction      of its row: shifted logits, a changed result
    the write is early                   an operand was still masked, and the prediction was not certain

This file uses nothing of unmask besides the bench: `check.py` of a bench folder contains it unchanged.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmask.bench.loaded_model import UNJUDGED, BenchError, LoadedModel, ReferenceWord
from unmask.bench.observed_run import CERTAIN, NotApplicable, ObservedRun, SlotWrite, observe_run

WORDS = 4  # words of a model that each check tries
SECONDS_AFTER = 2.0  # limit of a run after another run of the same sampler and model reached its time limit
PASSES_PER_SLOT = 8  # a run with more passes than this, and more than 64, counts as endless


class CheckFailed(Exception):
    """Raised if a sampler behaves wrongly; the message says where."""


def refuse_fault(check: str, fault: str | None) -> None:
    """Raise `NotApplicable` if there is a fault, because another check reports it."""
    if fault is not None:
        raise NotApplicable(f"{fault} (see {check})")


FIXED_PARAMETERS = ("model", "tokenizer", "input_ids", "steps", "mask_token_id")
CALL = "generate(model, tokenizer, input_ids, *, steps, mask_token_id, **options)"


def check_call(generate: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse a function that cannot be called as the bench calls it, before any check runs."""
    for name in options:
        if name in FIXED_PARAMETERS:
            raise BenchError(f"the bench itself passes {name} to the sampler; leave out this option")
    try:
        signature = inspect.signature(generate)
    except (TypeError, ValueError):
        return  # a built-in function: the first run shows whether it can be called
    optional = {"prompt_length": 0} if "prompt_length" in signature.parameters else {}
    try:
        signature.bind(None, None, None, **{"steps": 1, "mask_token_id": 0, **optional, **options})
    except TypeError as error:
        raise BenchError(f"the sampler cannot be called as {CALL}: {error}; write a function that can") from None


def check_values(
    generate: Callable[..., Any],
    options: Mapping[str, Any],
    effects: Mapping[str, Sequence[Any]],
    equal: Mapping[str, Sequence[Any]],
) -> None:
    """Refuse options that cannot be compared: unknown options, and options with too few values."""
    for name, values in (*effects.items(), *equal.items()):
        if isinstance(values, str) or len(values) < 2 or (name in effects and len(values) > 2):
            raise BenchError(f"{name} has the values {values!r}; give two values to compare")
        check_call(generate, {**options, name: values[0]})


def fingerprint(module: Any) -> list[tuple[Any, float, float]]:
    """Return the number type, the sum and the norm of every parameter."""
    parameters = [(parameter.dtype, parameter.detach().float()) for parameter in module.parameters()]
    return [(dtype, float(values.sum()), float(values.norm())) for dtype, values in parameters]


def flattened(model: LoadedModel) -> Callable[[Any], Any]:
    """Return a map that makes logits nearly equal without changing their order; special tokens become impossible."""
    special = sorted({int(token) for token in model.tokenizer.all_special_ids})

    def transform(logits: Any) -> Any:
        logits = logits.clone()
        logits[..., special] = logits.amin(-1, keepdim=True)
        low, high = logits.amin(-1, keepdim=True), logits.amax(-1, keepdim=True)
        flat = (logits - high) / (high - low).clamp(min=1e-6) / 64
        flat[..., special] = -1e4
        return flat

    return transform


def mask_favoured(model: LoadedModel) -> Callable[[Any], Any]:
    """Return a map of logits that makes the mask token the likeliest symbol of every row."""

    def transform(logits: Any) -> Any:
        logits = logits.clone()
        logits[..., model.mask_id] = logits.amax(-1) + 16
        return logits

    return transform


VARIANTS: dict[str, Callable[[LoadedModel], Callable[[Any], Any]]] = {
    "undecided": flattened,
    "mask favoured": mask_favoured,
}


@dataclass(eq=False)
class Trial:
    """One sampler on one model; runs with the same arguments are shared."""

    generate: Callable[..., Any]
    model: LoadedModel
    options: Mapping[str, Any] = field(default_factory=dict)
    effects: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    equal: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seconds: float = 20.0
    _runs: dict[Any, ObservedRun] = field(default_factory=dict)
    _timed_out: bool = False

    @property
    def words(self) -> tuple[ReferenceWord, ...]:
        return self.model.words[:WORDS]

    @property
    def half(self) -> int:
        """Return the passes for half of the slots per pass, but never fewer than the model needs."""
        return max(self.model.least_passes, -(-self.model.slots // 2))

    def accepts(self, option: str) -> bool:
        """Return whether `generate` has a parameter of this name."""
        try:
            parameters = inspect.signature(self.generate).parameters
        except (TypeError, ValueError):
            return False
        return option in parameters

    def require_option(self, option: str) -> None:
        if not self.accepts(option):
            raise NotApplicable(f"generate has no parameter {option}")

    def run(
        self,
        ids: np.ndarray,
        steps: int,
        *,
        variant: str | None = None,
        dtype: str = "float32",
        attempt: int = 0,
        attention_mask: np.ndarray | None = None,
        prompt_length: int | None = None,
        **options: Any,
    ) -> ObservedRun:
        """Sample from canvases [rows] or [batch, rows] in `steps` passes, with these options besides the fixed ones."""
        ids = np.atleast_2d(ids)
        key = (ids.tobytes(), ids.shape, steps, variant, dtype, attempt, repr(sorted(options.items())))
        if attention_mask is not None or key not in self._runs:
            self._runs[key] = self._observed(
                ids, steps, variant, dtype, attention_mask, prompt_length or self.model.prompt_length, options
            )
        return self._runs[key]

    def _observed(
        self,
        ids: np.ndarray,
        steps: int,
        variant: str | None,
        dtype: str,
        attention_mask: np.ndarray | None,
        prompt_length: int,
        options: dict[str, Any],
    ) -> ObservedRun:
        module = self.model.module(dtype).eval()  # raises BenchError without torch
        import torch

        input_ids = torch.from_numpy(ids.copy())
        weights = fingerprint(module)
        keywords: dict[str, Any] = {**self.options, **options}
        if attention_mask is not None:
            keywords["attention_mask"] = torch.from_numpy(attention_mask)
        if self.accepts("prompt_length"):
            keywords["prompt_length"] = prompt_length
        run = ObservedRun(ids, prompt_length, self.model.mask_id, self.model.facts["shifted"])
        observe_run(
            module,
            lambda: self.generate(
                module, self.model.tokenizer, input_ids, steps=steps, mask_token_id=self.model.mask_id, **keywords
            ),
            run,
            most_passes=64 + PASSES_PER_SLOT * max(self.model.slots, steps),
            seconds=min(self.seconds, SECONDS_AFTER) if self._timed_out else self.seconds,
            transform=None if variant is None else VARIANTS[variant](self.model),
        )
        self._timed_out = self._timed_out or (run.stopped is not None and "seconds" in run.stopped)
        run.input_changed = not np.array_equal(input_ids.numpy(), ids)
        if fingerprint(module) != weights:
            self.model.forget(dtype)
            run.error = run.error or "generate changed the weights of the model; later runs get a fresh copy"
        return run

    # conditions that a check may rely on

    def require_finished(self, run: ObservedRun) -> ObservedRun:
        """Fail if a run raised an exception; a run that did not end is left to `terminates`."""
        if run.error is not None:
            raise CheckFailed(run.error)
        if run.stopped is not None:
            raise NotApplicable(f"a run did not end: {run.stopped} (see terminates)")
        return run

    def require_followed(self, run: ObservedRun) -> ObservedRun:
        """Refuse a run for which it is unknown which pass wrote each slot."""
        self.require_finished(run)
        if not run.calls:
            raise NotApplicable("the model was never called through its forward method, so no pass was observed")
        if run.canvases() is None:
            raise NotApplicable("some passes showed only a part of the canvas, so it is unknown what was written when")
        return run

    def require_filled(self, run: ObservedRun) -> ObservedRun:
        """Refuse a run that left masks."""
        masked = int((self.require_finished(run).slots == self.model.mask_id).sum())
        if masked:
            raise NotApplicable(f"{masked} slots are still masked (see no_mask_left)")
        return run

    def require_sound(self, run: ObservedRun, word: ReferenceWord, *, order: bool = False) -> ObservedRun:
        """Refuse a run with a fault that another check reports: wrong predictions, unpredicted writes, early writes."""
        self.require_followed(run)
        refuse_fault("bidirectional", self.wrong_prediction(run, word))
        refuse_fault("no_shift", self.unpredicted_write(run))
        refuse_fault("order", self.early_write(run, word) if order else None)
        return run

    # the three ways in which a write can be wrong

    def wrong_prediction(self, run: ObservedRun, word: ReferenceWord) -> str | None:
        """Return the first slot with right operands that the model, as it was called, predicts wrongly.

        Written slots count as well, because the content of a slot does not matter for its own prediction.
        """
        if not self.model.write_once:
            return None
        may_be_misled = self.model.facts["hops"] > 1  # it computes slots in between unless they are written
        for t, canvas in enumerate((run.canvases() or [])[:-1], start=1):
            symbols, probability = run.predictions(t)
            for slot in range(self.model.slots):
                reads, value = list(word.reads[slot]), int(word.values[slot])
                has_right_operands = value != UNJUDGED and np.array_equal(canvas[0][reads], word.values[reads])
                has_right_operands &= not (may_be_misled and self._wrong_beside(canvas[0], word, slot))
                wrong = symbols[0, slot] not in (UNJUDGED, value) or 0 < probability[0, slot] < CERTAIN
                if has_right_operands and wrong:
                    reason = f", although it reads {_slots(reads)}, which held the right values" if reads else ""
                    direction = ", on its right" if reads and max(reads) > slot else ""
                    return (
                        f"pass {t}: the model predicts {self.model.shown(symbols[0, slot])} with probability "
                        f"{probability[0, slot]:.2f} for slot {slot} instead of {self.model.shown(value)}"
                        f"{reason}{direction}"
                    )
        return None

    def _wrong_beside(self, canvas: np.ndarray, word: ReferenceWord, slot: int) -> bool:
        """Return whether a slot other than this one holds a wrong value."""
        wrong = (canvas != self.model.mask_id) & (canvas != word.values) & (word.values != UNJUDGED)
        wrong[slot] = False
        return bool(wrong.any())

    def unpredicted_write(self, run: ObservedRun) -> str | None:
        """Return the first write that differs from the model's prediction for its row."""
        for write in run.writes():
            symbols = run.predictions(write.step)[0][0]
            predicted = int(symbols[write.slot])
            if write.after in (predicted, run.mask_id) or predicted in (UNJUDGED, run.mask_id):
                continue
            beside = [s for s in (write.slot - 1, write.slot + 1) if 0 <= s < len(symbols)]
            source = next((s for s in beside if symbols[s] == write.after), None)
            hint = "" if source is None else f", which is the prediction for slot {source}"
            return (
                f"pass {write.step}: slot {write.slot} was written {self.model.shown(write.after)}{hint}; the model "
                f"predicts {self.model.shown(predicted)} for it"
            )
        return None

    def early_writes(self, run: ObservedRun, word: ReferenceWord) -> Iterator[tuple[SlotWrite, str]]:
        """Return the writes made while an operand was masked and the prediction uncertain, each with its fault."""
        canvases = run.canvases() or []
        for write in run.writes():
            value, before = int(word.values[write.slot]), canvases[write.step - 1][0]
            missing = [s for s in word.reads[write.slot] if before[s] == run.mask_id]
            probability = run.predictions(write.step)[1][0, write.slot]
            if value == UNJUDGED or write.after == run.mask_id or not missing or probability >= CERTAIN:
                continue
            wrong = "" if write.after == value else f" instead of {self.model.shown(value)}"
            fault = (
                f"pass {write.step}: slot {write.slot} was written {self.model.shown(write.after)}{wrong} with "
                f"probability {probability:.2f}, while {_slots(missing)}, which it reads, "
                f"{'were' if len(missing) > 1 else 'was'} masked"
            )
            yield write, fault

    def early_write(self, run: ObservedRun, word: ReferenceWord) -> str | None:
        """Describe the first early write."""
        return next((fault for _, fault in self.early_writes(run, word)), None)

    def wrong_slot(self, run: ObservedRun, word: ReferenceWord) -> str | None:
        """Describe the first slot of the first row whose final value is wrong."""
        final = run.slots[0]
        wrong = np.flatnonzero((word.values != UNJUDGED) & (final != word.values))
        if not len(wrong):
            return None
        slot = int(wrong[0])
        return (
            f"{len(wrong)} of {len(final)} slots are wrong, the first is slot {slot}: {self.model.shown(final[slot])} "
            f"instead of {self.model.shown(word.values[slot])}"
        )


def _slots(numbers: list[int]) -> str:
    listed = ", ".join(map(str, numbers[:3])) + (" …" if len(numbers) > 3 else "")
    return f"slot{'s' * (len(numbers) > 1)} {listed}"
