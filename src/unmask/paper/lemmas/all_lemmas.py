"""Every lemma about a gadget, with variants that look right but are wrong."""

import sys
from functools import cache, partial
from pathlib import Path

from unmask.numerics.arithmetic import Precision
from unmask.paper.lemmas import carry_lemmas, gadget_programs, mlp_lemmas, score_lemmas, softmax_lemmas
from unmask.paper.lemmas import mlp_lemmas as gates
from unmask.paper.lemmas import mlp_lemmas as selection
from unmask.paper.lemmas.gadget_programs import HeadDesign
from unmask.paper.lemmas.lemma import Decide, Lemma, LemmaEvidence, LemmaOutcome, Variant, evidence
from unmask.paper.lemmas.score_lemmas import (
    ABOVE,
    ABOVE_FROM_THE_TOP,
    ASKED,
    DIFFERS,
    LATER,
    ScoreQuestion,
    SeenOrNot,
    cares,
    codes,
    falling,
    optional,
    positions,
    rising,
)
from unmask.programs.gadgets.attention import focus_copies
from unmask.programs.program import ONE, B

CODES = ScoreQuestion(codes(), DIFFERS)
CARES = ScoreQuestion(cares, DIFFERS)
OPTIONAL = ScoreQuestion(optional, ASKED)
POSITIONS = ScoreQuestion(positions, LATER)
AT_MOST = SeenOrNot(rising, ABOVE)
FROM_THE_TOP = SeenOrNot(falling, ABOVE_FROM_THE_TOP)


def _head(question: ScoreQuestion, design: HeadDesign) -> Decide:
    return partial(question.decide, design)


def _focus(copies: int) -> HeadDesign:
    return HeadDesign((gadget_programs.score,), gadget_programs.focus(copies), copies)


def _restricted(copies: int) -> HeadDesign:
    return HeadDesign(
        (gadget_programs.score, gadget_programs.boost),
        gadget_programs.focus(copies),
        copies,
        (gadget_programs.hide(2),),
    )


def _for_some(copies: int, hide: int) -> HeadDesign:
    return HeadDesign(
        (gadget_programs.score,), gadget_programs.focus_some(copies), copies, (gadget_programs.hide_from_some(hide),)
    )


def _earlier(copies: int) -> HeadDesign:
    return HeadDesign((gadget_programs.score,), gadget_programs.see_earlier(copies), copies, tail=2)


def _at_most(copies: int, *after: gadget_programs.Piece) -> HeadDesign:
    return HeadDesign((gadget_programs.see_all,), gadget_programs.none_above(copies), after=after)


def _none(some: bool, every: bool) -> bool:  # noqa: ARG001
    return not some


def _some(some: bool, every: bool) -> bool:  # noqa: ARG001
    return some


def _every(some: bool, every: bool) -> bool:  # noqa: ARG001
    return every


def _both(*decisions: Decide) -> Decide:
    """Return a decision of several statements: the outcome of the first that fails, or of all."""

    def decide(precision: Precision) -> LemmaOutcome:
        outcomes = [decision(precision) for decision in decisions]
        failed = [outcome for outcome in outcomes if not outcome.holds]
        if failed:
            return failed[0]
        return LemmaOutcome(sum(o.states for o in outcomes), sum(o.cases for o in outcomes))

    return decide


def _argmax(emit: gadget_programs.Emit) -> Decide:
    return partial(mlp_lemmas.argmax, emit)


def _selected(emit: gadget_programs.Emit) -> Decide:
    return _both(partial(selection.select, emit), partial(selection.select, emit, target="negative"))


GADGETS = "programs/gadgets"
LOGIC, INTEGERS = f"{GADGETS}/mlp.py", f"{GADGETS}/integers.py"

LEMMAS: tuple[Lemma, ...] = (
    Lemma(
        "EQ",
        "For codes of any number of bits the score is 0 if they are equal and exactly -B if not; a row without a code "
        "(all 0) is equal to none. After it, HIDE needs its column once.",
        f"{GADGETS}/attention.py",
        _both(
            _head(softmax_lemmas.EQ, HeadDesign(block=gadget_programs.eq)),
            _head(softmax_lemmas.EQ, HeadDesign(block=gadget_programs.eq, after=(gadget_programs.hide(1),))),
        ),
        (
            Variant("B·a_i·b_i alone", _head(CODES, HeadDesign(block=gadget_programs.eq_without_ones))),
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
        "The query forms of a number in one-hot code of any width are its signed bits times B; 0 without a number.",
        f"{GADGETS}/attention.py",
        score_lemmas.encoded,
        most=8,
    ),
    Lemma(
        "LOOKUP",
        "Among any number of rows of which one has the code: Z = 1, its weight is 1, the others' 0, and any value of "
        "F_p, in any number of columns, is copied exactly.",
        f"{GADGETS}/attention.py",
        softmax_lemmas.lookup,
        (Variant("two rows with the code, of the same value", partial(softmax_lemmas.lookup, matches=2)),),
        most=8,
    ),
    Lemma(
        "FOCUS, two copies",
        "For every score before and codes of any number of bits: the exponential stays as it is if they are equal, "
        "else it becomes 0.",
        f"{GADGETS}/attention.py",
        _head(CODES, _focus(2)),
        (Variant("one copy", _head(CODES, _focus(1))),),
        least=2,
        most=8,
    ),
    Lemma(
        "FOCUS, three copies",
        "The same, from p = 1 on.",
        f"{GADGETS}/attention.py",
        _head(CODES, _focus(3)),
        (Variant("two copies, p = 1", _head(CODES, _focus(2))),),
        most=8,
    ),
    Lemma(
        "FOCUS with care bits, two copies",
        "The same for keys that ask for some bits of the query's code and do not care for the others; then HIDE.",
        "programs/simulation.py",
        _head(CARES, _earlier(2)),
        (Variant("one copy", _head(CARES, _earlier(1))),),
        least=2,
        most=8,
    ),
    Lemma(
        "FOCUS with care bits, three copies",
        "The same, from p = 1 on.",
        "programs/simulation.py",
        _head(CARES, _earlier(3)),
        most=8,
    ),
    Lemma(
        "FOCUS for some, HIDE from some",
        "FOCUS as often as p asks for, where queries that do not ask see every key and keys that do not care are seen "
        "by every query; then HIDE from the flagged queries alone.",
        f"{GADGETS}/attention.py",
        lambda precision: OPTIONAL.decide(_for_some(focus_copies(precision.p), 2), precision),
        (
            Variant("one copy of FOCUS", _head(OPTIONAL, _for_some(1, 2))),
            Variant("HIDE once", lambda precision: OPTIONAL.decide(_for_some(focus_copies(precision.p), 1), precision)),
        ),
        most=8,
    ),
    Lemma(
        "HIDE",
        "For every score before: the exponential of a flagged key is 0, that of another stays as it is.",
        f"{GADGETS}/attention.py",
        _head(CODES, HeadDesign((gadget_programs.score,), after=(gadget_programs.hide(2),))),
        (
            Variant("once", _head(CODES, HeadDesign((gadget_programs.score,), after=(gadget_programs.hide(1),)))),
            Variant("without BOOST, all keys hidden", softmax_lemmas.division_by_zero),
        ),
        most=8,
    ),
    Lemma(
        "HIDE LATER",
        "For any number of positions: keys beyond the query's position have exponential 0, the others keep theirs.",
        f"{GADGETS}/attention.py",
        _head(POSITIONS, HeadDesign((gadget_programs.score,), gadget_programs.hide_later, 2)),
        (
            Variant(
                "once",
                _head(POSITIONS, HeadDesign((gadget_programs.score,), gadget_programs.hide_later_once)),
            ),
        ),
        most=8,
    ),
    Lemma(
        "BOOST",
        "For every score before: a flagged query scores B on every key, another keeps its scores.",
        f"{GADGETS}/attention.py",
        _head(
            ScoreQuestion(codes(), DIFFERS, exactly=True), HeadDesign((gadget_programs.score, gadget_programs.boost))
        ),
        (Variant("once", _head(CODES, HeadDesign((gadget_programs.score, gadget_programs.boost_once)))),),
        most=8,
    ),
    Lemma(
        "BOOST, FOCUS, HIDE",
        "In this order in one head, with three copies of FOCUS at p = 1 and two else, for every score before: 0 on "
        "keys that are hidden or have another code; elsewhere B for a flagged query, else the exponential as it was.",
        f"{GADGETS}/attention.py",
        lambda precision: CODES.decide(_restricted(focus_copies(precision.p)), precision),
        (Variant("two copies of FOCUS, p = 1", _head(CODES, _restricted(2))),),
        most=8,
    ),
    Lemma(
        "VISIBLE ROWS",
        "Softmax and the sum of values over any number of rows, hidden ones among them, are those over the visible "
        "rows alone.",
        "engines/reference.py",
        softmax_lemmas.visible_rows_alone,
    ),
    Lemma(
        "DETECT",
        "For any number of rows with score 0: THRESH of the average of flags is 1 if and only if some flag is 1.",
        "programs/gadgets/whole_layers.py",
        softmax_lemmas.detection,
        (Variant("codes 0 and 1/2", lambda precision: softmax_lemmas.detection(precision, code=precision.one // 2)),),
    ),
    Lemma(
        "EMPTY",
        "For any number of rows with any scores before, one of which is the sentinel: 1 if no other row has an "
        "exponential above 0, else 0.",
        "programs/gadgets/whole_layers.py",
        partial(softmax_lemmas.sees_nothing, gadget_programs.empty),
        (
            Variant("the sentinel scores 0", partial(softmax_lemmas.sees_nothing, gadget_programs.empty_at_zero)),
            Variant("HIDE once", partial(softmax_lemmas.sees_nothing, gadget_programs.empty_hidden_once)),
            Variant("THRESH of the share", partial(softmax_lemmas.sees_nothing, gadget_programs.empty_by_threshold)),
        ),
    ),
    Lemma(
        "AT MOST",
        "For numbers of any number of bits the score is exactly B if the key's is at most the query's, and exactly -B "
        "if not; after HIDE -B on hidden keys, too.",
        f"{GADGETS}/attention.py",
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
        "For any number of rows with score B, of which some have one of two flags, and every flag stands in two rows, "
        "one behind the other: B if the last flag is the first of the two, -B if it is the other, 0 without a flag.",
        f"{GADGETS}/attention.py",
        softmax_lemmas.latest,
        (Variant("one row for every flag", partial(softmax_lemmas.latest, rows=1)),),
        most=8,
    ),
    Lemma(
        "NOR",
        "ReLU(1 - Σ x_i) is NOR of any number of flags, as a hidden unit and as an output column, in any order.",
        LOGIC,
        _both(
            gates.FlagGate(gadget_programs.nor, _none).decide, gates.FlagGate(gadget_programs.outer_nor, _none).decide
        ),
        (
            Variant("an OR as the sum of flags", gates.FlagGate(gadget_programs.plain_or, _some).decide),
            Variant("weights -2^-p", gates.FlagGate(gadget_programs.scaled_nor, _none).decide),
        ),
    ),
    Lemma(
        "AND",
        "ReLU(x - Σ y_i) is x and none of any number of flags y_i, wherever x stands among them.",
        LOGIC,
        partial(gates.conjunction, gadget_programs.conjunction),
        (Variant("textbook, ReLU(Σ x_i - (k - 1))", gates.FlagGate(gadget_programs.textbook_and, _every).decide),),
    ),
    Lemma(
        "THRESH",
        "[x > 0] for every number x, in any number of columns.",
        f"{GADGETS}/mlp.py",
        partial(mlp_lemmas.each_column, gadget_programs.threshold, mlp_lemmas.is_positive),
        (
            Variant(
                "one unit", partial(mlp_lemmas.each_column, gadget_programs.threshold_once, mlp_lemmas.is_positive)
            ),
            Variant(
                "factor 1", partial(mlp_lemmas.each_column, gadget_programs.threshold_by_one, mlp_lemmas.is_positive)
            ),
        ),
        most=8,
    ),
    Lemma("ONEHOT", "[x = v] for all numbers x and v.", f"{GADGETS}/mlp.py", mlp_lemmas.one_hot),
    Lemma(
        "ARGMAX",
        "The unit vector of the largest of any number of numbers, the lowest index winning ties.",
        f"{GADGETS}/mlp.py",
        _argmax(gadget_programs.argmax),
        (
            Variant("factor 1", _argmax(gadget_programs.argmax_variant(factor=ONE))),
            Variant("one unit per rival", _argmax(gadget_programs.argmax_variant(copies=1))),
            Variant("factor B, one unit per rival", _argmax(gadget_programs.argmax_variant(factor=B, copies=1))),
            Variant("ties left open", _argmax(gadget_programs.argmax_variant(ties=False))),
        ),
    ),
    Lemma(
        "SELECT",
        "The two signs of entry d of any number of numbers, in any order of the columns.",
        f"{GADGETS}/mlp.py",
        _selected(gadget_programs.select),
        (Variant("ReLU(x_i + B·e_i - B)", _selected(gadget_programs.select_by_adding)),),
    ),
    Lemma(
        "PROJECT",
        "Entry d of any number of flags.",
        "programs/gadgets/mlp.py",
        partial(selection.select, gadget_programs.project, bits=True, target="y"),
    ),
    Lemma(
        "GATE",
        "The two signs of x if none of any number of flags is 1, else 0, for every number x.",
        f"{GADGETS}/mlp.py",
        _both(
            partial(selection.gate, gadget_programs.gate),
            partial(selection.gate, gadget_programs.gate, target="negative"),
        ),
    ),
    Lemma(
        "ADD",
        "a + b and its carry out, in dual rail, for numbers of any number of bits.",
        INTEGERS,
        lambda precision: carry_lemmas.decide(gadget_programs.sum_of, carry_lemmas.ADDITION, precision),
        (
            Variant(
                "without the unit for no carry in",
                lambda precision: carry_lemmas.decide(gadget_programs.difference_of, carry_lemmas.ADDITION, precision),
            ),
        ),
    ),
    Lemma(
        "SUBTRACT",
        "a - b modulo 2^k and [a >= b], in dual rail, for numbers of any number k of bits.",
        INTEGERS,
        lambda precision: carry_lemmas.decide(gadget_programs.difference_of, carry_lemmas.SUBTRACTION, precision),
    ),
    Lemma(
        "COMPARE",
        "[a >= b] and [a < b] in two MLPs, for numbers of any number of bits.",
        INTEGERS,
        lambda precision: carry_lemmas.decide(gadget_programs.comparison_of, carry_lemmas.COMPARISON, precision),
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
"""The lemmas on which an item of the paper depends. They do not replace the item's own check."""


@cache
def lemma(name: str, most: int = 4) -> LemmaEvidence:
    """Decide a lemma for p = 1 … most and return the evidence; raise `LemmaRefuted` if it does not hold."""
    return evidence(BY_NAME[name], most=most)


def cited(label: str, most: int = 4) -> tuple[LemmaEvidence, ...]:
    """Decide the lemmas on which an item of the paper depends, and return their evidence."""
    return tuple(lemma(name, most) for name in CITED.get(label, ()))


def lemmas(*names: str, most: int = 4) -> tuple[LemmaEvidence, ...]:
    """Decide these lemmas, or all if none is named, and return their evidence."""
    return tuple(lemma(name, most) for name in names or BY_NAME)


# Lemmas → the table of a page (`python -m unmask.paper.lemmas.all_lemmas docs/reference/gadgets.md`).


BEGIN, END = "<!-- lemmas -->\n", "<!-- end of lemmas -->"
LARGEST = 8
"""The largest p that is decided for lemmas that are cheap to decide."""


def table(decided: tuple[LemmaEvidence, ...]) -> str:
    """Statements, then wrong variants, as two Markdown tables."""
    lines = ["| gadget | for every width | least p | decided for p = | states |", "|---|---|---|---|---|"]
    for one in decided:
        lines.append(f"| {one.name} | {one.statement} | {one.least} | {_span(one.holds)} | {one.states:,} |")
    lines += [
        "",
        "| gadget | wrong variant | fails at p = | shortest counterexample | replayed |",
        "|---|---|---|---|---|",
    ]
    for one in decided:
        for wrong in one.refutations:
            text = f"p = {wrong.p}: {wrong.counterexample}"
            lines.append(f"| {one.name} | {wrong.variant} | {_span(wrong.fails)} | {text} | {wrong.replayed} |")
    return "\n".join(lines) + "\n"


def _span(precisions: tuple[int, ...]) -> str:
    """1, or 1 … 4: they follow each other."""
    assert precisions == tuple(range(precisions[0], precisions[-1] + 1))
    return str(precisions[0]) if len(precisions) == 1 else f"{precisions[0]} … {precisions[-1]}"


def written(page: str, decided: tuple[LemmaEvidence, ...]) -> str:
    """Return the page with the tables between its markers."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + table(decided) + END + rest.split(END)[1]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8"), lemmas(*BY_NAME, most=LARGEST)), encoding="utf-8")
