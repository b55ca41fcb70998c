"""The checks of a sampler, each for one class of bugs: Trial → outcome.

A check returns what it compared, or raises `CheckFailed` with the first failure, or `NotApplicable` with a reason. It
never passes without a comparison. Checks that compare two runs with each other are in `comparison_checks`.

This file uses nothing of unmask besides the bench: `check.py` of a bench folder contains it unchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from unmask.bench.loaded_model import UNJUDGED, ReferenceWord
from unmask.bench.observed_run import CERTAIN, NotApplicable, ObservedRun
from unmask.bench.trial import CheckFailed, Trial, refuse_fault


@dataclass(frozen=True)
class SamplerCheck:
    """A check: its name, one line about the bugs that it finds, and its function."""

    name: str
    bugs: str
    function: Callable[[Trial], str]


CHECKS: list[SamplerCheck] = []


def register_check(bugs: str) -> Callable[[Callable[[Trial], str]], Callable[[Trial], str]]:
    """Register a function under its name."""

    def register(function: Callable[[Trial], str]) -> Callable[[Trial], str]:
        CHECKS.append(SamplerCheck(getattr(function, "__name__", ""), bugs, function))
        return function

    return register


def require_write_once(trial: Trial) -> None:
    """Refuse models whose slots are computed in place."""
    if not trial.model.write_once:
        raise NotApplicable("the slots of this model are edited in place")


@register_check("the loop never ends where no slot is sure, or where the budget is small")
def terminates(trial: Trial) -> str:
    model, runs = trial.model, []
    for steps, variant in ((model.slots, None), (model.slots, "undecided"), (trial.half, "undecided")):
        run = trial.run(trial.words[0].ids, steps, variant=variant)
        if run.error is not None:
            raise CheckFailed(run.error)
        if run.stopped is not None:
            where = " although no slot is surer than another" if variant else ""
            raise CheckFailed(f"the run with steps={steps}{where} did not end: {run.stopped}")
        runs.append(run)
    return f"{len(runs)} runs ended, the longest after {max(run.passes for run in runs)} passes"


@register_check("masks are left: rounded quotas, a last block that is forgotten, a loop that ends one step early")
def no_mask_left(trial: Trial) -> str:
    model, word = trial.model, trial.words[0]
    budgets = sorted({model.slots, trial.half, model.least_passes, 1}, reverse=True)
    runs = [(f"steps={steps}", trial.require_finished(trial.run(word.ids, steps))) for steps in budgets]
    width = next(width for width in range(3, 3 + model.slots) if model.slots % width)
    if trial.accepts("block_length"):
        try:
            uneven = trial.run(word.ids, model.slots, block_length=width)
        except NotApplicable:
            uneven = None
        if uneven is not None and uneven.result is not None:  # it may refuse a width that does not divide the canvas
            runs.append((f"steps={model.slots}, block_length={width}", uneven))
    for settings, run in runs:
        masked = np.flatnonzero(run.slots[0] == model.mask_id)
        if len(masked):
            raise CheckFailed(
                f"with {settings}, {len(masked)} of {model.slots} slots are still masked after {run.passes} passes, "
                f"the first is slot {masked[0]}"
            )
    uneven_note = f", nor in blocks of {width}" if len(runs) > len(budgets) else ""
    return f"no mask left with steps = {', '.join(map(str, budgets))}{uneven_note}"


@register_check(
    "more passes than steps: steps have no effect, or the budget of a block is rounded up or counted wrongly"
)
def within_budget(trial: Trial) -> str:
    most = []
    for steps in (trial.model.slots, trial.half):
        tried = [(word, None) for word in trial.words] + [(trial.words[0], "undecided")]
        for word, variant in tried:
            run = trial.require_finished(trial.run(word.ids, steps, variant=variant))
            if run.passes == 0:
                raise NotApplicable("the model was never called through its forward method")
            if run.passes > steps + _idle(run):  # idle passes are left to `no_idle_pass`
                where = " where no slot is surer than another" if variant else ""
                raise CheckFailed(f"{run.passes} passes with steps={steps}{where}")
            most.append(run.passes)
    return f"at most {max(most)} passes with steps={trial.model.slots}"


@register_check(
    "a pass writes more slots than its share: a quota of the block instead of its masks, steps of a block lost"
)
def follows_schedule(trial: Trial) -> str:
    fault = _too_many_writes(trial)
    if fault is not None:
        raise CheckFailed(fault)
    return f"one slot per pass with steps={trial.model.slots} where no slot is surer than another"


def _too_many_writes(trial: Trial) -> str | None:
    """Return the first pass that writes more slots than its share although no slot is surer than another."""
    model = trial.model
    for steps in (model.slots, trial.half):
        run = trial.require_filled(trial.require_followed(trial.run(trial.words[0].ids, steps, variant="undecided")))
        share, counts = -(-model.slots // steps), _per_pass(run)
        if max(counts) > share:
            refuse_fault("no_shift", trial.unpredicted_write(run))
            t = int(np.argmax(np.array(counts) > share))
            return (
                f"steps={steps} for {model.slots} masks is {share} per pass, but pass {t + 1} wrote {counts[t]} "
                f"although no slot was surer than another; slots per pass: {', '.join(map(str, counts))}"
            )
    return None


def refuse_too_many_writes(trial: Trial) -> None:
    """Stop if the sampler writes too many slots at once: `follows_schedule` reports this."""
    try:
        fault = _too_many_writes(trial)
    except (CheckFailed, NotApplicable):
        return
    refuse_fault("follows_schedule", fault)


@register_check("a pass whose result is thrown away: it changes no slot")
def no_idle_pass(trial: Trial) -> str:
    require_write_once(trial)
    idle_with_cache = _passes_of_cache(trial)
    if idle_with_cache is not None:
        raise CheckFailed(idle_with_cache)
    # the last pass of editing is idle
    without_editing: dict[str, Any] = {"editing_threshold": None} if trial.accepts("editing_threshold") else {}
    for word in trial.words:
        run = trial.require_followed(trial.run(word.ids, trial.model.slots, **without_editing))
        counts = _per_pass(run)
        if 0 in counts:
            raise CheckFailed(
                f"pass {counts.index(0) + 1} of {run.passes} changes nothing; slots per pass: "
                f"{', '.join(map(str, counts))}"
            )
    return f"every pass of {len(trial.words)} runs writes a slot"


def _passes_of_cache(trial: Trial) -> str | None:
    """Return where a cache costs passes. Only passes are counted, because such a run may show a part of the canvas."""
    model = trial.model
    if not trial.accepts("use_cache") or model.facts["hops"] > 1:
        return None  # with several hops, a cache may have changed predictions, and so the number of passes
    width = block_width(model.slots) if trial.accepts("block_length") else None
    settings: list[dict[str, Any]] = [{}] if width is None else [{}, {"block_length": width}]
    for more in settings:
        plain, cached = (trial.run(trial.words[0].ids, model.slots, use_cache=use, **more) for use in (False, True))
        if plain.result is None or cached.result is None or not np.array_equal(plain.result, cached.result):
            continue  # left to `cache_changes_nothing`
        if cached.passes > plain.passes:
            where = "".join(f", {name}={value}" for name, value in more.items())
            return f"use_cache=True{where}: {cached.passes} passes instead of {plain.passes}, and the same slots"
    return None


@register_check("sure slots are left for a later pass: the number of passes is not the least")
def least_passes(trial: Trial) -> str:
    require_write_once(trial)
    model = trial.model
    for word in trial.words:
        run = trial.require_filled(trial.run(word.ids, model.slots))
        trial.require_sound(run, word, order=True)
        if run.passes >= model.slots > word.least_passes:
            raise NotApplicable("the sampler takes as many passes as it is given steps")
        counts = [count for count in _per_pass(run) if count]
        if len(counts) > word.least_passes:
            raise CheckFailed(
                f"{len(counts)} passes that write instead of {word.least_passes}; slots per pass: "
                f"{', '.join(map(str, counts))}"
            )
    return f"the least number of passes, {model.least_passes}, is reached"


@register_check("a slot is written before the slots that it is computed from")
def order(trial: Trial) -> str:
    require_write_once(trial)
    for number, word in enumerate(trial.words):
        run = trial.require_followed(trial.run(word.ids, trial.model.slots))
        trial.require_sound(run, word)
        for write, fault in trial.early_writes(run, word):
            if not _sure_ones_left(run, write.step):
                refuse_too_many_writes(trial)
            raise CheckFailed(f"word {number}, {fault}")
        written = (run.slots[0] != trial.model.mask_id) & (word.values != UNJUDGED)
        if (run.slots[0][written] != word.values[written]).any():
            raise CheckFailed(f"word {number}: {trial.wrong_slot(run, word)}")
    return f"{len(trial.words)} words, every slot after its operands and with its right value"


def _sure_ones_left(run: ObservedRun, step: int) -> bool:
    """Return whether a pass left slots masked whose prediction was certain."""
    after = (run.canvases() or [])[step]
    return bool(((after[0] == run.mask_id) & (run.predictions(step)[1][0] >= CERTAIN)).any())


@register_check("logits are read from the row beside the slot, or what is returned is not what was predicted")
def no_shift(trial: Trial) -> str:
    for number, word in enumerate(trial.words):
        run = trial.require_followed(trial.run(word.ids, trial.model.slots))
        fault = trial.unpredicted_write(run)
        if fault is not None:
            raise CheckFailed(f"word {number}, {fault}")
    return "every slot holds the prediction of its own row"


@register_check(
    "the model does not see what is on the right of a slot: a causal mask, a wrong attention mask, a wrong kernel"
)
def bidirectional(trial: Trial) -> str:
    require_write_once(trial)
    compared = 0
    for number, word in enumerate(trial.words):
        run = trial.require_followed(trial.run(word.ids, trial.model.slots))
        fault = trial.wrong_prediction(run, word)
        if fault is not None:
            raise CheckFailed(f"word {number}, {fault}")
        compared += sum(len(reads) > 0 and max(reads) > slot for slot, reads in enumerate(word.reads))
    if not compared:
        raise NotApplicable("every slot of this model reads to its left")
    return f"{compared} slots that read to their right are predicted rightly"


@register_check("the caller's input_ids are changed, or the prompt is different in the result")
def prompt_kept(trial: Trial) -> str:
    word, length = trial.words[0], trial.model.prompt_length
    run = trial.require_finished(trial.run(word.ids, trial.model.slots))
    assert run.result is not None
    if run.input_changed:
        raise CheckFailed("the tensor input_ids was changed in place; the caller still needs it")
    changed = np.flatnonzero(run.result[0, :length] != word.ids[:length])
    if len(changed):
        raise CheckFailed(f"position {changed[0]} of the prompt is different in the result")
    return f"{length} tokens of the prompt are unchanged"


@register_check("a mask token in the prompt is taken for a slot and filled")
def mask_in_prompt(trial: Trial) -> str:
    trial.require_option("prompt_length")
    ids, position = trial.words[0].ids.copy(), trial.model.prompt_length - 2
    ids[position] = trial.model.mask_id
    run = trial.require_finished(trial.run(ids, trial.model.slots))
    assert run.result is not None
    if run.result[0, position] != trial.model.mask_id:
        raise CheckFailed(
            f"position {position} of the prompt holds the mask token, and was filled with "
            f"{trial.model.shown(run.result[0, position])}"
        )
    return "a mask token in the prompt stays"


@register_check("the mask token is sampled: it is suppressed too late or not at all")
def mask_never_written(trial: Trial) -> str:
    model = trial.model
    run = trial.run(trial.words[0].ids, model.slots, variant="mask favoured")
    if run.error is not None:
        raise CheckFailed(run.error)
    where = "where the mask token has the largest logit"
    if run.stopped is not None:
        raise CheckFailed(f"{where}, the run does not end: {run.stopped}")
    left = int((run.slots == model.mask_id).sum())
    if left:
        trial.require_filled(trial.run(trial.words[0].ids, model.slots))
        raise CheckFailed(f"{where}, {left} of {model.slots} slots hold it in the end")
    return "the mask token is not written although it has the largest logit"


@register_check("slots are written outside the current block, or block_length has no effect")
def blocks(trial: Trial) -> str:
    trial.require_option("block_length")
    model, width = trial.model, block_width(trial.model.slots)
    if width is None:
        raise NotApplicable(f"{model.slots} slots cannot be divided into equal blocks")
    run = trial.require_filled(trial.require_followed(trial.run(trial.words[0].ids, model.slots, block_length=width)))
    canvases = run.canvases() or []
    for write in run.writes():
        masked = np.flatnonzero(canvases[write.step - 1][0] == model.mask_id)
        if write.before == model.mask_id and write.slot - masked[0] >= width:
            raise CheckFailed(
                f"block_length={width}, pass {write.step}: slot {write.slot} was written while slot {masked[0]}, "
                f"{write.slot - masked[0]} to its left, was masked"
            )
    if model.write_once and model.facts["slot_order"] == "heap":
        word = trial.words[0]
        trial.require_sound(run, word, order=True)
        wrong = trial.wrong_slot(run, word)
        if wrong is not None:
            raise CheckFailed(f"block_length={width}: {wrong}")
    return f"blocks of {width} slots are filled from left to right"


def block_width(slots: int) -> int | None:
    """Return the least divisor from 3 on, a block width that every sampler accepts."""
    return next((width for width in range(3, slots) if slots % width == 0), None)


@register_check("editing never runs, or stops before the last edit")
def editing(trial: Trial) -> str:
    """Commit everything in one pass, so that only edits can make the slots right."""
    trial.require_option("editing_threshold")
    model, edits = trial.model, 0
    post_steps: dict[str, Any] = {"max_post_steps": 4 * model.slots} if trial.accepts("max_post_steps") else {}
    settings: list[tuple[int, dict[str, Any]]] = [(1 if model.write_once else model.slots, post_steps)]
    if trial.accepts("threshold"):
        settings.append((model.slots, {**post_steps, "threshold": 0.0}))
    for steps, options in settings:
        for number, word in enumerate(trial.words):
            _refuse_unsound(trial, word)
            run = trial.require_filled(
                trial.require_followed(trial.run(word.ids, steps, editing_threshold=0.5, **options))
            )
            trial.require_sound(run, word)
            wrong, edited = trial.wrong_slot(run, word), sum(w.before != model.mask_id for w in run.writes())
            if wrong is not None:
                threshold = f", threshold={options['threshold']}" if "threshold" in options else ""
                raise CheckFailed(
                    f"word {number}, steps={steps}, editing_threshold=0.5{threshold}: {wrong}; "
                    f"{edited} edits in {run.passes} passes"
                )
            edits += edited
    if not edits:
        raise NotApplicable("no slot was written before it was sure, so that there was nothing to edit")
    return f"{len(trial.words)} words are right after {edits} edits"


@register_check("random symbols are not denoised: a pass is missing, or what was right becomes random again")
def uniform_noise(trial: Trial) -> str:
    """Start from a canvas without masks: every slot must be right after the least number of passes, and stay right."""
    trial.require_option("uniform")
    trial.require_option("prompt_length")
    require_write_once(trial)
    model = trial.model
    if model.facts["hops"] > 1 or any((word.values == UNJUDGED).any() for word in trial.words):
        raise NotApplicable("slots of this model read other slots as masks, which random symbols are not")
    more: dict[str, Any] = {"editing_threshold": 0.5} if trial.accepts("editing_threshold") else {}
    for number, word in enumerate(trial.words):
        _refuse_unsound(trial, word)
        ids = random_slots(trial, number)
        for steps in (word.least_passes, 2 * word.least_passes):
            run = trial.require_finished(trial.run(ids, steps, uniform=True, **more))
            wrong = trial.wrong_slot(run, word)
            if wrong is not None:
                raise CheckFailed(
                    f"word {number}, steps={steps}: {wrong} after {run.passes} passes; {word.least_passes} passes that "
                    "write every slot anew make every slot right"
                )
    return f"{len(trial.words)} words are right after {model.least_passes} passes from random symbols"


def random_slots(trial: Trial, number: int) -> np.ndarray:
    """Return the canvas of a word with random symbols instead of masks."""
    model, ids = trial.model, trial.words[number].ids.copy()
    symbols = np.setdiff1d([word.values for word in model.words], [UNJUDGED])
    ids[model.prompt_length :] = np.random.default_rng(number).choice(symbols, model.slots)
    return ids


def _refuse_unsound(trial: Trial, word: ReferenceWord) -> None:
    """Refuse a sampler whose runs from masks show a fault that another check reports."""
    try:
        run = trial.run(word.ids, trial.model.slots)
    except NotApplicable:
        return  # such a sampler has no runs from masks
    if run.result is not None:
        trial.require_sound(run, word)


def _per_pass(run: ObservedRun) -> list[int]:
    """Return the number of slots that each pass changes."""
    canvases = run.canvases() or []
    return [int((a != b).sum()) for a, b in pairwise(canvases)]


def _idle(run: ObservedRun) -> int:
    return _per_pass(run).count(0)
