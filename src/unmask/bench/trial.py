"""Sampler × reference model → runs, and the three ways in which a write can be wrong.

A run is attributed to one cause, so that one fault fails one check and not ten:

    the model's prediction is wrong      although all operands were right: the model did not see the canvas
    the write is not the prediction      of its row: shifted logits, a changed result
    the write is early                   an operand was still masked, and the prediction was not certain

This file uses nothing of unmask besides the bench: `check.py` of a bench folder contains it as it is.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmask.bench.loaded_model import UNJUDGED, BenchError, LoadedModel, ReferenceWord
from unmask.bench.observed_run import CERTAIN, NotApplicable, ObservedRun, SlotWrite, observe

WORDS = 4  # of a model that are tried by each check
SECONDS_AFTER = 2.0  # limit of a run after another run of the same sampler and model reached its time limit
PASSES_PER_SLOT = 8  # a run with more passes than this, and 64, counts as endless


class CheckFailed(Exception):
    """A sampler does what it must not do; the message says where."""


def refuse(check: str, fault: str | None) -> None:
    """Leave a fault, if there is one, to the check that is about it."""
    if fault is not None:
        raise NotApplicable(f"{fault} (see {check})")


FIXED = ("model", "tokenizer", "input_ids", "steps", "mask_token_id")
CALL = "generate(model, tokenizer, input_ids, *, steps, mask_token_id, **options)"


def check_call(generate: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse a function that cannot be called as the bench calls it, before any check runs."""
    for name in options:
        if name in FIXED:
            raise BenchError(f"the bench itself passes {name} to the sampler; leave out this option")
    try:
        signature = inspect.signature(generate)
    except (TypeError, ValueError):
        return  # a built-in function: the first run tells
    more = {"prompt_length": 0} if "prompt_length" in signature.parameters else {}
    try:
        signature.bind(None, None, None, **{"steps": 1, "mask_token_id": 0, **more, **options})
    except TypeError as error:
        raise BenchError(f"the sampler cannot be called as {CALL}: {error}; write a function that can") from None


def check_values(
    generate: Callable[..., Any],
    options: Mapping[str, Any],
    effects: Mapping[str, Sequence[Any]],
    equal: Mapping[str, Sequence[Any]],
) -> None:
    """Refuse options that are to be compared and cannot be: unknown ones, and ones with too few values."""
    for name, values in (*effects.items(), *equal.items()):
        if isinstance(values, str) or len(values) < 2 or (name in effects and len(values) > 2):
            raise BenchError(f"{name} has the values {values!r}; give two values to compare")
        check_call(generate, {**options, name: values[0]})


def fingerprint(module: Any) -> list[tuple[Any, float, float]]:
    """The number type, the sum and the norm of every parameter."""
    parameters = [(parameter.dtype, parameter.detach().float()) for parameter in module.parameters()]
    return [(dtype, float(values.sum()), float(values.norm())) for dtype, values in parameters]


def flattened(model: LoadedModel) -> Callable[[Any], Any]:
    """Logits with the same order of symbols, of which none is much likelier than another; special ones never are."""
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
    """Logits in which the mask token is the likeliest symbol of every row."""

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
    """One sampler on one model; a run with the same arguments is made once."""

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
        """Half of the slots per pass, but never fewer passes than the model needs."""
        return max(self.model.least_passes, -(-self.model.slots // 2))

    def accepts(self, option: str) -> bool:
        """Whether generate has a parameter of this name."""
        try:
            parameters = inspect.signature(self.generate).parameters
        except (TypeError, ValueError):
            return False
        return option in parameters

    def needs(self, option: str) -> None:
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
        import torch

        module, given = self.model.module(dtype).eval(), torch.from_numpy(ids.copy())
        weights = fingerprint(module)
        keywords: dict[str, Any] = {**self.options, **options}
        if attention_mask is not None:
            keywords["attention_mask"] = torch.from_numpy(attention_mask)
        if self.accepts("prompt_length"):
            keywords["prompt_length"] = prompt_length
        run = ObservedRun(ids, prompt_length, self.model.mask_id, self.model.facts["shifted"])
        observe(
            module,
            lambda: self.generate(
                module, self.model.tokenizer, given, steps=steps, mask_token_id=self.model.mask_id, **keywords
            ),
            run,
            most_passes=64 + PASSES_PER_SLOT * max(self.model.slots, steps),
            seconds=min(self.seconds, SECONDS_AFTER) if self._timed_out else self.seconds,
            transform=None if variant is None else VARIANTS[variant](self.model),
        )
        self._timed_out = self._timed_out or (run.stopped is not None and "seconds" in run.stopped)
        run.input_changed = not np.array_equal(given.numpy(), ids)
        if fingerprint(module) != weights:
            self.model.forget(dtype)
            run.error = run.error or "generate changed the weights of the model; later runs get a fresh copy"
        return run

    # what a check may rely on

    def finished(self, run: ObservedRun) -> ObservedRun:
        """Refuse a run that raised; one that did not end is the concern of `terminates`."""
        if run.error is not None:
            raise CheckFailed(run.error)
        if run.stopped is not None:
            raise NotApplicable(f"a run did not end: {run.stopped} (see terminates)")
        return run

    def followed(self, run: ObservedRun) -> ObservedRun:
        """Refuse a run of which it is not known what was written when."""
        self.finished(run)
        if not run.calls:
            raise NotApplicable("the model was never called through its forward method, so no pass was observed")
        if run.canvases() is None:
            raise NotApplicable("some passes showed only a part of the canvas, so it is unknown what was written when")
        return run

    def filled(self, run: ObservedRun) -> ObservedRun:
        """Refuse a run that left masks."""
        left = int((self.finished(run).slots == self.model.mask_id).sum())
        if left:
            raise NotApplicable(f"{left} slots are still masked (see no_mask_left)")
        return run

    def sound(self, run: ObservedRun, word: ReferenceWord, *, order: bool = False) -> ObservedRun:
        """Refuse a run in which another check fails: wrong predictions, writes that were not predicted, early ones."""
        self.followed(run)
        refuse("bidirectional", self.wrong_prediction(run, word))
        refuse("no_shift", self.unpredicted_write(run))
        refuse("order", self.early_write(run, word) if order else None)
        return run

    # the three ways

    def wrong_prediction(self, run: ObservedRun, word: ReferenceWord) -> str | None:
        """The first slot with right operands that the model, as it was called, does not predict rightly.

        Also slots that are written: what a slot of these models holds does not matter for its own prediction.
        """
        if not self.model.write_once:
            return None
        misled = self.model.facts["hops"] > 1  # it reads a slot in between if that is written, and computes it if not
        for t, canvas in enumerate((run.canvases() or [])[:-1], start=1):
            symbols, sure = run.predictions(t)
            for slot in range(self.model.slots):
                reads, value = list(word.reads[slot]), int(word.values[slot])
                ready = value != UNJUDGED and np.array_equal(canvas[0][reads], word.values[reads])
                ready &= not (misled and self._wrong_beside(canvas[0], word, slot))
                wrong = symbols[0, slot] not in (UNJUDGED, value) or 0 < sure[0, slot] < CERTAIN
                if ready and wrong:
                    seen = f"although it reads {_slots(reads)}, which held the right values" if reads else ""
                    side = ", on its right" if reads and max(reads) > slot else ""
                    return (
                        f"pass {t}: the model predicts {self.model.shown(symbols[0, slot])} with probability "
                        f"{sure[0, slot]:.2f} for slot {slot} instead of {self.model.shown(value)}, {seen}{side}"
                    ).rstrip(", ")
        return None

    def _wrong_beside(self, canvas: np.ndarray, word: ReferenceWord, slot: int) -> bool:
        """Whether another slot than this one is written with a wrong value."""
        wrong = (canvas != self.model.mask_id) & (canvas != word.values) & (word.values != UNJUDGED)
        wrong[slot] = False
        return bool(wrong.any())

    def unpredicted_write(self, run: ObservedRun) -> str | None:
        """The first write that is not what the model predicts for its row."""
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
        """The writes of slots of which an operand was masked and the prediction not certain, and what is wrong."""
        canvases = run.canvases() or []
        for write in run.writes():
            value, before = int(word.values[write.slot]), canvases[write.step - 1][0]
            missing = [s for s in word.reads[write.slot] if before[s] == run.mask_id]
            sure = run.predictions(write.step)[1][0, write.slot]
            if value == UNJUDGED or write.after == run.mask_id or not missing or sure >= CERTAIN:
                continue
            wrong = "" if write.after == value else f" instead of {self.model.shown(value)}"
            said = (
                f"pass {write.step}: slot {write.slot} was written {self.model.shown(write.after)}{wrong} with "
                f"probability {sure:.2f}, while {_slots(missing)}, which it reads, "
                f"{'were' if len(missing) > 1 else 'was'} masked"
            )
            yield write, said

    def early_write(self, run: ObservedRun, word: ReferenceWord) -> str | None:
        """What is wrong with the first of them."""
        return next((said for _, said in self.early_writes(run, word)), None)

    def wrong_slot(self, run: ObservedRun, word: ReferenceWord, row: int = 0) -> str | None:
        """The first slot whose final value is wrong."""
        held = run.slots[row]
        wrong = np.flatnonzero((word.values != UNJUDGED) & (held != word.values))
        if not len(wrong):
            return None
        slot = int(wrong[0])
        return (
            f"{len(wrong)} of {len(held)} slots are wrong, the first is slot {slot}: {self.model.shown(held[slot])} "
            f"instead of {self.model.shown(word.values[slot])}"
        )


def _slots(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:3])) + (" …" if len(numbers) > 3 else "")
    return f"slot{'s' * (len(numbers) > 1)} {shown}"
