"""The list of all lemmas about gadgets, with wrong variants, and the items of the paper that depend on them."""

import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from unmask.numerics.arithmetic import Precision
from unmask.paper.lemmas import gadget_programs, integer_lemmas, mlp_lemmas, score_lemmas, softmax_lemmas
from unmask.paper.lemmas.gadget_programs import HeadDesign
from unmask.paper.lemmas.lemma import Decide, Lemma, LemmaEvidence, LemmaOutcome, Variant, evidence
from unmask.paper.lemmas.mlp_lemmas import FlagGate
from unmask.paper.lemmas.score_lemmas import (
    ABOVE,
    ABOVE_FROM_THE_TOP,
    DIFFERS,
    DIFFERS_IF_ASKED,
    LATER,
    ScoreQuestion,
    VisibilityQuestion,
    care_letters,
    code_letters,
    falling_letters,
    optional_letters,
    position_letters,
    rising_letters,
)
from unmask.programs.gadgets.attention import focus_copies
from unmask.programs.program import ONE, B

CODES = ScoreQuestion(code_letters(), DIFFERS)
CARES = ScoreQuestion(care_letters, DIFFERS)
OPTIONAL = ScoreQuestion(optional_letters, DIFFERS_IF_ASKED)
POSITIONS = ScoreQuestion(position_letters, LATER)
AT_MOST = VisibilityQuestion(rising_letters, ABOVE)
FROM_THE_TOP = VisibilityQuestion(falling_letters, ABOVE_FROM_THE_TOP)


def _head(question: ScoreQuestion, design: HeadDesign) -> Decide:
    return partial(question.decide, design)


def _score_columns(*pieces: gadget_programs.Piece) -> Decide:
    """Decide a head of these pieces without a block, after any score."""
    return _head(CODES, HeadDesign((gadget_programs.score,), after=pieces))


def _focus(copies: int) -> HeadDesign:
    return HeadDesign((gadget_programs.score,), gadget_programs.focus(copies), copies)


def _boost_focus_hide(copies: int) -> HeadDesign:
    return HeadDesign(
        (gadget_programs.score, gadget_programs.boost),
        gadget_programs.focus(copies),
        copies,
        (gadget_programs.hide(2),),
    )


def _focus_for_some(copies: int, hide: int) -> HeadDesign:
    return HeadDesign(
        (gadget_programs.score,), gadget_programs.focus_some(copies), copies, (gadget_programs.hide_from_some(hide),)
    )


def _see_earlier(copies: int) -> HeadDesign:
    return HeadDesign((gadget_programs.score,), gadget_programs.see_earlier(copies), copies, tail=2)


def _at_most(copies: int, *after: gadget_programs.Piece) -> HeadDesign:
    return HeadDesign((gadget_programs.see_all,), gadget_programs.none_above(copies), after=after)


def _no_flag(some: bool, every: bool) -> bool:  # noqa: ARG001
    return not some


def _some_flag(some: bool, every: bool) -> bool:  # noqa: ARG001
    return some


def _every_flag(some: bool, every: bool) -> bool:  # noqa: ARG001
    return every


def _both(*decisions: Decide) -> Decide:
    """Decide several statements: return the outcome of the first that fails, or that of all together."""

    def decide(precision: Precision) -> LemmaOutcome:
        outcomes = [decision(precision) for decision in decisions]
        failed = [outcome for outcome in outcomes if not outcome.holds]
        if failed:
            return failed[0]
        return LemmaOutcome(sum(o.states for o in outcomes), sum(o.cases for o in outcomes))

    return decide


def _both_signs(decide: Callable[..., LemmaOutcome], emit: gadget_programs.Emit) -> Decide:
    return _both(partial(decide, emit), partial(decide, emit, target="negative"))


def _argmax(emit: gadget_programs.Emit) -> Decide:
    return partial(mlp_lemmas.argmax, emit)


def _threshold(emit: gadget_programs.Emit) -> Decide:
    return partial(mlp_lemmas.each_column, emit, mlp_lemmas.is_positive)


def _integers(emit: gadget_programs.Emit, operation: integer_lemmas.Operation) -> Decide:
    return partial(integer_lemmas.decide, emit, operation)


ATTENTION, MLP, INTEGERS, WHOLE_LAYERS = (
    f"programs/gadgets/{name}.py" for name in ("attention", "mlp", "integers", "whole_layers")
)

LEMMAS: tuple[Lemma, ...] = (
    Lemma(
        "EQ",
        "For codes of any number of bits the score is 0 if they are equal and exactly -B if not; a row without a code "
        "(all 0) is not equal to any code. After EQ, HIDE needs its column only once.",
        ATTENTION,
        _both(
            _head(softmax_lemmas.EQ, HeadDesign(block=gadget_programs.eq)),
            _head(softmax_lemmas.EQ, HeadDesign(block=gadget_programs.eq, after=(gadget_programs.hide(1),))),
        ),
        (
            Variant("only B·a_i·b_i", _head(CODES, HeadDesign(block=gadget_programs.eq_without_ones))),
            Variant("[B/2] for B, exponentials", _head(CODES, HeadDesign(block=gadget_programs.eq_in_halves))),
        ),
        most=8,
    ),
    Lemma(
        "EQ, scaled",
        "With [B/m] for B, m = 1, 2, …, and codes of any number of bits, of which h differ: the score is exactly "
        "max(-B, -2·[B/m]·h).",
        "numerics/number_lemmas.py",
        score_lemmas.scaled_equality,
        (Variant("as printed, at most -2B/m", partial(score_lemmas.scaled_equality, printed=True)),),
    ),
    Lemma(
        "ENCODED",
        "The query forms of a number in one-hot code of any width are its signed bits times B, and 0 for no number.",
        ATTENTION,
        score_lemmas.encoded,
        most=8,
    ),
    Lemma(
        "LOOKUP",
        "If exactly one of any number of rows has the code: Z = 1, its weight is 1, the others' are 0, and any value "
        "of F_p, in any number of columns, is copied exactly.",
        ATTENTION,
        softmax_lemmas.lookup,
        (Variant("two rows with the code, of the same value", partial(softmax_lemmas.lookup, matches=2)),),
        most=8,
    ),
    Lemma(
        "FOCUS, two copies",
        "For every score before and codes of any number of bits: the exponential does not change if they are equal, "
        "and becomes 0 if not.",
        ATTENTION,
        _head(CODES, _focus(2)),
        (Variant("one copy", _head(CODES, _focus(1))),),
        least=2,
        most=8,
    ),
    Lemma(
        "FOCUS, three copies",
        "The same, from p = 1 on.",
        ATTENTION,
        _head(CODES, _focus(3)),
        (Variant("two copies, p = 1", _head(CODES, _focus(2))),),
        most=8,
    ),
    Lemma(
        "FOCUS with care bits, two copies",
        "The same for keys that require some bits of the query's code and do not care about the others; then HIDE.",
        "programs/simulation.py",
        _head(CARES, _see_earlier(2)),
        (Variant("one copy", _head(CARES, _see_earlier(1))),),
        least=2,
        most=8,
    ),
    Lemma(
        "FOCUS with care bits, three copies",
        "The same, from p = 1 on.",
        "programs/simulation.py",
        _head(CARES, _see_earlier(3)),
        most=8,
    ),
    Lemma(
        "FOCUS for some, HIDE from some",
        "FOCUS with the number of copies that p requires, where queries that do not ask see every key and keys that do "
        "not care are seen by every query; then HIDE only from the flagged queries.",
        ATTENTION,
        lambda precision: OPTIONAL.decide(_focus_for_some(focus_copies(precision.p), 2), precision),
        (
            Variant("one copy of FOCUS", _head(OPTIONAL, _focus_for_some(1, 2))),
            Variant(
                "HIDE once",
                lambda precision: OPTIONAL.decide(_focus_for_some(focus_copies(precision.p), 1), precision),
            ),
        ),
        most=8,
    ),
    Lemma(
        "HIDE",
        "For every score before: the exponential of a flagged key is 0, that of any other key does not change.",
        ATTENTION,
        _score_columns(gadget_programs.hide(2)),
        (
            Variant("once", _score_columns(gadget_programs.hide(1))),
            Variant("without BOOST, all keys hidden", softmax_lemmas.division_by_zero),
        ),
        most=8,
    ),
    Lemma(
        "HIDE LATER",
        "For any number of positions: the exponentials of keys after the query's position are 0, the others do not "
        "change.",
        ATTENTION,
        _head(POSITIONS, HeadDesign((gadget_programs.score,), gadget_programs.hide_later, 2)),
        (Variant("once", _head(POSITIONS, HeadDesign((gadget_programs.score,), gadget_programs.hide_later_once))),),
        most=8,
    ),
    Lemma(
        "BOOST",
        "For every score before: a flagged query scores B on every key, any other query keeps its scores.",
        ATTENTION,
        _head(
            ScoreQuestion(code_letters(), DIFFERS, exactly=True),
            HeadDesign((gadget_programs.score, gadget_programs.boost)),
        ),
        (Variant("once", _head(CODES, HeadDesign((gadget_programs.score, gadget_programs.boost_once)))),),
        most=8,
    ),
    Lemma(
        "BOOST, FOCUS, HIDE",
        "In this order in one head, with three copies of FOCUS for p = 1 and two otherwise, for every score before: "
        "the exponential of a key that is hidden or has another code is 0. On other keys it is B for a flagged query, "
        "and otherwise does not change.",
        ATTENTION,
        lambda precision: CODES.decide(_boost_focus_hide(focus_copies(precision.p)), precision),
        (Variant("two copies of FOCUS, p = 1", _head(CODES, _boost_focus_hide(2))),),
        most=8,
    ),
    Lemma(
        "VISIBLE ROWS",
        "Softmax and the sum of values over any number of rows, some of them hidden, are those over the visible rows.",
        "engines/reference.py",
        softmax_lemmas.visible_rows_alone,
    ),
    Lemma(
        "DETECT",
        "For any number of rows with score 0: THRESH of the average of flags is 1 if and only if some flag is 1.",
        WHOLE_LAYERS,
        softmax_lemmas.detection,
        (Variant("codes 0 and 1/2", lambda precision: softmax_lemmas.detection(precision, code=precision.one // 2)),),
    ),
    Lemma(
        "EMPTY",
        "For any number of rows, one of them the sentinel, with any scores before: 1 if no other row has an "
        "exponential above 0, else 0.",
        WHOLE_LAYERS,
        partial(softmax_lemmas.sees_nothing, gadget_programs.empty),
        (
            Variant("the sentinel scores 0", partial(softmax_lemmas.sees_nothing, gadget_programs.empty_at_zero)),
            Variant("HIDE once", partial(softmax_lemmas.sees_nothing, gadget_programs.empty_hidden_once)),
            Variant("THRESH of the share", partial(softmax_lemmas.sees_nothing, gadget_programs.empty_by_threshold)),
        ),
    ),
    Lemma(
        "AT MOST",
        "For numbers of any number of bits the score is exactly B if the key's number is at most the query's, and "
        "exactly -B if not; after HIDE it is -B on hidden keys, too.",
        ATTENTION,
        _both(_head(AT_MOST, _at_most(2)), _head(AT_MOST, _at_most(2, gadget_programs.hide(2)))),
        (
            Variant("each column once", _head(AT_MOST, _at_most(1))),
            Variant("the highest bit first", _head(FROM_THE_TOP, _at_most(2))),
            Variant("HIDE once", _head(AT_MOST, _at_most(2, gadget_programs.hide(1)))),
        ),
        most=8,
    ),
    Lemma(
        "LATEST",
        "For any number of rows with score B, some of which have one of two flags, each flag in two consecutive rows: "
        "B if the last flag is of the first kind, -B if it is of the second, 0 without flags.",
        ATTENTION,
        softmax_lemmas.latest,
        (Variant("one row for every flag", partial(softmax_lemmas.latest, rows=1)),),
        most=8,
    ),
    Lemma(
        "NOR",
        "ReLU(1 - Σ x_i) is NOR of any number of flags, as a hidden unit and as an output column, in any order.",
        MLP,
        _both(FlagGate(gadget_programs.nor, _no_flag).decide, FlagGate(gadget_programs.outer_nor, _no_flag).decide),
        (
            Variant("an OR as the sum of flags", FlagGate(gadget_programs.plain_or, _some_flag).decide),
            Variant("weights -2^-p", FlagGate(gadget_programs.scaled_nor, _no_flag).decide),
        ),
    ),
    Lemma(
        "AND",
        "ReLU(x - Σ y_i) is x ∧ ¬y_1 ∧ … ∧ ¬y_k for any number k of flags, in any order of the columns.",
        MLP,
        partial(mlp_lemmas.conjunction, gadget_programs.conjunction),
        (Variant("textbook, ReLU(Σ x_i - (k - 1))", FlagGate(gadget_programs.textbook_and, _every_flag).decide),),
    ),
    Lemma(
        "THRESH",
        "[x > 0] for every number x, in any number of columns.",
        MLP,
        _threshold(gadget_programs.threshold),
        (
            Variant("one unit", _threshold(gadget_programs.threshold_once)),
            Variant("factor 1", _threshold(gadget_programs.threshold_by_one)),
        ),
        most=8,
    ),
    Lemma("ONEHOT", "[x = v] for all numbers x and v.", MLP, mlp_lemmas.one_hot),
    Lemma(
        "ARGMAX",
        "The unit vector of the largest of any number of numbers; the lowest index wins ties.",
        MLP,
        _argmax(gadget_programs.argmax),
        (
            Variant("factor 1", _argmax(gadget_programs.argmax_variant(factor=ONE))),
            Variant("one unit per rival", _argmax(gadget_programs.argmax_variant(copies=1))),
            Variant("factor B, one unit per rival", _argmax(gadget_programs.argmax_variant(factor=B, copies=1))),
            Variant("without breaking ties", _argmax(gadget_programs.argmax_variant(ties=False))),
        ),
    ),
    Lemma(
        "SELECT",
        "The two signs of entry d of any number of numbers, in any order of the columns.",
        MLP,
        _both_signs(mlp_lemmas.select, gadget_programs.select),
        (Variant("ReLU(x_i + B·e_i - B)", _both_signs(mlp_lemmas.select, gadget_programs.select_by_adding)),),
    ),
    Lemma(
        "PROJECT",
        "Entry d of any number of flags.",
        MLP,
        partial(mlp_lemmas.select, gadget_programs.project, bits=True, target="y"),
    ),
    Lemma(
        "GATE",
        "The two signs of x if none of any number of flags is 1, else 0, for every number x.",
        MLP,
        _both_signs(mlp_lemmas.gate, gadget_programs.gate),
    ),
    Lemma(
        "ADD",
        "a + b and its carry out, in dual rail, for numbers of any number of bits.",
        INTEGERS,
        _integers(gadget_programs.sum_of, integer_lemmas.ADDITION),
        (
            Variant(
                "without the unit for no carry in", _integers(gadget_programs.difference_of, integer_lemmas.ADDITION)
            ),
        ),
    ),
    Lemma(
        "SUBTRACT",
        "a - b modulo 2^k and [a >= b], in dual rail, for numbers of any number k of bits.",
        INTEGERS,
        _integers(gadget_programs.difference_of, integer_lemmas.SUBTRACTION),
    ),
    Lemma(
        "COMPARE",
        "[a >= b] and [a < b] in two MLPs, for numbers of any number of bits.",
        INTEGERS,
        _integers(gadget_programs.comparison_of, integer_lemmas.COMPARISON),
    ),
)

BY_NAME = {lemma.name: lemma for lemma in LEMMAS}

_FOCUS = ("FOCUS, two copies", "FOCUS, three copies", "BOOST, FOCUS, HIDE", "VISIBLE ROWS")
CITED: dict[str, tuple[str, ...]] = {
    "lem:pos-enc-properties": ("EQ", "LOOKUP"),
    "lem:our-pos-enc-properties": ("EQ, scaled",),
    "lem:mlp-arithmetic-operations": ("NOR", "AND", "ADD", "SUBTRACT", "COMPARE"),
    "lem:ignore-positions": ("HIDE", "BOOST", "VISIBLE ROWS"),
    "lem:focus-on-marked-positions": _FOCUS,
    "prop:cot-as-pcot": ("LOOKUP", "FOCUS for some, HIDE from some", "VISIBLE ROWS"),
    "lem:detection": ("THRESH", "DETECT"),
    "lem:select-block": ("LOOKUP", "AND"),
    "lem:binary-encoding": ("LOOKUP", "AND"),
    "lem:mlp-for-argmax": ("ARGMAX",),
    "lem:projection-mlp": ("PROJECT", "SELECT"),
    "lem:mask-conversion": ("LOOKUP", *_FOCUS),
    "lem:unmask-conversion-fp": (
        "LOOKUP",
        "HIDE",
        "FOCUS with care bits, two copies",
        "FOCUS with care bits, three copies",
        *_FOCUS,
    ),
    "lem:idenitity-dump": ("LOOKUP", "SELECT", "ONEHOT"),
}
"""The lemmas that an item of the paper depends on. They do not replace the item's own check."""


@cache
def decided_lemma(name: str, most: int = 4) -> LemmaEvidence:
    """Decide a lemma for p = 1 … most and return the evidence; raise `LemmaRefuted` if it does not hold."""
    return evidence(BY_NAME[name], most=most)


def cited_lemmas(label: str, most: int = 4) -> tuple[LemmaEvidence, ...]:
    """Decide the lemmas on which an item of the paper depends, and return their evidence."""
    return tuple(decided_lemma(name, most) for name in CITED.get(label, ()))


def decided_lemmas(*names: str, most: int = 4) -> tuple[LemmaEvidence, ...]:
    """Decide the named lemmas, by default all, and return their evidence."""
    return tuple(decided_lemma(name, most) for name in names or BY_NAME)


# Lemmas → the table of a page (`python -m unmask.paper.lemmas.all_lemmas docs/reference/gadgets.md`).


BEGIN, END = "<!-- lemmas -->\n", "<!-- end of lemmas -->"
LARGEST_DECIDED_PRECISION = 8
"""The largest p that is decided for lemmas that are cheap to decide."""


def lemma_tables(decided: tuple[LemmaEvidence, ...]) -> str:
    """Return two Markdown tables: statements and wrong variants."""
    lines = ["| gadget | for every width | least p | decided for p = | states |", "|---|---|---|---|---|"]
    for result in decided:
        row = f"{result.name} | {result.statement} | {result.least} | {_range_text(result.holds)} | {result.states:,}"
        lines.append(f"| {row} |")
    lines += [
        "",
        "| gadget | wrong variant | fails at p = | shortest counterexample | replayed |",
        "|---|---|---|---|---|",
    ]
    for result in decided:
        for wrong in result.refutations:
            text = f"p = {wrong.p}: {wrong.counterexample}"
            lines.append(
                f"| {result.name} | {wrong.variant} | {_range_text(wrong.fails)} | {text} | {wrong.replayed} |"
            )
    return "\n".join(lines) + "\n"


def _range_text(precisions: tuple[int, ...]) -> str:
    """Return consecutive numbers as `1` or `1 … 4`."""
    assert precisions == tuple(range(precisions[0], precisions[-1] + 1))
    return str(precisions[0]) if len(precisions) == 1 else f"{precisions[0]} … {precisions[-1]}"


def page_with_tables(page: str, decided: tuple[LemmaEvidence, ...]) -> str:
    """Return the page with the tables between its markers."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + lemma_tables(decided) + END + rest.split(END)[1]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(
        page_with_tables(path.read_text(encoding="utf-8"), decided_lemmas(most=LARGEST_DECIDED_PRECISION)),
        encoding="utf-8",
    )
