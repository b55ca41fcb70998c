"""Lemmas about softmax and values of a head: LOOKUP, DETECT, EMPTY and LATEST, for every number of rows.

    Z = SUM_j e_j,        weight_j = [e_j / Z],        fetched = SUM_j [weight_j · v_j]

Both sums run over the rows, so each is a fold. LOOKUP takes the exponentials from the closure of EQ. HIDE and FOCUS do
not change the exponential of a visible row, and make the others 0.
Read off the code: the value map is 1 · source_i → target_i (checked on the weights of several widths), and a head
computes its columns independently of each other (the equations of `engines.reference`).
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
from unmask.paper.lemmas.score_lemmas import DIFFERS, ScoreQuestion, code_letters
from unmask.programs.assembly import assemble
from unmask.verification.lengths.obligations import Closure, reachable_closure

MATCH, OTHER = "match", "other"
SENTINEL, ROW = "sentinel", "row"
EQ = ScoreQuestion(code_letters((-1, 0, 1)), DIFFERS, exactly=True)
"""Score 0 if the codes are equal, else exactly -B. A row without a code is not equal to any code."""


def lookup(precision: Precision, *, matches: int = 1) -> LemmaOutcome:
    """Decide: among any number of rows, of which `matches` have the requested code, LOOKUP fetches their value.

    First EQ, for the exponentials. Then two folds: Z over the exponentials, and the values with the weights of each Z.
    """
    design = HeadDesign(block=eq)
    _require_copies(design, precision)
    scored = EQ.decide(design, precision)
    if not scored.holds:
        return scored
    match, other = exp(np.array([0, -precision.bound]), precision).tolist()
    sums = _reachable_sums({MATCH: match, OTHER: other}, matches, precision)
    states = scored.states + len(sums)
    for Z in sorted({Z for Z, matched in sums if matched == matches}):
        weights = {kind: int(divide(e, Z, precision)) for kind, e in ((MATCH, match), (OTHER, other))}
        closure = _fetched_values(weights, matches, precision)
        states += closure.states
        if closure.witness is not None:
            rows = closure.witness.letters
            value, fetched = closure.witness.flaw
            listed = ", ".join(f"{kind} {precision.meaning(v)}" for kind, v in rows)
            replayed = _replay_lookup(design, rows, value, precision)
            return LemmaOutcome(states, states, f"{listed}: {precision.meaning(fetched)} arrives", replayed)
    return LemmaOutcome(states, states)


def _reachable_sums(exps: dict[str, int], matches: int, precision: Precision) -> set[tuple[int, int]]:
    """Return all (Z, number of matching rows) that any number of rows can lead to."""
    reached: set[tuple[int, int]] = set()

    def moves(state: tuple[int, int]) -> Iterable[tuple[str, tuple[int, int]]]:
        for kind, e in exps.items():
            matched = state[1] + (kind == MATCH)
            if matched <= matches:
                yield kind, (int(add(state[0], e, precision)), matched)

    reachable_closure([(0, 0)], moves, reached.add)
    return reached


def _fetched_values(weights: dict[str, int], matches: int, precision: Precision) -> Closure:
    """Return the closure of the sum over rows if all matches have one value; state: (sum, matches so far, value)."""
    every = np.array(precision.numbers())
    other_terms = dict(_distinct(multiply(weights[OTHER], every, precision), every))
    match_terms = multiply(weights[MATCH], every, precision)

    def moves(state):
        partial, matched, value = state
        for term, v in other_terms.items():
            yield (OTHER, v), (int(add(partial, term, precision)), matched, value)
        if matched < matches:
            values = every if value is None else np.array([value])
            after = add(partial, match_terms[values + precision.bound], precision)
            for v, sum_so_far in zip(values.tolist(), after.tolist(), strict=True):
                yield (MATCH, v), (sum_so_far, matched + 1, v)

    def flaw(state):
        partial, matched, value = state
        return (value, partial) if matched == matches and partial != value else None

    return reachable_closure([(0, 0, None)], moves, flaw)


def _distinct(terms: np.ndarray, values: np.ndarray) -> Iterable[tuple[int, int]]:
    """Return (term, one of its values) for every different term."""
    different, first = np.unique(terms, return_index=True)
    return zip(different.tolist(), values[first].tolist(), strict=True)


def _replay_lookup(design: HeadDesign, rows, value: int, precision: Precision) -> Replayed:
    """Run the engine with a code of one bit: 1 in every query and in matching rows, -1 in the others."""
    program, _ = design.emit(1, rows=len(rows), values=1)
    residual = np.zeros((1, len(rows), program.width), dtype=np.int64)
    for name in ("one", "query_code"):
        residual[..., program.columns(name)] = precision.one
    for i, (kind, row_value) in enumerate(rows):
        residual[0, i, program.columns("code")] = precision.one if kind == MATCH else -precision.one
        residual[0, i, program.columns("value")] = row_value
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    fetched = int(after[0, 0, program.columns("fetched")][0])
    text = f"the engine fetches {precision.meaning(fetched)}, not {precision.meaning(value)}"
    return Replayed(text, fetched != value)


def _require_copies(design: HeadDesign, precision: Precision) -> None:
    for values in WIDTHS:
        program, _ = design.emit(2, values=values)
        if not copies_exactly(program, precision, "value", "fetched"):
            raise NotRepeated(f"the value map of {values} columns is not the identity")


def visible_rows_alone(precision: Precision) -> LemmaOutcome:
    """Decide: softmax over all rows is softmax over the visible rows, if the hidden ones have exponential 0.

    Two folds run in parallel, with and without the hidden rows. The two Z are always equal. With equal weights, so are
    the two sums of values. A visible row has any exponential and adds any number of F_p.
    """
    visible = sorted({int(e) for e in exp_table(precision)})
    hidden = int(exp(np.array([-precision.bound]), precision)[0])
    denominators = _parallel_sums(visible, hidden, precision)
    weights = divide(hidden, np.arange(1, precision.bound + 1), precision)
    assert not weights.any(), "a hidden row has the weight 0 whatever Z is, and adds [0·v] = 0"
    values = _parallel_sums(list(precision.numbers()), 0, precision)
    states = denominators.states + values.states
    witness = denominators.witness or values.witness
    return LemmaOutcome(states, states, None if witness is None else f"{witness.letters}: the two sums differ")


def _parallel_sums(visible: list[int], hidden: int, precision: Precision) -> Closure:
    """Return the closure of (sum over all rows, sum over the visible rows); they must be equal."""
    terms = np.array(visible)

    def moves(pair: tuple[int, int]):
        of_all, of_visible = pair
        yield "hidden", (int(add(of_all, hidden, precision)), of_visible)
        both = add(of_all, terms, precision).tolist(), add(of_visible, terms, precision).tolist()
        yield from zip(visible, zip(*both, strict=True), strict=True)

    return reachable_closure([(0, 0)], moves, lambda pair: pair if pair[0] != pair[1] else None)


def detection(precision: Precision, *, code: int | None = None) -> LemmaOutcome:
    """Decide: if all scores are 0, THRESH of the average is 1 if and only if some row has the code (1 by default).

    This is decided for every Z that any number of rows can lead to. For each Z, the fold over the values allows any
    number of rows, so it covers more cases than occur.
    """
    code = precision.one if code is None else code
    threshold = threshold_of(precision)
    reached: dict[int, int] = {}

    def count(state: int):
        reached.setdefault(state, len(reached))

    at_zero = int(exp(np.array([0]), precision)[0])
    reachable_closure([at_zero], lambda Z: [("row", int(add(Z, at_zero, precision)))], count)
    states = len(reached)
    for Z, earlier in reached.items():
        rows, weight = earlier + 1, int(divide(at_zero, Z, precision))
        terms = {value: int(multiply(weight, value, precision)) for value in (0, code)}

        def moves(state, terms=terms):
            for value, term in terms.items():
                yield value, (int(add(state[0], term, precision)), state[1] or value != 0)

        closure = reachable_closure(
            [(0, False)], moves, lambda state: state if bool(threshold[state[0]]) != state[1] else None
        )
        states += closure.states
        if closure.witness is not None:
            text = f"{rows} rows, one with code {precision.meaning(code)}: not found"
            return LemmaOutcome(states, states, text, _replay_detection(rows, code, precision))
    return LemmaOutcome(states, states)


def sees_nothing(emit: Emit, precision: Precision) -> LemmaOutcome:
    """Decide EMPTY: for any number of rows with any scores and one sentinel, `alone` is [all other exponentials are 0].

    First come the scores of the sentinel and of another row after the columns of EMPTY, for every score before. Then Z
    is a fold over the rows; its state also says whether the sentinel and another positive exponential occurred. Last
    comes the MLP.
    """
    columns, every = columns_of(emit(1), precision), np.array(precision.numbers())
    exps = {flag: exp(_scores_after(columns, every, flag, precision), precision) for flag in (SENTINEL, ROW)}
    letters = [
        (flag, int(before), int(value)) for flag in (SENTINEL, ROW) for value, before in _distinct(exps[flag], every)
    ]
    if not np.array_equal(exps[ROW], exp(every, precision)):
        return LemmaOutcome(2 * every.size, 2 * every.size, "another row does not keep its exponential")
    alone = _alone_table(emit, precision)

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
        actual = alone[int(divide(sentinel, Z, precision))] if Z else -1
        return None if actual == (0 if some else precision.one) else actual

    closure = reachable_closure([(0, None, False)], moves, flaw)
    states = 2 * every.size + closure.states
    if closure.witness is None:
        return LemmaOutcome(states, states)
    rows, expected = closure.witness.letters, 0 if closure.witness.state[2] else precision.one
    listed = ", ".join(f"{flag} {precision.meaning(before)}" for flag, before in rows)
    actual = "division by zero" if closure.witness.flaw < 0 else precision.meaning(closure.witness.flaw)
    text = f"{listed}: {actual}, not {precision.meaning(expected)}"
    return LemmaOutcome(states, states, text, _replay_empty(emit, rows, expected, precision))


def _scores_after(columns: Sequence[Column], scores: np.ndarray, flag: str, precision: Precision) -> np.ndarray:
    """Return the score of a row after these columns, for each score before them."""
    key = {"one": precision.one, "score": scores, "sentinel": precision.one * (flag == SENTINEL)}
    total = np.zeros_like(scores)
    for column in columns:
        total = add(total, column.term({"one": precision.one}, key, precision), precision)
    return total


def _alone_table(emit: Emit, precision: Precision) -> dict[int, int]:
    """Return the output of the MLP for every share."""
    program = emit(1)
    units, bias = writers(units_of(program, precision), "alone"), offset_of(program, precision, "alone")
    return {x: _output(units, bias, {"share": x}, precision) for x in precision.numbers()}


def _replay_empty(emit: Emit, rows, expected: int, precision: Precision) -> Replayed:
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
    actual = int(after[0, 0, program.columns("alone")][0])
    text = f"the engine writes {precision.meaning(actual)}, not {precision.meaning(expected)}"
    return Replayed(text, actual != expected)


def latest(precision: Precision, *, rows: int = 2) -> LemmaOutcome:
    """Decide: if all scores are B, the sum is B or -B by the last flag, and 0 without flags.

    There is any number of flags, each in `rows` consecutive rows. First comes Z: each row has the same weight for any
    number of rows. Then comes the sum; its state includes the last flag.
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
    flags, (actual, last) = closure.witness.letters, closure.witness.state
    listed = ", ".join({1: "plus", -1: "minus", 0: "none"}[flag] for flag in flags)
    text = f"{listed}: {precision.meaning(actual)}, not {precision.meaning(last * precision.bound)}"
    return LemmaOutcome(states, states, text, _replay_latest([f for f in flags for _ in range(rows)], last, precision))


def _replay_latest(flags: list[int], last: int, precision: Precision) -> Replayed:
    program = latest_of(len(flags))
    residual = np.zeros((1, len(flags), program.width), dtype=np.int64)
    residual[..., program.columns("one")] = precision.one
    for row, flag in enumerate(flags):
        for name, sign in (("plus", 1), ("minus", -1)):
            residual[0, row, program.columns(name)] = precision.one * (flag == sign)
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    actual, expected = int(after[0, 0, program.columns("latest")][0]), last * precision.bound
    text = f"the engine brings {precision.meaning(actual)}, not {precision.meaning(expected)}"
    return Replayed(text, actual != expected)


def threshold_of(precision: Precision) -> dict[int, int]:
    """Return the output of THRESH for every average, by the weights of the gadget for one code."""
    program = detect(1)
    units = writers(units_of(program, precision), "occurs")
    bias = offset_of(program, precision, "occurs")
    return {x: _output(units, bias, {"average": x}, precision) for x in precision.numbers()}


def _output(units: list[tuple[Unit, int]], bias: int, contents: Contents, precision: Precision) -> int:
    """Return the value of an output column, from the units that write to it."""
    partial = 0
    for unit, weight in units:
        partial = int(add(partial, multiply(unit.value(contents, precision), weight, precision), precision))
    return max(0, int(add(partial, bias, precision)))


def _replay_detection(rows: int, code: int, precision: Precision) -> Replayed:
    program = detect(rows)
    residual = np.zeros((1, rows, program.width), dtype=np.int64)
    residual[0, 0, program.columns("code")] = code
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    actual = int(after[0, 0, program.columns("occurs")][0])
    return Replayed(f"the engine finds {precision.meaning(actual)}, not 1", actual != precision.one)


def division_by_zero(precision: Precision) -> LemmaOutcome:
    """Wrong: HIDE without BOOST, for a query that sees only hidden keys. Z is 0 for every number of rows."""
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
