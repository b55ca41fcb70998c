"""The effect of a head's columns on a score, for every width, every previous score and every code.

A block adds its terms to the running sum, whatever that is: it is a function F_p → F_p, and a word of blocks is the
composition of their functions. There are finitely many, so the closure of the letters under composition is all that
blocks of any width can do, and a further pass over the same columns is the same function once more:

    score after the head = after ∘ f_word ∘ … ∘ f_word ∘ before (score),      one f_word per pass

What is proved by closure: `flaw` is None for every reachable function and every content of the single columns. What is
read off the code: that the weights of every width are one repeated block (`lemma.repeated`, checked up to width 8).
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
"""What is known of a word so far; hashable."""


@dataclass(frozen=True)
class CodeLetter:
    """One index: what the query holds there, what the key holds, and what a key holds that the query does see.

    Contents are in units of 1; `then` is what is known after it.
    """

    query: tuple[tuple[str, int], ...]
    key: tuple[tuple[str, int], ...]
    plain: tuple[tuple[str, int], ...]
    then: Facts
    name: str


Alphabet = Callable[[Facts], Iterable[CodeLetter]]
"""The letters that may follow, given what is known."""


@dataclass(frozen=True)
class Ends:
    """What the end of a word says: is the key invisible to the query? None: no word ends like this."""

    unseen: Callable[[Facts], bool | None]
    start: Facts = False


@dataclass(frozen=True)
class Single:
    """The contents of the columns that no index repeats, in units of 1 but for `score`."""

    boosted: int
    hidden: int
    hides: int = 1
    """Does the query's own flag let HIDE hide? Where there is no such flag, it does."""

    @property
    def unseen(self) -> int:
        return self.hidden and self.hides


State = tuple[bytes, Facts]
Flaw = tuple[int, Single, int, int]
"""(score before, single columns, what is there, what should be)."""


@dataclass(frozen=True)
class ScoreQuestion:
    """Is the exponential (or, with `exactly`, the score) after these columns what it should be?

    unseen or hidden: 0, exactly -B.      boosted: exp(B), B.      else: the exponential of the score before, that score
    """

    alphabet: Alphabet
    ends: Ends
    exactly: bool = False

    def decide(self, design: HeadDesign, precision: Precision) -> LemmaOutcome:
        pieces = repeated(design.emit, precision, passes=design.passes, indexed=INDEXED)
        sides = _Sides(pieces, precision)
        hides = (0, 1) if _values(pieces.after, "hides") != (0,) else (1,)
        flags = [
            Single(*held) for held in product(_values(pieces.before, "boosted"), _values(pieces.after, "hidden"), hides)
        ]
        scores = np.array(precision.numbers()) if _values(pieces.before, "score") != (0,) else np.zeros(1, int)

        def moves(state: State) -> Iterable[tuple[CodeLetter, State]]:
            function = np.frombuffer(state[0], dtype=np.int64)
            for letter in self.alphabet(state[1]) if pieces.block else ():
                after = sides.run(pieces.block, dict(letter.query), dict(letter.key), function)
                yield letter, (after.tobytes(), letter.then)

        def flaw(state: State) -> Flaw | None:
            unseen = self.ends.unseen(state[1])
            if unseen is None:
                return None
            function = np.frombuffer(state[0], dtype=np.int64)
            for single in flags:
                found = sides.whole(function, scores, single)
                there, wanted = self.observed(found, precision), self.wanted(scores, single, unseen, precision)
                if not np.array_equal(there, wanted):
                    k = int(np.argmax(np.abs(there - wanted)))
                    return int(scores[k]), single, int(there[k]), int(wanted[k])
            return None

        identity = np.array(precision.numbers(), dtype=np.int64)
        closure = reachable_closure([(identity.tobytes(), self.ends.start)], moves, flaw)
        cases = closure.states * len(flags) * scores.size
        if closure.witness is None:
            return LemmaOutcome(closure.states, cases)
        return LemmaOutcome(closure.states, cases, *self._refuted(design, precision, closure.witness))

    def observed(self, scores: np.ndarray, precision: Precision) -> np.ndarray:
        return scores if self.exactly else exp(scores, precision)

    def wanted(self, scores: np.ndarray, single: Single, unseen: bool, precision: Precision) -> np.ndarray:
        if unseen or single.unseen:
            return np.full(scores.shape, -precision.bound if self.exactly else 0)
        return self.observed(np.full(scores.shape, precision.bound) if single.boosted else scores, precision)

    def _refuted(self, design: HeadDesign, precision: Precision, witness: Witness) -> tuple[str, Replayed]:
        before, single, there, wanted = witness.flaw
        what = "score" if self.exactly else "exp"
        given = [letter.name for letter in witness.letters]
        if gadget_programs.score in design.before:
            given.append(f"score {precision.meaning(before)}")
        given += [name for name in ("boosted", "hidden") if getattr(single, name)]
        given += ["sees hidden keys"] if not single.hides else []
        sentence = f"{', '.join(given)}: {what} {precision.meaning(there)}, not {precision.meaning(wanted)}"
        return sentence, _replay(self, design, precision, witness)


@dataclass(frozen=True)
class SeenOrNot(ScoreQuestion):
    """Is the score exactly B where the key is seen, and exactly -B where it is not or is hidden?"""

    exactly: bool = True

    def wanted(self, scores: np.ndarray, single: Single, unseen: bool, precision: Precision) -> np.ndarray:
        return np.full(scores.shape, -precision.bound if unseen or single.unseen else precision.bound)


class _Sides:
    """Runs columns over whole functions: arrays with one entry per number of F_p."""

    def __init__(self, pieces: Pieces, precision: Precision) -> None:
        self.pieces, self.precision = pieces, precision

    def run(self, columns: tuple[Column, ...], query: Contents, key: Contents, sums: np.ndarray) -> np.ndarray:
        one = self.precision.one
        query = {"one": one, **{name: one * value for name, value in query.items()}}
        key = {"one": one, **{name: value if name == "score" else one * value for name, value in key.items()}}
        for column in columns:
            sums = add(sums, column.term(query, key, self.precision), self.precision)
        return sums

    def whole(self, function: np.ndarray, scores: np.ndarray, single: Single) -> np.ndarray:
        """The score after all columns, for every score before them."""
        sums = np.zeros_like(scores)
        sums = self.run(self.pieces.before, {"boosted": single.boosted}, {"score": scores}, sums)
        for _ in range(self.pieces.passes):
            sums = function[sums + self.precision.bound]
        return self.run(self.pieces.after, {"hides": single.hides}, {"hidden": single.hidden}, sums)


def _values(columns: tuple[Column, ...], register: str) -> tuple[int, ...]:
    """The values that a flag takes: 0 alone where no column reads it."""
    names = {name for column in columns for name, _, _ in (*column.query, *column.key)}
    return (0, 1) if register in names else (0,)


def _replay(question: ScoreQuestion, design: HeadDesign, precision: Precision, witness: Witness) -> Replayed:
    """Two rows with the same query: the key in question and one that it does see. The engine's weight of the first."""
    before, single, _, _ = witness.flaw
    program, _ = design.emit(len(witness.letters), rows=2, values=1)
    residual = np.zeros((1, 2, program.width), dtype=np.int64)
    residual[..., program.columns("one")] = precision.one
    residual[..., program.columns("boosted")] = precision.one * single.boosted
    residual[..., program.columns("hides")] = precision.one * single.hides
    residual[0, 0, program.columns("score")] = before
    residual[0, 0, program.columns("hidden")] = precision.one * single.hidden
    for i, letter in enumerate(witness.letters):
        for row, contents in ((0, letter.key), (1, letter.plain), (slice(None), letter.query)):
            for name, value in contents:
                residual[0, row, program.columns(name)[i if name in INDEXED else 0]] = precision.one * value
    unseen = bool(question.ends.unseen(witness.state[1]))
    keys = [question.wanted(np.array([s]), v, u, precision) for s, v, u in (
        (before, single, unseen), (0, Single(single.boosted, 0), False))]  # fmt: skip
    exps = np.concatenate(keys) if not question.exactly else exp(np.concatenate(keys), precision)
    wanted = int(divide(exps, total(exps, precision), precision)[0])
    seen: dict[str, np.ndarray] = {}
    session = ReferenceEngine().session(assemble(program, precision))
    try:
        session.layers(residual, 0, 1, watch=lambda name, value: seen.update({name: value.copy()}))
    except AttendsToNothing:
        return Replayed("the engine divides by zero", True)
    weight = int(seen["layers.0.heads.0.weights"][0, 1, 0])
    text = f"the engine gives the key the weight {precision.meaning(weight)}, not {precision.meaning(wanted)}"
    return Replayed(text, weight != wanted)


def scaled_equality(precision: Precision, *, printed: bool = False) -> LemmaOutcome:
    """EQ with [B/m] for B scores exactly max(-B, -2[B/m]·h), h bits differing, for every m >= 1 and every width.

    There are finitely many [B/m]. `printed`: at most max(-B, -2B/m) wherever a bit differs, as the paper has it.
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
        sides = _Sides(pieces, precision)

        def moves(state, sides=sides, block=pieces.block, enough=enough):
            for letter in codes()(False):
                after = sides.run(block, dict(letter.query), dict(letter.key), np.array(state[0]))
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
    """The score of the whole head, by its matrices."""
    program, _ = HeadDesign(block=gadget_programs.eq_scaled(scale)).emit(len(witness.letters))
    head = layer_of(program, precision).heads[0]
    rows = np.zeros((2, program.width), dtype=np.int64)
    rows[:, program.columns("one")] = precision.one
    for i, letter in enumerate(witness.letters):
        rows[0, program.columns("asked")[i]] = precision.one * dict(letter.query)["asked"]
        rows[1, program.columns("code")[i]] = precision.one * dict(letter.key)["code"]
    q, k = (weighted(rows, w.rows(), w.shape[1], precision) for w in (head.wq, head.wk))
    score = int(inner_products(q, k.T, precision)[0, 1])
    text = f"m = {m}, {', '.join(letter.name for letter in witness.letters)}: score {precision.meaning(witness.flaw)}"
    return text, Replayed(f"the engine's score is {precision.meaning(score)}", score == witness.flaw)


def encoded(precision: Precision) -> LemmaOutcome:
    """From a number in one-hot code of any width, the query forms of EQ: ±B by its bits, and 0 without a number.

    The form of bit i sums -B or B times every column; the fold has at most one column that is 1, wherever it is.
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


# Alphabets ------------------------------------------------------------------------------------------------------------


def codes(digits: tuple[int, ...] = (-1, 1)) -> Alphabet:
    """Signed bits; a row without a code holds 0 and agrees with nothing. Known: has some bit disagreed?"""

    def alphabet(differs: Facts) -> Iterable[CodeLetter]:
        for a, b in product(digits, repeat=2):
            agrees = a == b and a != 0
            name = "bits agree" if agrees else "bits differ" if a and b else "no code"
            yield CodeLetter((("asked", a),), (("code", b),), (("code", a),), differs or not agrees, name)

    return alphabet


def cares(differs: Facts) -> Iterable[CodeLetter]:
    """A key that asks for a bit, or does not care for it. Known: has some bit disagreed?"""
    for bit, wanted in product((-1, 1), (-1, 0, 1)):
        name = "no care" if not wanted else "bits agree" if bit == wanted else "bits differ"
        key = (("code", wanted), ("care", abs(wanted)))
        yield CodeLetter((("asked", bit),), key, (), differs or wanted == -bit, name)


def optional(known: Facts) -> Iterable[CodeLetter]:
    """Queries that may not ask, keys that may not care. Known: (does it ask, does it care, has some bit disagreed)."""
    for asks, care in product((0, 1), repeat=2) if known is None else (known[:2],):
        for a, b in product((-1, 1), repeat=2):
            differs = (known is not None and known[2]) or bool(asks and care and a != b)
            name = "does not ask" if not asks else "no care" if not care else "bits agree" if a == b else "bits differ"
            query, key = (("asked", a * asks), ("asks", asks)), (("code", b * care), ("cares", care))
            yield CodeLetter(query, key, (("code", a * asks), ("cares", asks)), (asks, care, differs), name)


def rising(above: Facts) -> Iterable[CodeLetter]:
    """Numbers from the lowest bit on. Known: is the key's above the query's so far?"""
    for a, b in product((-1, 1), repeat=2):
        name = "bits agree" if a == b else "a bit above" if b > a else "a bit below"
        yield CodeLetter((("asked", a),), (("code", b),), (("code", a),), b > a if a != b else above, name)


def falling(known: Facts) -> Iterable[CodeLetter]:
    """Numbers from the highest bit on. Known: (has some bit differed, is the key's number above the query's)."""
    for letter in rising(False):
        differs, above = known or (False, False)
        now = letter.query[0][1] != letter.key[0][1]
        yield replace(letter, then=(True, above) if differs else (now, letter.then))


def positions(known: Facts) -> Iterable[CodeLetter]:
    """Positions in order. Known: (is the query's over, is the key's over, does the key come later)."""
    query_over, key_over, later = known
    for is_query in (False,) if query_over else (False, True):
        for is_key in (False,) if key_over else (False, True):
            then = (query_over or is_query, key_over or is_key, later or (is_key and query_over))
            name = {(0, 0): "·", (1, 0): "query", (0, 1): "key", (1, 1): "both"}[is_query, is_key]
            asked = (("asked", int(query_over)),)
            yield CodeLetter(asked, (("code", int(is_key)),), (("code", int(is_query)),), then, name)


DIFFERS = Ends(lambda differs: bool(differs))
ASKED = Ends(lambda known: known is not None and known[2], None)
ABOVE = Ends(lambda above: bool(above))
ABOVE_FROM_THE_TOP = Ends(lambda known: known is not None and known[1], None)
LATER = Ends(lambda known: known[2] if known[0] and known[1] else None, (False, False, False))
