"""Gadget lemmas for every width: each holds, each wrong variant is refuted, closures agree with brute force."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision
from unmask.numerics.number_lemmas import LemmaFails as LemmaOfNumbersFails
from unmask.numerics.number_lemmas import scaled_codes
from unmask.paper.all_items import BY_LABEL as PAPER
from unmask.paper.lemmas import all_lemmas, gadget_programs, integer_lemmas, mlp_lemmas, score_lemmas, softmax_lemmas
from unmask.paper.lemmas import lemma as lemma_module
from unmask.paper.lemmas.all_lemmas import BY_NAME, LEMMAS, decided_lemma
from unmask.paper.lemmas.gadget_programs import HeadDesign
from unmask.paper.lemmas.lemma import LemmaOutcome, LemmaRefuted, NotRepeated, evidence, refutation
from unmask.paper.lemmas.mlp_lemmas import FlagGate
from unmask.paper.lemmas.score_lemmas import DIFFERS, LATER, ScoreQuestion, care_letters, code_letters, position_letters
from unmask.programs.assembly import assemble
from unmask.programs.program import ABOVE_FAINTEST, HALF, ONE, ONE_HALF, TOP, ULP, B, Edges, whole
from unmask.verification.lengths import obligations

from .by_force import least_wrong_width

ROOT = Path(__file__).parents[3]
VARIANTS = [(gadget_lemma, variant) for gadget_lemma in LEMMAS for variant in gadget_lemma.variants]


# The core


def test_a_closure_reaches_what_folds_of_every_length_reach():
    def moves(state):
        return [(letter, (state * 3 + letter) % 11) for letter in (0, 2, 5)]

    reached = {0}
    for _ in range(11):
        reached |= {state for old in reached for _, state in moves(old)}
    assert obligations.reachable_closure([0], moves, lambda _: None).states == len(reached)


def test_a_witness_is_a_shortest_fold():
    def moves(state):
        return [(step, min(20, state + step)) for step in (1, 3)]

    witness = obligations.reachable_closure([0], moves, lambda state: "ten" if state == 10 else None).witness
    assert witness is not None
    assert sum(witness.letters) == 10
    assert len(witness.letters) == 4
    assert (witness.start, witness.state, witness.flaw) == (0, 10, "ten")


def test_a_closure_without_end_decides_nothing(monkeypatch):
    monkeypatch.setattr(obligations, "MOST_STATES", 100)
    with pytest.raises(obligations.TooManyStates, match="not decided"):
        obligations.reachable_closure([0], lambda state: [("next", state + 1)], lambda _: None)


# Every lemma, every variant


@pytest.mark.parametrize("gadget_lemma", LEMMAS, ids=lambda gadget_lemma: gadget_lemma.name)
def test_every_lemma_holds_from_its_least_precision_on(gadget_lemma):
    result = decided_lemma(gadget_lemma.name)
    assert result.least == gadget_lemma.least
    assert result.holds == tuple(range(gadget_lemma.least, 5))
    assert result.states > 0
    assert "proved for every width" in result.method
    assert result.to_json()["holds"] == list(result.holds)


@pytest.mark.parametrize(("gadget_lemma", "variant"), VARIANTS, ids=lambda v: v.name)
def test_every_wrong_variant_is_refuted_by_the_reference_engine(gadget_lemma, variant):
    result = refutation(gadget_lemma, variant, most=3)
    assert result.fails
    assert "engine" in result.replayed


def test_the_textbook_and_fails_at_exactly_2_to_the_p_inputs():
    gate = FlagGate(gadget_programs.textbook_and, lambda some, every: every)  # noqa: ARG005
    for p in (1, 2, 3, 4):
        assert gate.decide(Precision(p)).counterexample.startswith(f"flags {'1' * 2**p}:")


def test_the_page_shows_what_is_decided():
    text = (ROOT / "docs" / "reference" / "gadgets.md").read_text(encoding="utf-8")
    for gadget_lemma in LEMMAS:
        result = decided_lemma(gadget_lemma.name)
        assert f"| {gadget_lemma.name} | {gadget_lemma.statement} | {gadget_lemma.least} |" in text
        for wrong in result.refutations:
            assert f"| p = {wrong.p}: {wrong.counterexample} | {wrong.replayed} |" in text


@pytest.mark.long
def test_the_page_is_generated():
    text = (ROOT / "docs" / "reference" / "gadgets.md").read_text(encoding="utf-8")
    assert (
        all_lemmas.page_with_tables(text, all_lemmas.decided_lemmas(most=all_lemmas.LARGEST_DECIDED_PRECISION)) == text
    )


def test_a_lemma_that_fails_says_where():
    gadget_lemma = BY_NAME["FOCUS, two copies"]
    wrong = type(gadget_lemma)("FOCUS", "", "", gadget_lemma.decide, least=1)
    with pytest.raises(LemmaRefuted, match="should hold from p = 1 on; at p = 1: bits differ"):
        evidence(wrong, most=2)
    late = type(gadget_lemma)("FOCUS", "", "", gadget_lemma.decide, least=3)
    with pytest.raises(LemmaRefuted, match="at p = 2: it holds"):
        evidence(late, most=3)


def test_a_counterexample_that_the_engine_does_not_confirm_does_not_count():
    claimed = LemmaOutcome(1, 1, "somewhere", score_lemmas.Replayed("the engine is right", False))
    gadget_lemma = BY_NAME["NOR"]
    with pytest.raises(LemmaRefuted, match="does not confirm"):
        refutation(gadget_lemma, type(gadget_lemma.variants[0])("imagined", lambda _: claimed), most=1)
    with pytest.raises(LemmaRefuted, match="no counterexample"):
        refutation(gadget_lemma, type(gadget_lemma.variants[0])("right", gadget_lemma.decide), most=2)


def test_items_of_the_paper_cite_lemmas():
    assert {name for names in all_lemmas.CITED.values() for name in names} <= set(BY_NAME)
    assert set(all_lemmas.CITED) <= set(PAPER)
    assert [result.name for result in all_lemmas.cited_lemmas("lem:detection")] == ["THRESH", "DETECT"]
    assert all_lemmas.cited_lemmas("thm:elsewhere") == ()


@pytest.mark.parametrize("p", [1, 2])
def test_scaled_codes_agree_with_brute_force(p):
    for m in range(1, 2**p + 2):
        scaled_codes(Precision(p), 3, m)
    with pytest.raises(LemmaOfNumbersFails):
        scaled_codes(Precision(p), 1, 2, printed=True)
    assert score_lemmas.scaled_equality(Precision(p)).holds
    assert score_lemmas.scaled_equality(Precision(p), printed=True).counterexample.startswith("m = 2, bits differ:")


# Brute force


CODES, CARES, POSITIONS = (
    ScoreQuestion(code_letters(), DIFFERS),
    ScoreQuestion(care_letters, DIFFERS),
    ScoreQuestion(position_letters, LATER),
)
HEADS = {
    "EQ": (softmax_lemmas.EQ, HeadDesign(block=gadget_programs.eq)),
    "EQ, HIDE": (softmax_lemmas.EQ, HeadDesign(block=gadget_programs.eq, after=(gadget_programs.hide(1),))),
    "FOCUS 1": (CODES, HeadDesign((gadget_programs.score,), gadget_programs.focus(1), 1)),
    "FOCUS 2": (CODES, HeadDesign((gadget_programs.score,), gadget_programs.focus(2), 2)),
    "FOCUS 3": (CODES, HeadDesign((gadget_programs.score,), gadget_programs.focus(3), 3)),
    "care 2": (CARES, HeadDesign((gadget_programs.score,), gadget_programs.see_earlier(2), 2, tail=2)),
    "care 3": (CARES, HeadDesign((gadget_programs.score,), gadget_programs.see_earlier(3), 3, tail=2)),
    "later": (POSITIONS, HeadDesign((gadget_programs.score,), gadget_programs.hide_later, 2)),
    "later once": (POSITIONS, HeadDesign((gadget_programs.score,), gadget_programs.hide_later_once)),
    "HIDE 1": (CODES, HeadDesign((gadget_programs.score,), after=(gadget_programs.hide(1),))),
    "all": (
        CODES,
        HeadDesign(
            (gadget_programs.score, gadget_programs.boost), gadget_programs.focus(2), 2, (gadget_programs.hide(2),)
        ),
    ),
    "some": (
        all_lemmas.OPTIONAL,
        HeadDesign((gadget_programs.score,), gadget_programs.focus_some(2), 2, (gadget_programs.hide_from_some(2),)),
    ),
    "some, hidden once": (
        all_lemmas.OPTIONAL,
        HeadDesign((gadget_programs.score,), gadget_programs.focus_some(3), 3, (gadget_programs.hide_from_some(1),)),
    ),
    "at most": (
        all_lemmas.AT_MOST,
        HeadDesign((gadget_programs.see_all,), gadget_programs.none_above(2), after=(gadget_programs.hide(2),)),
    ),
    "at most, once": (all_lemmas.AT_MOST, HeadDesign((gadget_programs.see_all,), gadget_programs.none_above(1))),
    "at most, the highest bit first": (
        all_lemmas.FROM_THE_TOP,
        HeadDesign((gadget_programs.see_all,), gadget_programs.none_above(2)),
    ),
    "alone": (CODES, HeadDesign(block=gadget_programs.eq_without_ones)),
    "halves": (CODES, HeadDesign(block=gadget_programs.eq_in_halves)),
}


@pytest.mark.parametrize("p", [1, 2, 4])
def test_the_last_of_many_rows_by_the_engine(p):
    """Every sequence of four flags, each in two rows."""
    precision = Precision(p)
    program = gadget_programs.latest_of(8)
    session = ReferenceEngine().session(assemble(program, precision))
    for flags in product((0, 1, -1), repeat=4):
        residual = np.zeros((1, 8, program.width), dtype=np.int64)
        residual[..., program.columns("one")] = precision.one
        for row, flag in enumerate(np.repeat(flags, 2)):
            residual[0, row, program.columns("plus")] = precision.one * (flag == 1)
            residual[0, row, program.columns("minus")] = precision.one * (flag == -1)
        last = next((flag for flag in reversed(flags) if flag), 0)
        latest = session.layers(residual, 0, 1)[0, :, program.columns("latest")]
        assert (latest == last * precision.bound).all()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", HEADS)
def test_heads_agree_with_brute_force(name, p):
    """The closure's counterexample has the least possible width; without one, brute force finds none either."""
    question, design = HEADS[name]
    outcome = question.decide(design, Precision(p))
    width = least_wrong_width(question, design, Precision(p), 3)
    if outcome.holds:
        assert width is None
    else:
        conditions = outcome.counterexample.split(":")[0].split(", ")
        flags = ("boosted", "hidden", "sees hidden keys")
        assert width == len([c for c in conditions if not c.startswith("score") and c not in flags])


def flags(width):
    return np.array(list(product((0, 1), repeat=width)), dtype=np.int64).reshape(2**width, width)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    ("emit", "expected"),
    [
        (gadget_programs.nor, lambda x: not any(x)),
        (gadget_programs.outer_nor, lambda x: not any(x)),
        (gadget_programs.textbook_and, all),
        (gadget_programs.plain_or, any),
        (gadget_programs.scaled_nor, lambda x: not any(x)),
    ],
    ids=["nor", "outer_nor", "textbook_and", "plain_or", "scaled_nor"],
)
def test_gates_agree_with_brute_force(emit, expected, p):
    precision = Precision(p)
    outcome = FlagGate(emit, lambda some, every: expected([some, every and some])).decide(precision)
    if emit is gadget_programs.textbook_and:
        outcome = FlagGate(emit, lambda some, every: every).decide(precision)  # noqa: ARG005
    wrong = None
    for width in range(1, 6):
        try:
            program = emit(width)
            results = [
                mlp_lemmas.final_residual_row(program, {"x": (precision.one * x).tolist()}, precision)
                for x in flags(width)
            ]
        except Exception:  # the bias is not in F_p
            break
        y = program.columns("y")[0]
        if any(row[y] != precision.one * expected(x) for row, x in zip(results, flags(width), strict=True)):
            wrong = width
            break
    if outcome.holds:
        assert wrong is None
    else:
        assert wrong == len(outcome.counterexample.split(":")[0].removeprefix("flags "))


@pytest.mark.parametrize("p", [1, 2])
def test_conjunctions_agree_with_brute_force(p):
    precision = Precision(p)
    assert mlp_lemmas.conjunction(gadget_programs.conjunction, precision).holds
    for width, position in ((1, 0), (3, 0), (3, 2), (4, 4)):
        program = gadget_programs.conjunction(position)(width)
        for x, *y in flags(width + 1).tolist():
            inputs = {"x": [precision.one * x], "y": [precision.one * f for f in y[:position]]}
            inputs["z"] = [precision.one * f for f in y[position:]]
            result = mlp_lemmas.final_residual_row(program, inputs, precision)[program.columns("result")[0]]
            assert result == precision.one * (x and not any(y))


@pytest.mark.parametrize(
    "emit",
    [
        gadget_programs.argmax,
        gadget_programs.argmax_variant(factor=ONE),
        gadget_programs.argmax_variant(copies=1),
        gadget_programs.argmax_variant(factor=B, copies=1),
        gadget_programs.argmax_variant(ties=False),
    ],
)
@pytest.mark.parametrize(("p", "size"), [(1, 2), (1, 3), (2, 2)])
def test_argmax_agrees_with_brute_force(emit, p, size):
    precision, program = Precision(p), emit(size)
    residual = np.zeros((precision.size**size, 1, program.width), dtype=np.int64)
    x = np.array(list(product(precision.numbers(), repeat=size)))
    residual[:, 0, program.columns("x")] = x
    session = ReferenceEngine().session(assemble(program, precision))
    y = session.layers(residual, 0, 1)[:, 0, program.columns("y")]
    is_correct = np.array_equal(y, precision.one * np.eye(size, dtype=np.int64)[x.argmax(axis=1)])
    assert mlp_lemmas.argmax(emit, precision).holds == is_correct


@pytest.mark.parametrize("emit", [gadget_programs.select, gadget_programs.select_by_adding])
def test_select_agrees_with_brute_force(emit):
    precision = Precision(1)
    is_correct = True
    for width in (1, 2, 3):
        program = emit(width)
        for x, d in product(product(precision.numbers(), repeat=width), range(width)):
            chosen = [precision.one * (i == d) for i in range(width)]
            inputs = {"x": x, "others": [precision.one - c for c in chosen], "chosen": chosen}
            row = mlp_lemmas.final_residual_row(program, inputs, precision)
            signs = row[program.columns("positive")[0]], row[program.columns("negative")[0]]
            is_correct &= signs == (max(0, x[d]), max(0, -x[d]))
    assert mlp_lemmas.select(emit, precision).holds == is_correct


def test_gate_agrees_with_brute_force():
    precision = Precision(1)
    assert mlp_lemmas.gate(gadget_programs.gate, precision).holds
    for width in (1, 2, 3):
        program = gadget_programs.gate(width)
        for x, off in product(precision.numbers(), flags(width).tolist()):
            row = mlp_lemmas.final_residual_row(program, {"x": [x], "off": [precision.one * f for f in off]}, precision)
            assert row[program.columns("positive")[0]] == (0 if any(off) else max(0, x))
            assert row[program.columns("negative")[0]] == (0 if any(off) else max(0, -x))


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    ("emit", "operation", "result"),
    [
        (gadget_programs.sum_of, integer_lemmas.ADDITION, lambda a, b, k: ((a + b) % 2**k, a + b >= 2**k)),
        (gadget_programs.difference_of, integer_lemmas.SUBTRACTION, lambda a, b, k: ((a - b) % 2**k, a >= b)),
        (gadget_programs.comparison_of, integer_lemmas.COMPARISON, lambda a, b, k: (None, a >= b)),  # noqa: ARG005
    ],
    ids=["sum", "difference", "comparison"],
)
def test_arithmetic_agrees_with_brute_force(emit, operation, result, p):
    precision = Precision(p)
    assert integer_lemmas.decide(emit, operation, precision).holds
    for k in (1, 2, 3):
        program = emit(k)
        for a, b in product(range(2**k), repeat=2):
            inputs = {}
            for name, number in (("a", a), ("b", b)):
                for i in range(k):
                    digit = number >> i & 1
                    inputs[f"{name}.bit{i}"] = [precision.one * (1 - digit), precision.one * digit]
            row = mlp_lemmas.final_residual_row(program, inputs, precision)
            number, carry = result(a, b, k)
            assert row[program.columns("sum.carry")[-1]] == precision.one * carry
            assert row[program.columns("sum.no_carry")[-1]] == precision.one * (not carry)
            if number is not None:
                digits = [row[program.columns(f"sum.bit{i}")].tolist() for i in range(k)]
                assert digits == [
                    [precision.one * (1 - (number >> i & 1)), precision.one * (number >> i & 1)] for i in range(k)
                ]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_lookup_agrees_with_brute_force(rows):
    precision = Precision(1)
    program, _ = HeadDesign(block=gadget_programs.eq).emit(1, rows=rows, values=1)
    session = ReferenceEngine().session(assemble(program, precision))
    for match in range(rows):
        values = np.array(list(product(precision.numbers(), repeat=rows)))
        residual = np.zeros((len(values), rows, program.width), dtype=np.int64)
        residual[..., program.columns("one")] = residual[..., program.columns("query_code")] = precision.one
        residual[..., program.columns("code")] = -precision.one
        residual[:, match, program.columns("code")] = precision.one
        residual[..., program.columns("value")[0]] = values
        fetched = session.layers(residual, 0, 1)[..., program.columns("fetched")[0]]
        assert (fetched == values[:, match, None]).all()


@pytest.mark.parametrize("p", [1, 2])
def test_detection_agrees_with_brute_force(p):
    precision = Precision(p)
    for rows in (1, 2, 3, 4, 9):
        program = gadget_programs.detect(rows)
        session = ReferenceEngine().session(assemble(program, precision))
        flag_rows = flags(rows)[:: max(1, 2**rows // 64)]
        residual = np.zeros((len(flag_rows), rows, program.width), dtype=np.int64)
        residual[..., program.columns("code")[0]] = precision.one * flag_rows
        occurs = session.layers(residual, 0, 1)[:, 0, program.columns("occurs")[0]]
        assert np.array_equal(occurs, precision.one * flag_rows.any(axis=1))


# Sabotage: weights of the gadgets changed on their way to the matrices


def _with(old, new):
    """Return `assemble` with one coefficient of programs replaced by another."""

    def changed(weight):
        if isinstance(weight, np.ndarray):
            return weight
        return new if weight == old else -new if weight == -old else weight

    def sabotaged(program, precision):
        for layer in program.layers:
            for edges in [e for head in layer.heads for e in (head.query, head.key, head.value)]:
                edges[:] = [Edges(e.source, e.target, changed(e.weight)) for e in edges]
            for edges in (layer.mlp.inputs, layer.mlp.outputs):
                edges[:] = [Edges(e.source, e.target, changed(e.weight)) for e in edges]
            for biases in (layer.mlp.biases, layer.mlp.offsets):
                biases[:] = [(columns, changed(weight)) for columns, weight in biases]
        return assemble(program, precision)

    return sabotaged


SABOTAGE = [
    ("EQ", B, HALF),
    ("EQ", B, ONE),
    ("ENCODED", B, HALF),
    ("EQ, scaled", ONE, ULP),
    ("LOOKUP", ONE, whole(-1)),
    ("LOOKUP", B, ULP),
    ("FOCUS, two copies", HALF, ULP),
    ("FOCUS, three copies", HALF, ULP),
    ("FOCUS with care bits, two copies", HALF, ULP),
    ("FOCUS with care bits, three copies", HALF, ULP),
    ("FOCUS for some, HIDE from some", HALF, ULP),
    ("FOCUS for some, HIDE from some", B, HALF),
    ("HIDE", B, HALF),
    ("HIDE LATER", B, HALF),
    ("BOOST", B, HALF),
    ("BOOST, FOCUS, HIDE", B, HALF),
    ("DETECT", TOP, ULP),
    ("EMPTY", ABOVE_FAINTEST, B),
    ("EMPTY", ONE_HALF, ULP),
    ("EMPTY", B, HALF),
    ("AT MOST", B, HALF),
    ("AT MOST", ONE, HALF),
    ("LATEST", B, HALF),
    ("NOR", ONE, ULP),
    ("AND", ONE, ULP),
    ("THRESH", TOP, ULP),
    ("ONEHOT", TOP, ULP),
    ("ARGMAX", TOP, ULP),
    ("ARGMAX", ULP, ONE),
    ("SELECT", B, HALF),
    ("PROJECT", ONE, ULP),
    ("GATE", B, HALF),
    ("ADD", ONE, ULP),
    ("SUBTRACT", ONE, ULP),
    ("COMPARE", ONE, ULP),
]


@pytest.mark.parametrize(("name", "old", "new"), SABOTAGE, ids=lambda v: str(v))
def test_sabotaged_weights_are_refuted(monkeypatch, name, old, new):
    for module in (lemma_module, score_lemmas, mlp_lemmas, softmax_lemmas):
        monkeypatch.setattr(module, "assemble", _with(old, new))
    gadget_lemma = BY_NAME[name]
    with pytest.raises((LemmaRefuted, NotRepeated)):
        evidence(replace(gadget_lemma, variants=()), most=3)


def test_every_lemma_of_weights_is_sabotaged():
    assert {name for name, _, _ in SABOTAGE} == set(BY_NAME) - {"VISIBLE ROWS"}


def test_a_gadget_that_changes_with_its_width_is_refused():
    def hide_when_wide(head, r):
        gadget_programs.eq(head, r)
        if r.query_code.size == 5:
            head.column([(r.one, B)], [(r.one, ONE)])

    with pytest.raises(NotRepeated, match="width 5"):
        softmax_lemmas.EQ.decide(HeadDesign(block=hide_when_wide), Precision(2))

    def nor_when_narrow(width):
        return gadget_programs.nor(width) if width < 8 else gadget_programs.scaled_nor(width)

    with pytest.raises(NotRepeated, match="width 8"):
        FlagGate(nor_when_narrow, lambda some, every: not some).decide(Precision(1))  # noqa: ARG005

    def nor_with_a_bias_of_its_own(width):
        program = gadget_programs.nor(width)
        mlp = program.layers[0].mlp
        mlp.biases[:] = [(mlp.biases[0][0], ONE if width < 8 else B)]
        return program

    with pytest.raises(NotRepeated, match="bias depends on the width"):
        FlagGate(nor_with_a_bias_of_its_own, lambda some, every: not some).decide(Precision(1))  # noqa: ARG005

    def argmax_when_small(width):
        return gadget_programs.argmax(width) if width < 6 else gadget_programs.argmax_variant(copies=1)(width)

    with pytest.raises(NotRepeated, match="of 6"):
        mlp_lemmas.argmax(argmax_when_small, Precision(1))

    with pytest.raises(NotRepeated, match="5 bits"):
        integer_lemmas.decide(
            lambda k: gadget_programs.sum_of(k) if k < 5 else gadget_programs.difference_of(k),
            integer_lemmas.ADDITION,
            Precision(1),
        )
