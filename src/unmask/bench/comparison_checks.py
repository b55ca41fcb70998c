"""Checks that compare two runs: an option, a batch, padding, a repetition, a number type, a cache, a returned step map.

The argument of `register_check` describes the bugs that a check finds. A check returns what it compared, or raises.

This file uses nothing of unmask besides the bench: `check.py` of a bench folder contains it unchanged.
"""

from typing import Any

import numpy as np

from unmask.bench.checks import random_slots, refuse_too_many_writes, register_check, require_write_once
from unmask.bench.observed_run import NotApplicable, ObservedRun
from unmask.bench.trial import CheckFailed, Trial, refuse_fault

PADDING = 12  # tokens on the left of a padded row
KNOWN_EFFECTS: dict[str, tuple[Any, Any, str | None]] = {
    "threshold": (0.9, 2.0, None),
    "minimal_topk": (1, 4, "undecided"),
    "remasking": ("low_confidence", "random", None),
}
"""Option → two values for which the passes are known to write different slots, and the variant of the logits for it."""
KNOWN_EQUAL: dict[str, tuple[Any, ...]] = {"editing_threshold": (None, 2.0)}
"""Option → values with which a run is known to be the same: no probability exceeds 2, so nothing is edited."""


@register_check("an option is not passed on: two values give the same run")
def options_have_effect(trial: Trial) -> str:
    require_write_once(trial)
    model = trial.model
    if model.least_passes == model.slots:
        raise NotApplicable("the slots of this model have a single order")
    compared = {name: row for name, row in KNOWN_EFFECTS.items() if trial.accepts(name)}
    compared |= {name: (*values, None) for name, values in trial.effects.items()}
    if not compared:
        raise NotApplicable(f"generate has none of the parameters {', '.join(KNOWN_EFFECTS)}")
    for name, (first, second, variant) in compared.items():
        runs = [
            trial.require_finished(trial.run(trial.words[0].ids, model.slots, variant=variant, **{name: value}))
            for value in (first, second)
        ]
        if same_run(*runs):
            if variant is None:
                trial.require_sound(runs[0], trial.words[0], order=True)
            refuse_too_many_writes(trial)
            raise CheckFailed(f"{name}={first!r} and {name}={second!r} write the same slots in the same passes")
    return f"with an effect: {', '.join(compared)}"


@register_check("values of an option that mean the same give different runs: one of them is replaced by a default")
def options_agree(trial: Trial) -> str:
    model, word = trial.model, trial.words[0]
    compared_options = {name: values for name, values in KNOWN_EQUAL.items() if trial.accepts(name)} | dict(trial.equal)
    if not compared_options:
        raise NotApplicable("no values are known to mean the same; generate has no parameter editing_threshold")
    runs: list[tuple[str, np.ndarray, dict[str, Any]]] = [("", word.ids, {})]
    if trial.accepts("uniform"):
        runs.append((" from random symbols", random_slots(trial, 0), {"uniform": True}))
    compared = 0
    for name, (first, *other_values) in compared_options.items():
        for other_value in other_values:
            for where, ids, extra in runs:
                for steps in (model.slots, model.least_passes, 1):
                    try:
                        pair = [trial.run(ids, steps, **extra, **{name: value}) for value in (first, other_value)]
                    except NotApplicable:
                        continue
                    if not same_run(*map(trial.require_finished, pair)):
                        _refuse_chance(trial)
                        for run in () if extra else pair:  # with random symbols, any symbol may be written
                            refuse_fault("no_shift", trial.unpredicted_write(run))
                        where_and_values = f"steps={steps}{where}: {name}={first!r} and {name}={other_value!r} differ"
                        raise CheckFailed(f"{where_and_values}: {runs_difference(trial, *pair)}")
                    compared += 1
    if not compared:
        raise NotApplicable("no run of this sampler can be compared")
    agreed = (f"{name} = {', '.join(map(repr, values))}" for name, values in compared_options.items())
    return f"the same runs with {'; '.join(agreed)}"


@register_check("rows of a batch influence each other: a quota or an end that is computed for all rows together")
def batch_rows(trial: Trial) -> str:
    compared, fault = _rows_beside(trial)
    if fault is not None:
        _refuse_chance(trial)
        raise CheckFailed(fault)
    return f"rows beside {' and '.join(compared)} are the same as alone"


def _rows_beside(trial: Trial) -> tuple[list[str], str | None]:
    """Return the neighbours that were compared, and the first row whose result differs from its result alone."""
    first, second = trial.words[:2]
    half_filled = second.ids.copy()
    surely_right = (second.earliest == 1) & (second.values >= 0) & trial.model.write_once
    half_filled[trial.model.prompt_length :][surely_right] = second.values[surely_right]
    compared = []
    for other, neighbour in ((second.ids, "another word"), (half_filled, "a canvas of which a part is given")):
        try:
            together = trial.require_finished(trial.run(np.stack([first.ids, other]), trial.model.slots))
        except NotApplicable:
            if not compared:
                raise
            break
        for row, ids in enumerate((first.ids, other)):
            alone = trial.require_finished(trial.run(ids, trial.model.slots))
            assert together.result is not None
            assert alone.result is not None
            differs = np.flatnonzero(together.result[row] != alone.result[0])
            if len(differs):
                column = int(differs[0])
                symbols = (trial.model.shown(result[column]) for result in (together.result[row], alone.result[0]))
                return compared, (
                    f"row {row} beside {neighbour}: slot {column - trial.model.prompt_length} is "
                    f"{', and '.join(symbols)} if the row is alone"
                )
        compared.append(neighbour)
    return compared, None


@register_check("padding is read or written: the attention mask is not passed on")
def padding(trial: Trial) -> str:
    trial.require_option("attention_mask")
    model = trial.model
    if not model.is_rotary:
        raise NotApplicable("this model has absolute positions, so that padding on the left shifts them")
    first, second = trial.words[:2]
    pads, length = [model.facts["pad_token_id"]] * PADDING, model.prompt_length + PADDING
    padded = [np.append(pads, word.ids) for word in (first, second)]
    hidden = np.append(np.zeros(PADDING, dtype=np.int64), np.ones_like(first.ids))
    longer = np.append(second.ids[1 : 1 + PADDING], second.ids)  # a prompt that needs no padding
    alone = [trial.require_finished(trial.run(word.ids, model.slots)).slots[0] for word in (first, second)]
    longer_alone = trial.run(longer, model.slots, attention_mask=np.ones_like([longer]), prompt_length=length)
    unpadded_row = (longer, np.ones_like(longer), trial.require_finished(longer_alone).slots[0])
    rows = [(ids, hidden, slots) for ids, slots in zip(padded, alone, strict=True)]
    for batch, lengths in ((rows, "equal"), ([rows[0], unpadded_row], "two"), ([unpadded_row, rows[0]], "two")):
        ids, visible, expected = (np.stack(column) for column in zip(*batch, strict=True))
        run = trial.require_finished(trial.run(ids, model.slots, attention_mask=visible, prompt_length=length))
        differs = np.argwhere(run.slots != expected)
        if len(differs):
            _refuse_chance(trial)
            refuse_fault("batch_rows", _rows_beside(trial)[1])
            row, slot = differs[0].tolist()
            raise CheckFailed(
                f"prompts of {lengths} lengths, row {row}, with {int((visible[row] == 0).sum())} padding tokens on the "
                f"left: slot {slot} is {model.shown(run.slots[row, slot])}, and {model.shown(expected[row, slot])} if "
                "the row is alone and not padded"
            )
    return "rows with padding on the left are the same as without, also beside a longer prompt"


@register_check("two equal runs differ: ties are broken by chance")
def deterministic(trial: Trial) -> str:
    fault = _chance(trial)
    if fault is not None:
        raise CheckFailed(fault)
    return "two equal runs are the same, also where all slots tie"


def _chance(trial: Trial) -> str | None:
    """Return where two runs with equal arguments differ, None if they do not."""
    for variant in (None, "undecided"):
        first, second = (
            trial.require_finished(trial.run(trial.words[0].ids, trial.half, variant=variant, attempt=attempt))
            for attempt in (1, 2)
        )
        if not same_run(first, second):
            where = " where all slots tie" if variant else ""
            return f"two runs with the same arguments differ{where}: {runs_difference(trial, first, second)}"
    return None


def _refuse_chance(trial: Trial) -> None:
    """Raise `NotApplicable` if the sampler draws at random, because `deterministic` reports this."""
    try:
        fault = _chance(trial)
    except (CheckFailed, NotApplicable):
        return
    refuse_fault("deterministic", fault)


@register_check("the result depends on the number type of the model, although its decisions do not")
def dtype(trial: Trial) -> str:
    word, compared = trial.words[0], []
    exact = trial.require_finished(trial.run(word.ids, trial.model.slots))
    fault = trial.wrong_prediction(exact, word)
    if fault is not None:
        raise NotApplicable(f"{fault} (see bidirectional)")
    for name in ("bfloat16", "float16"):
        run = trial.require_finished(trial.run(word.ids, trial.model.slots, dtype=name))
        if trial.wrong_prediction(run, word) is not None:
            continue  # the model's own decisions change in this number type
        if not same_run(exact, run):
            _refuse_chance(trial)
            raise CheckFailed(f"{name}: {runs_difference(trial, exact, run)}")
        compared.append(name)
    if not compared:
        raise NotApplicable("the model itself decides otherwise in bfloat16 and float16")
    return f"{' and '.join(compared)} give the run of float32"


@register_check("a cache changes the result: keys, values or logits are stale")
def cache_changes_nothing(trial: Trial) -> str:
    trial.require_option("use_cache")
    widths = cache_widths(trial)
    for width in widths:
        block_option: dict[str, Any] = {} if width is None else {"block_length": width}
        for number, word in enumerate(trial.words):
            plain, cached = (
                trial.require_finished(trial.run(word.ids, trial.model.slots, use_cache=use, **block_option))
                for use in (False, True)
            )
            differs = np.flatnonzero(plain.slots[0] != cached.slots[0])
            if len(differs):
                _refuse_chance(trial)
                slot = int(differs[0])
                where = "" if width is None else f", block_length={width}"
                raise CheckFailed(
                    f"word {number}{where}: slot {slot} is {trial.model.shown(cached.slots[0, slot])} with "
                    f"use_cache=True, and {trial.model.shown(plain.slots[0, slot])} without"
                )
    return f"{len(trial.words)} words have the same slots with and without use_cache"


def cache_widths(trial: Trial) -> list[int | None]:
    """Return block lengths to try: the whole canvas, and for models of several hops also its divisors."""
    if not trial.accepts("block_length"):
        return [None]
    slots = trial.model.slots
    divisors = [width for width in range(3, slots) if slots % width == 0] if trial.model.facts["hops"] > 1 else []
    return [slots, *reversed(divisors)]


@register_check("the step map or the histories that are returned do not agree with the passes")
def step_map_is_true(trial: Trial) -> str:
    run = trial.require_finished(trial.run(trial.words[0].ids, trial.model.slots))
    if run.returned_step_map is None:
        raise NotApplicable("generate returns neither a step map [batch, slots] nor histories")
    trial.require_followed(run)
    refuse_fault("no_shift", trial.unpredicted_write(run))
    observed, returned = run.step_map(), run.returned_step_map
    assert observed is not None
    if returned.shape != observed.shape or not np.array_equal(ranked(returned), ranked(observed)):
        raise CheckFailed(f"returned {returned[0].tolist()}, observed {observed[0].tolist()}")
    return "the step map is that of the passes"


def ranked(steps: np.ndarray) -> np.ndarray:
    """Replace passes by their ranks, so that they may be counted from 0 or 1."""
    return np.unique(steps, return_inverse=True)[1].reshape(steps.shape)


def same_run(first: ObservedRun, second: ObservedRun) -> bool:
    """Return whether the results are equal and, if known, the pass that wrote each slot."""
    if not np.array_equal(first.slots, second.slots):
        return False
    when = first.step_map(), second.step_map()
    return when[0] is None or when[1] is None or np.array_equal(when[0], when[1])


def runs_difference(trial: Trial, first: ObservedRun, second: ObservedRun) -> str:
    """Describe where two runs first differ."""
    differs = np.flatnonzero(first.slots[0] != second.slots[0])
    if len(differs):
        symbols = (trial.model.shown(run.slots[0, differs[0]]) for run in (first, second))
        return f"slot {differs[0]} holds {' and '.join(symbols)}"
    first_passes, second_passes = first.step_map(), second.step_map()
    assert first_passes is not None
    assert second_passes is not None
    slot = int(np.flatnonzero(first_passes[0] != second_passes[0])[0])
    return f"slot {slot} was written in pass {first_passes[0, slot]} and in pass {second_passes[0, slot]}"
