"""Lemmas about the score of one query and one key: EQ, FOCUS, HIDE, BOOST and others, for codes of every width.

A block of columns adds its terms to the running sum, so it is a function F_p → F_p. A word of blocks, one per index, is
the composition of their functions. There are finitely many functions, so the closure of the letters under composition
contains all that blocks of any width compute. A further pass over the same columns applies the same function again:

    score after the head = after ∘ f_word ∘ … ∘ f_word ∘ before (score),      one f_word per pass

Proved by closure: `flaw` is None for every reachable function and all contents of the flags. Read off the code: the
weights of every width are one repeated block (`lemma.repeated`, checked up to width 8).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.numerics.arithmetic import Precision, add, divide, exp, multiply, total, weighted
from unmask.numerics.arithmetic import product as inner_products
from unmask.paper.lemmas import gadget_programs
from unmask.paper.lemmas.gadget_programs import INDEXED, HeadDesign
from unmask.paper.lemmas.lemma import (
    WIDTHS,
    Column,
    Contents,
    LemmaOutcome,
    NotRepeated,
    Pieces,
    Replayed,
    columns_of,
    layer_of,
    repeated,
)
from unmask.programs.assembly import assemble
from unmask.verification.lengths.obligations import Witness, reachable_closure

Facts = Any
"""What is known about a word of letters so far, as far as it matters for the end; hashable."""


@dataclass(frozen=True)
class CodeLetter:
    """The content of one index: in the query, in the key, and in another key that the query does see.

    Contents are in units of 1; `then` is what is known after this letter.
    """

    query: tuple[tuple[str, int], ...]
    key: tuple[tuple[str, int], ...]
    plain: tuple[tuple[str, int], ...]
    then: Facts
    name: str


Alphabet = Callable[[Facts], Iterable[CodeLetter]]
"""facts → the letters that may follow."""


@dataclass(frozen=True)
class Visibility:
    """Whether the query should not see the key, by the facts at the end of a word; None if no word ends with them."""

    is_unseen: Callable[[Facts], bool | None]
    start: Facts = False


@dataclass(frozen=True)
class FlagContents:
    """The contents of the flags `boosted`, `hidden` and `hides`, which occur once, not once per index."""

    boosted: int
    hidden: int
    hides: int = 1
    """Whether HIDE applies to this query; 1 for heads without such a flag."""

    @property
    def is_unseen(self) -> int:
        return self.hidden and self.hides


State = tuple[bytes, Facts]
Flaw = tuple[int, FlagContents, int, int]
"""(score before, flags, observed value, expected value)."""


@dataclass(frozen=True)
class ScoreQuestion:
    """Is the exponential (or, with `exactly`, the score) after these columns the expected one?

    The expected exponential (score) is 0 (-B) for an unseen key, exp(B) (B) for a boosted query, and otherwise
    that of the score before.
    """

    alphabet: Alphabet
    visibility: Visibility
    exactly: bool = False

    def decide(self, design: HeadDesign, precision: Precision) -> LemmaOutcome:
        pieces = repeated(design.emit, precision, passes=design.passes, indexed=INDEXED)
        runner = _ColumnRunner(pieces, precision)
        hides = (0, 1) if _flag_values(pieces.after, "hides") != (0,) else (1,)
        contents = product(_flag_values(pieces.before, "boosted"), _flag_values(pieces.after, "hidden"), hides)
        all_flags = [FlagContents(*values) for values in contents]
        scores = np.array(precision.numbers()) if _flag_values(pieces.before, "score") != (0,) else np.zeros(1, int)

        def moves(state: State) -> Iterable[tuple[CodeLetter, State]]:
            function = np.frombuffer(state[0], dtype=np.int64)
            for letter in self.alphabet(state[1]) if pieces.block else ():
                after = runner.run(pieces.block, dict(letter.query), dict(letter.key), function)
                yield letter, (after.tobytes(), letter.then)

        def flaw(state: State) -> Flaw | None:
            is_unseen = self.visibility.is_unseen(state[1])
            if is_unseen is None:
                return None
            function = np.frombuffer(state[0], dtype=np.int64)
            for flags in all_flags:
                observed = self.observed(runner.final_scores(function, scores, flags), precision)
                expected = self.expected(scores, flags, is_unseen, precision)
                if not np.array_equal(observed, expected):
                    k = int(np.argmax(np.abs(observed - expected)))
                    return int(scores[k]), flags, int(observed[k]), int(expected[k])
            return None

        identity = np.array(precision.numbers(), dtype=np.int64)
        closure = reachable_closure([(identity.tobytes(), self.visibility.start)], moves, flaw)
        cases = closure.states * len(all_flags) * scores.size
        if closure.witness is None:
            return LemmaOutcome(closure.states, cases)
        return LemmaOutcome(closure.states, cases, *self._refuted(design, precision, closure.witness))

    def observed(self, scores: np.ndarray, precision: Precision) -> np.ndarray:
        return scores if self.exactly else exp(scores, precision)

    def expected(self, scores: np.ndarray, flags: FlagContents, is_unseen: bool, precision: Precision) -> np.ndarray:
        if is_unseen or flags.is_unseen:
            return np.full(scores.shape, -precision.bound if self.exactly else 0)
        return self.observed(np.full(scores.shape, precision.bound) if flags.boosted else scores, precision)

    def _refuted(self, design: HeadDesign, precision: Precision, witness: Witness) -> tuple[str, Replayed]:
        before, flags, observed, expected = witness.flaw
        quantity = "score" if self.exactly else "exp"
        conditions = [letter.name for letter in witness.letters]
        if gadget_programs.score in design.before:
            conditions.append(f"score {precision.meaning(before)}")
        conditions += [name for name in ("boosted", "hidden") if getattr(flags, name)]
        conditions += ["sees hidden keys"] if not flags.hides else []
        values = f"{quantity} {precision.meaning(observed)}, not {precision.meaning(expected)}"
        return f"{', '.join(conditions)}: {values}", _replay(self, design, precision, witness)


@dataclass(frozen=True)
class VisibilityQuestion(ScoreQuestion):
    """Is the score exactly B if the key is seen, and exactly -B if it is unseen or hidden?"""

    exactly: bool = True

    def expected(self, scores: np.ndarray, flags: FlagContents, is_unseen: bool, precision: Precision) -> np.ndarray:
        return np.full(scores.shape, -precision.bound if is_unseen or flags.is_unseen else precision.bound)


class _ColumnRunner:
    """Adds columns to running sums, for all numbers of F_p at once."""

    def __init__(self, pieces: Pieces, precision: Precision) -> None:
        self.pieces, self.precision = pieces, precision

    def run(self, columns: tuple[Column, ...], query: Contents, key: Contents, sums: np.ndarray) -> np.ndarray:
        """Return the sums after these columns."""
        one = self.precision.one
        query = {"one": one, **{name: one * value for name, value in query.items()}}
        key = {"one": one, **{name: value if name == "score" else one * value for name, value in key.items()}}
        for column in columns:
            sums = add(sums, column.term(query, key, self.precision), self.precision)
        return sums

    def final_scores(self, function: np.ndarray, scores: np.ndarray, flags: FlagContents) -> np.ndarray:
        """Return the score after all columns, for every score before them; `function` is that of the block."""
        sums = np.zeros_like(scores)
        sums = self.run(self.pieces.before, {"boosted": flags.boosted}, {"score": scores}, sums)
        for _ in range(self.pieces.passes):
            sums = function[sums + self.precision.bound]
        return self.run(self.pieces.after, {"hides": flags.hides}, {"hidden": flags.hidden}, sums)


def _flag_values(columns: tuple[Column, ...], register: str) -> tuple[int, ...]:
    """Return the values that a flag takes: 0 and 1, or only 0 if no column reads it."""
    names = {name for column in columns for name, _, _ in (*column.query, *column.key)}
    return (0, 1) if register in names else (0,)


def _replay(question: ScoreQuestion, design: HeadDesign, precision: Precision, witness: Witness) -> Replayed:
    """Run the engine on two rows with the same query: the key in question, and a key that the query sees.

    The result is the weight of the first.
    """
    before, flags, _, _ = witness.flaw
    program, _ = design.emit(len(witness.letters), rows=2, values=1)
    residual = np.zeros((1, 2, program.width), dtype=np.int64)
    residual[..., program.columns("one")] = precision.one
    residual[..., program.columns("boosted")] = precision.one * flags.boosted
    residual[..., program.columns("hides")] = precision.one * flags.hides
    residual[0, 0, program.columns("score")] = before
    residual[0, 0, program.columns("hidden")] = precision.one * flags.hidden
    for i, letter in enumerate(witness.letters):
        for row, contents in ((0, letter.key), (1, letter.plain), (slice(None), letter.query)):
            for name, value in contents:
                residual[0, row, program.columns(name)[i if name in INDEXED else 0]] = precision.one * value
    is_unseen = bool(question.visibility.is_unseen(witness.state[1]))
    keys = ((before, flags, is_unseen), (0, FlagContents(flags.boosted, 0), False))
    expected = np.concatenate([question.expected(np.array([s]), f, unseen, precision) for s, f, unseen in keys])
    exps = expected if not question.exactly else exp(expected, precision)
    expected_weight = int(divide(exps, total(exps, precision), precision)[0])
    recorded: dict[str, np.ndarray] = {}
    session = ReferenceEngine().session(assemble(program, precision))
    try:
        session.layers(residual, 0, 1, watch=lambda name, value: recorded.update({name: value.copy()}))
    except AttendsToNothing:
        return Replayed("the engine divides by zero", True)
    weight = int(recorded["layers.0.heads.0.weights"][0, 1, 0])
    text = f"the engine gives the key the weight {precision.meaning(weight)}, not {precision.meaning(expected_weight)}"
    return Replayed(text, weight != expected_weight)


def scaled_equality(precision: Precision, *, printed: bool = False) -> LemmaOutcome:
    """Decide: EQ with [B/m] for B scores exactly max(-B, -2[B/m]·h) for h differing bits, every m >= 1 and every width.

    There are finitely many values of [B/m]. With `printed`, decide the paper's bound instead: at most max(-B, -2B/m) if
    a bit differs.
    """
    states, bound, m, scale = 0, precision.bound, 1, precision.bound
    while True:
        pieces = repeated(
            HeadDesign(block=gadget_programs.eq_scaled(scale)).emit,
            precision,
            passes=1,
            indexed=INDEXED,
            widths=(1, 2, 5),
        )
        enough = bound // (2 * scale) + 1 if scale else 1  # bits that reach -B; more change nothing
        runner = _ColumnRunner(pieces, precision)

        def moves(state, runner=runner, block=pieces.block, enough=enough):
            for letter in code_letters()(False):
                after = runner.run(block, dict(letter.query), dict(letter.key), np.array(state[0]))
                yield letter, (int(after), min(enough, state[1] + letter.then))

        def flaw(state, m=m, scale=scale):
            so_far, differing = state
            if printed:
                return so_far if differing and so_far * m > max(-2 * bound, -bound * m) else None
            return so_far if so_far != max(-bound, -2 * scale * differing) else None

        closure = reachable_closure([(0, 0)], moves, flaw)
        states += closure.states
        if closure.witness is not None:
            return LemmaOutcome(states, states, *_refuted_scale(m, scale, closure.witness, precision))
        if scale == 0:
            return LemmaOutcome(states, states)
        while (following := int(divide(bound, m * precision.one, precision))) == scale:
            m += 1
        scale = following


def _refuted_scale(m: int, scale: int, witness: Witness, precision: Precision) -> tuple[str, Replayed]:
    """Return the counterexample, and the score of the whole head computed from its matrices."""
    program, _ = HeadDesign(block=gadget_programs.eq_scaled(scale)).emit(len(witness.letters))
    head = layer_of(program, precision).heads[0]
    rows = np.zeros((2, program.width), dtype=np.int64)
    rows[:, program.columns("one")] = precision.one
    for i, letter in enumerate(witness.letters):
        rows[0, program.columns("query_code")[i]] = precision.one * dict(letter.query)["query_code"]
        rows[1, program.columns("code")[i]] = precision.one * dict(letter.key)["code"]
    q, k = (weighted(rows, w.rows(), w.shape[1], precision) for w in (head.wq, head.wk))
    score = int(inner_products(q, k.T, precision)[0, 1])
    text = f"m = {m}, {', '.join(letter.name for letter in witness.letters)}: score {precision.meaning(witness.flaw)}"
    return text, Replayed(f"the engine's score is {precision.meaning(score)}", score == witness.flaw)


def encoded(precision: Precision) -> LemmaOutcome:
    """Decide: the query forms of EQ for a number in one-hot code of any width are ±B by its bits, and 0 for no number.

    The form of bit i sums -B or B times every column. In the fold at most one column, at any position, is 1.
    """
    bits, weights = 4, set()
    for width in WIDTHS:
        columns = columns_of(gadget_programs.encoded(width, bits), precision)[::2]
        for i, read in zip(reversed(range(bits)), columns, strict=True):
            signs = [precision.bound if v >> i & 1 else -precision.bound for v in range(width)]
            if list(read.query) != [("number", v, sign) for v, sign in enumerate(signs)]:
                raise NotRepeated(f"bit {i} of a number below {width} is not read by its sign")
            weights.update(signs)

    def moves(state):
        so_far, bit = state
        for weight in sorted(weights):
            for flag in (0, 1) if bit == 0 else (0,):
                term = int(multiply(precision.one * flag, weight, precision))
                yield (weight, flag), (int(add(so_far, term, precision)), int(np.sign(weight)) if flag else bit)

    closure = reachable_closure(
        [(0, 0)], moves, lambda state: state if state[0] != state[1] * precision.bound else None
    )
    text = None if closure.witness is None else f"{closure.witness.letters}: {closure.witness.flaw}"
    return LemmaOutcome(closure.states, closure.states, text)


# Alphabets: what one index may contain, and what is known after it.


def code_letters(digits: tuple[int, ...] = (-1, 1)) -> Alphabet:
    """Signed bits; a row without a code has 0 and agrees with nothing. Fact: has some bit differed?"""

    def alphabet(differs: Facts) -> Iterable[CodeLetter]:
        for a, b in product(digits, repeat=2):
            agrees = a == b and a != 0
            name = "bits agree" if agrees else "bits differ" if a and b else "no code"
            yield CodeLetter((("query_code", a),), (("code", b),), (("code", a),), differs or not agrees, name)

    return alphabet


def care_letters(differs: Facts) -> Iterable[CodeLetter]:
    """A key that requires a value of a bit, or does not care about it. Fact: has some bit differed?"""
    for bit, required in product((-1, 1), (-1, 0, 1)):
        name = "no care" if not required else "bits agree" if bit == required else "bits differ"
        key = (("code", required), ("care", abs(required)))
        yield CodeLetter((("query_code", bit),), key, (), differs or required == -bit, name)


def optional_letters(facts: Facts) -> Iterable[CodeLetter]:
    """Queries that may not ask, keys that may not care. Facts: (does it ask, does it care, has some bit differed)."""
    for asks, care in product((0, 1), repeat=2) if facts is None else (facts[:2],):
        for a, b in product((-1, 1), repeat=2):
            differs = (facts is not None and facts[2]) or bool(asks and care and a != b)
            name = "does not ask" if not asks else "no care" if not care else "bits agree" if a == b else "bits differ"
            query, key = (("query_code", a * asks), ("asks", asks)), (("code", b * care), ("cares", care))
            yield CodeLetter(query, key, (("code", a * asks), ("cares", asks)), (asks, care, differs), name)


def rising_letters(above: Facts) -> Iterable[CodeLetter]:
    """Numbers from the lowest bit on. Fact: is the key's number above the query's so far?"""
    for a, b in product((-1, 1), repeat=2):
        name = "bits agree" if a == b else "a bit above" if b > a else "a bit below"
        yield CodeLetter((("query_code", a),), (("code", b),), (("code", a),), b > a if a != b else above, name)


def falling_letters(facts: Facts) -> Iterable[CodeLetter]:
    """Numbers from the highest bit on. Facts: (has some bit differed, is the key's number above the query's)."""
    for letter in rising_letters(False):
        differs, above = facts or (False, False)
        differs_now = letter.query[0][1] != letter.key[0][1]
        yield replace(letter, then=(True, above) if differs else (differs_now, letter.then))


def position_letters(facts: Facts) -> Iterable[CodeLetter]:
    """Positions in order. Facts: (is the query's position past, is the key's position past, is the key later)."""
    query_over, key_over, later = facts
    for is_query in (False,) if query_over else (False, True):
        for is_key in (False,) if key_over else (False, True):
            then = (query_over or is_query, key_over or is_key, later or (is_key and query_over))
            name = {(0, 0): "·", (1, 0): "query", (0, 1): "key", (1, 1): "both"}[is_query, is_key]
            query = (("query_code", int(query_over)),)
            yield CodeLetter(query, (("code", int(is_key)),), (("code", int(is_query)),), then, name)


DIFFERS = Visibility(lambda differs: bool(differs))
DIFFERS_IF_ASKED = Visibility(lambda facts: facts is not None and facts[2], None)
ABOVE = Visibility(lambda above: bool(above))
ABOVE_FROM_THE_TOP = Visibility(lambda facts: facts is not None and facts[1], None)
LATER = Visibility(lambda facts: facts[2] if facts[0] and facts[1] else None, (False, False, False))
