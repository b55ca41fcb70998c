"""The effect of softmax and the value map on the scores, for every number of rows and every value.

    Z = SUM_j e_j,        weight_j = [e_j / Z],        fetched = SUM_j [weight_j · v_j]

Both sums run over the rows, so each is a fold. The exponentials of LOOKUP are those of the scores that EQ ends with,
taken from its own closure; HIDE and FOCUS leave the exponential of a visible row as it is, and 0 elsewhere.
What is read off the code: that the value map is 1 · source_i → target_i (checked on the weights of several widths), and
that a head computes its columns independently of each other (the equations of `engines.reference`).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.numerics.arithmetic import Precision, add, divide, exp, exp_table, multiply
from unmask.paper.lemmas.gadget_programs import Emit, HeadDesign, detect, eq, hide, latest_of, score
from unmask.paper.lemmas.lemma import (
    WIDTHS,
    Column,
    Contents,
    LemmaOutcome,
    NotRepeated,
    Replayed,
    Unit,
    columns_of,
    copies_exactly,
    layer_of,
    offset_of,
    units_of,
    writers,
)
from unmask.paper.lemmas.score_lemmas import DIFFERS, ScoreQuestion, codes
from unmask.programs.assembly import assemble
from unmask.verification.lengths.obligations import Closure, reachable_closure

MATCH, OTHER = "match", "other"
SENTINEL, ROW = "sentinel", "row"
EQ = ScoreQuestion(codes((-1, 0, 1)), DIFFERS, exactly=True)
"""Score 0 if the codes are equal, else exactly -B; a row without a code is equal to nothing."""


def lookup(precision: Precision, *, matches: int = 1) -> LemmaOutcome:
    """Rows in any number, of which `matches` have the code that is asked for: fetched is their value.

    EQ first, for the exponentials; then two folds: Z over them, the values with the weights that Z leads to.
    """
    design = HeadDesign(block=eq)
    _require_copies(design, precision)
    scored = EQ.decide(design, precision)
    if not scored.holds:
        return scored
    match, other = exp(np.array([0, -precision.bound]), precision).tolist()
    sums = _sums({MATCH: match, OTHER: other}, matches, precision)
    states = scored.states + len(sums)
    for Z in sorted({Z for Z, found in sums if found == matches}):
        weights = {kind: int(divide(e, Z, precision)) for kind, e in ((MATCH, match), (OTHER, other))}
        closure = _fetched(weights, matches, precision)
        states += closure.states
        if closure.witness is not None:
            rows = closure.witness.letters
            value, got = closure.witness.flaw
            held = ", ".join(f"{kind} {precision.meaning(v)}" for kind, v in rows)
            replayed = _replay_lookup(design, rows, value, precision)
            return LemmaOutcome(states, states, f"{held}: {precision.meaning(got)} arrives", replayed)
    return LemmaOutcome(states, states)


def _sums(exps: dict[str, int], matches: int, precision: Precision) -> set[tuple[int, int]]:
    """Every (Z, matching rows so far) that rows in any number lead to."""
    reached: set[tuple[int, int]] = set()

    def moves(state: tuple[int, int]) -> Iterable[tuple[str, tuple[int, int]]]:
        for kind, e in exps.items():
            found = state[1] + (kind == MATCH)
            if found <= matches:
                yield kind, (int(add(state[0], e, precision)), found)

    reachable_closure([(0, 0)], moves, reached.add)
    return reached


def _fetched(weights: dict[str, int], matches: int, precision: Precision) -> Closure:
    """The sum over rows, all of whose matches hold one value; state: (sum, matches so far, their value)."""
    every = np.array(precision.numbers())
    ignored = dict(_distinct(multiply(weights[OTHER], every, precision), every))
    taken = multiply(weights[MATCH], every, precision)

    def moves(state):
        partial, found, value = state
        for term, v in ignored.items():
            yield (OTHER, v), (int(add(partial, term, precision)), found, value)
        if found < matches:
            values = every if value is None else np.array([value])
            after = add(partial, taken[values + precision.bound], precision)
            for v, sum_so_far in zip(values.tolist(), after.tolist(), strict=True):
                yield (MATCH, v), (sum_so_far, found + 1, v)

    def flaw(state):
        partial, found, value = state
        return (value, partial) if found == matches and partial != value else None

    return reachable_closure([(0, 0, None)], moves, flaw)


def _distinct(terms: np.ndarray, values: np.ndarray) -> Iterable[tuple[int, int]]:
    """(term, one of the values that lead to it) for every term."""
    different, first = np.unique(terms, return_index=True)
    return zip(different.tolist(), values[first].tolist(), strict=True)


def _replay_lookup(design: HeadDesign, rows, value: int, precision: Precision) -> Replayed:
    """One bit of code: the matching rows, and every row that asks, hold 1, the others -1."""
    program, _ = design.emit(1, rows=len(rows), values=1)
    residual = np.zeros((1, len(rows), program.width), dtype=np.int64)
    for name in ("one", "asked"):
        residual[..., program.columns(name)] = precision.one
    for i, (kind, held) in enumerate(rows):
        residual[0, i, program.columns("code")] = precision.one if kind == MATCH else -precision.one
        residual[0, i, program.columns("value")] = held
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    got = int(after[0, 0, program.columns("fetched")][0])
    return Replayed(f"the engine fetches {precision.meaning(got)}, not {precision.meaning(value)}", got != value)


def _require_copies(design: HeadDesign, precision: Precision) -> None:
    for values in WIDTHS:
        program, _ = design.emit(2, values=values)
        if not copies_exactly(program, precision, "value", "fetched"):
            raise NotRepeated(f"the value map of {values} columns is not the identity")


def visible_rows_alone(precision: Precision) -> LemmaOutcome:
    """Softmax over all rows, of which the hidden ones have exponential 0, is softmax over the visible ones.

    Pairs of folds, with and without the hidden rows: the two Z are always equal, and so, with equal weights, are the
    two sums of values. A visible row has any exponential, and adds any number of F_p.
    """
    visible = sorted({int(e) for e in exp_table(precision)})
    hidden = int(exp(np.array([-precision.bound]), precision)[0])
    denominators = _in_step(visible, hidden, precision)
    weights = divide(hidden, np.arange(1, precision.bound + 1), precision)
    assert not weights.any(), "a hidden row has the weight 0 whatever Z is, and adds [0·v] = 0"
    values = _in_step(list(precision.numbers()), 0, precision)
    states = denominators.states + values.states
    broken = denominators.witness or values.witness
    return LemmaOutcome(states, states, None if broken is None else f"{broken.letters}: the two sums differ")


def _in_step(visible: list[int], hidden: int, precision: Precision) -> Closure:
    terms = np.array(visible)

    def moves(pair: tuple[int, int]):
        everything, alone = pair
        yield "hidden", (int(add(everything, hidden, precision)), alone)
        both = add(everything, terms, precision).tolist(), add(alone, terms, precision).tolist()
        yield from zip(visible, zip(*both, strict=True), strict=True)

    return reachable_closure([(0, 0)], moves, lambda pair: pair if pair[0] != pair[1] else None)


def detection(precision: Precision, *, code: int | None = None) -> LemmaOutcome:
    """All scores 0: some row holds the code (1 by default) if and only if THRESH of the average is 1.

    For every Z that rows in any number lead to; the second fold, over the values, may then have any number of rows,
    which is more than can happen.
    """
    code = precision.one if code is None else code
    threshold = threshold_of(precision)
    reached: dict[int, int] = {}

    def counted(state: int):
        reached.setdefault(state, len(reached))

    at_zero = int(exp(np.array([0]), precision)[0])
    reachable_closure([at_zero], lambda Z: [("row", int(add(Z, at_zero, precision)))], counted)
    states = len(reached)
    for Z, earlier in reached.items():
        rows, weight = earlier + 1, int(divide(at_zero, Z, precision))
        terms = {held: int(multiply(weight, held, precision)) for held in (0, code)}

        def moves(state, terms=terms):
            for held, term in terms.items():
                yield held, (int(add(state[0], term, precision)), state[1] or held != 0)

        closure = reachable_closure(
            [(0, False)], moves, lambda state: state if bool(threshold[state[0]]) != state[1] else None
        )
        states += closure.states
        if closure.witness is not None:
            text = f"{rows} rows, one with code {precision.meaning(code)}: not found"
            return LemmaOutcome(states, states, text, _replay_detection(rows, code, precision))
    return LemmaOutcome(states, states)


def sees_nothing(emit: Emit, precision: Precision) -> LemmaOutcome:
    """EMPTY: among rows in any number with any scores, one of them the sentinel, `alone` is [all others are 0].

    First the scores: what the sentinel and another row score after the columns of EMPTY, for every score before. Then
    Z, a fold over the rows, with whether the sentinel and whether another exponential was among them; then the MLP.
    """
    columns, every = columns_of(emit(1), precision), np.array(precision.numbers())
    e = {flag: exp(_scores_after(columns, every, flag, precision), precision) for flag in (SENTINEL, ROW)}
    letters = [
        (flag, int(before), int(value)) for flag in (SENTINEL, ROW) for value, before in _distinct(e[flag], every)
    ]
    if not np.array_equal(e[ROW], exp(every, precision)):
        return LemmaOutcome(2 * every.size, 2 * every.size, "another row does not keep its exponential")
    alone = _alone_of(emit, precision)

    def moves(state: tuple[int, int | None, bool]) -> Iterable[tuple[Any, tuple[int, int | None, bool]]]:
        Z, sentinel, some = state
        for flag, before, value in letters:
            if flag == ROW:
                yield (ROW, before), (int(add(Z, value, precision)), sentinel, some or value > 0)
            elif sentinel is None:
                yield (SENTINEL, before), (int(add(Z, value, precision)), value, some)

    def flaw(state: tuple[int, int | None, bool]) -> int | None:
        Z, sentinel, some = state
        if sentinel is None:
            return None
        got = alone[int(divide(sentinel, Z, precision))] if Z else -1
        return None if got == (0 if some else precision.one) else got

    closure = reachable_closure([(0, None, False)], moves, flaw)
    states = 2 * every.size + closure.states
    if closure.witness is None:
        return LemmaOutcome(states, states)
    rows, wanted = closure.witness.letters, 0 if closure.witness.state[2] else precision.one
    shown = ", ".join(f"{flag} {precision.meaning(before)}" for flag, before in rows)
    got = "division by zero" if closure.witness.flaw < 0 else precision.meaning(closure.witness.flaw)
    text = f"{shown}: {got}, not {precision.meaning(wanted)}"
    return LemmaOutcome(states, states, text, _replay_empty(emit, rows, wanted, precision))


def _scores_after(columns: Sequence[Column], scores: np.ndarray, flag: str, precision: Precision) -> np.ndarray:
    """What a row with every one of the scores scores in the end."""
    key = {"one": precision.one, "score": scores, "sentinel": precision.one * (flag == SENTINEL)}
    total = np.zeros_like(scores)
    for column in columns:
        total = add(total, column.term({"one": precision.one}, key, precision), precision)
    return total


def _alone_of(emit: Emit, precision: Precision) -> dict[int, int]:
    """What the MLP makes of every share."""
    program = emit(1)
    units, bias = writers(units_of(program, precision), "alone"), offset_of(program, precision, "alone")
    return {x: _output(units, bias, {"share": x}, precision) for x in precision.numbers()}


def _replay_empty(emit: Emit, rows, wanted: int, precision: Precision) -> Replayed:
    program = emit(len(rows))
    residual = np.zeros((1, len(rows), program.width), dtype=np.int64)
    residual[..., program.columns("one")] = precision.one
    for i, (flag, before) in enumerate(rows):
        residual[0, i, program.columns("score")] = before
        residual[0, i, program.columns("sentinel")] = precision.one * (flag == SENTINEL)
    try:
        after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    except AttendsToNothing:
        return Replayed("the engine divides by zero", True)
    got = int(after[0, 0, program.columns("alone")][0])
    return Replayed(f"the engine writes {precision.meaning(got)}, not {precision.meaning(wanted)}", got != wanted)


def latest(precision: Precision, *, rows: int = 2) -> LemmaOutcome:
    """All scores B: after any number of flags, `rows` rows for each, the sum is B or -B by the last of them, else 0.

    Z first: whatever the number of rows, the weight of each is the same. Then the sum, with what the last flag was.
    """
    at_bound = int(exp(np.array([precision.bound]), precision)[0])
    sums: set[int] = set()
    reachable_closure([at_bound], lambda Z: [("row", int(add(Z, at_bound, precision)))], sums.add)
    weights = {int(divide(at_bound, Z, precision)) for Z in sums}
    (weight,) = weights
    wv = layer_of(latest_of(1), precision).heads[0].wv
    columns = {name: int(latest_of(1).columns(name)[0]) for name in ("plus", "minus")}
    values = {
        int(row): int(multiply(precision.one, int(v), precision)) for row, v in zip(wv.row, wv.value, strict=True)
    }
    terms = {+1: values[columns["plus"]], -1: values[columns["minus"]], 0: 0}

    def moves(state: tuple[int, int]) -> Iterable[tuple[int, tuple[int, int]]]:
        for flag, value in terms.items():
            total_so_far = state[0]
            for _ in range(rows):
                total_so_far = int(add(total_so_far, int(multiply(weight, value, precision)), precision))
            yield flag, (total_so_far, flag or state[1])

    closure = reachable_closure([(0, 0)], moves, lambda s: s if s[0] != s[1] * precision.bound else None)
    states = len(sums) + closure.states
    if closure.witness is None:
        return LemmaOutcome(states, states)
    flags, (got, last) = closure.witness.letters, closure.witness.state
    shown = ", ".join({1: "plus", -1: "minus", 0: "none"}[flag] for flag in flags)
    text = f"{shown}: {precision.meaning(got)}, not {precision.meaning(last * precision.bound)}"
    return LemmaOutcome(states, states, text, _replay_latest([f for f in flags for _ in range(rows)], last, precision))


def _replay_latest(flags: list[int], last: int, precision: Precision) -> Replayed:
    program = latest_of(len(flags))
    residual = np.zeros((1, len(flags), program.width), dtype=np.int64)
    residual[..., program.columns("one")] = precision.one
    for row, flag in enumerate(flags):
        for name, sign in (("plus", 1), ("minus", -1)):
            residual[0, row, program.columns(name)] = precision.one * (flag == sign)
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    got, wanted = int(after[0, 0, program.columns("latest")][0]), last * precision.bound
    return Replayed(f"the engine brings {precision.meaning(got)}, not {precision.meaning(wanted)}", got != wanted)


def threshold_of(precision: Precision) -> dict[int, int]:
    """What THRESH makes of every average, by the weights of the gadget for one code."""
    program = detect(1)
    units = writers(units_of(program, precision), "occurs")
    bias = offset_of(program, precision, "occurs")
    return {x: _output(units, bias, {"average": x}, precision) for x in precision.numbers()}


def _output(units: list[tuple[Unit, int]], bias: int, contents: Contents, precision: Precision) -> int:
    """What an output column adds to the row, by the units that write to it."""
    partial = 0
    for unit, weight in units:
        partial = int(add(partial, multiply(unit.value(contents, precision), weight, precision), precision))
    return max(0, int(add(partial, bias, precision)))


def _replay_detection(rows: int, code: int, precision: Precision) -> Replayed:
    program = detect(rows)
    residual = np.zeros((1, rows, program.width), dtype=np.int64)
    residual[0, 0, program.columns("code")] = code
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    got = int(after[0, 0, program.columns("occurs")][0])
    return Replayed(f"the engine finds {precision.meaning(got)}, not 1", got != precision.one)


def division_by_zero(precision: Precision) -> LemmaOutcome:
    """Wrong: HIDE without BOOST, for a query that sees hidden keys alone. Z is 0 for every number of rows."""
    hidden = int(exp(np.array([-precision.bound]), precision)[0])
    closure = reachable_closure(
        [0], lambda Z: [("hidden row", int(add(Z, hidden, precision)))], lambda Z: Z if Z == 0 else None
    )
    return LemmaOutcome(closure.states, closure.states, "one hidden row: Z = 0", _replay_hidden(precision))


def _replay_hidden(precision: Precision) -> Replayed:
    program, _ = HeadDesign((score,), after=(hide(2),)).emit(0)
    residual = np.full((1, 1, program.width), precision.one, dtype=np.int64)
    try:
        ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    except AttendsToNothing:
        return Replayed("the engine divides by zero", True)
    return Replayed("the engine runs", False)
