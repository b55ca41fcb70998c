"""Reads over a range are proved for every N; wrong codes, missing rows and weak gadgets are not."""

import pytest

from unmask.api import verify_model
from unmask.compilers.system_compiler import SystemCompiler
from unmask.numerics.arithmetic import Precision
from unmask.problems.program_problems import program_problem
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter, some
from unmask.verification.lengths.system_rows import RowReport, Shares, joint_reports

from .programs_to_prove import of
from .range_programs import PROGRAMS, SABOTAGES, UNDECIDED, k
from .test_programs import P, proved

QUICK = ("a finder beside", "a window is hidden", "a whisper", "the first is not waited for")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_proved_for_every_length(name):
    result, family = proved(PROGRAMS[name](), lengths=(5, 12))
    assert result.verdict == "proved", result.reason
    assert any("a share is 0 if and only if" in o.name for o in result.obligations)
    assert f"from N = {family.least} on" in result.statement


@pytest.mark.parametrize(
    ("name", "kind", "precision"), [("contains", "topk", 1), ("late", "topk", 3), ("twins", "smdm", 8)]
)
def test_other_kinds_and_precisions(name, kind, precision):
    result, _ = proved(PROGRAMS[name](), kind, Precision(precision), lengths=())
    assert result.verdict == "proved", result.reason


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk"])
@pytest.mark.parametrize("precision", [1, 2, 3, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kind_and_precision(name, kind, precision):
    result, _ = proved(PROGRAMS[name](), kind, Precision(precision), lengths=())
    assert result.verdict == "proved", result.reason


def check(name):
    make, kind, change = SABOTAGES[name]
    result, family = proved(make(), kind, change=change, lengths=())
    assert result.verdict == "refuted", result.reason
    assert result.counterexample is not None
    assert any(o.verdict == "open" for o in result.obligations)
    model = family.model_at(result.length, P)
    assert verify_model(model, against=program_problem(make()), method="prove").status == "refuted"


@pytest.mark.parametrize("name", QUICK)
def test_a_wrong_family_is_not_proved(name):
    check(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(SABOTAGES) - set(QUICK)))
def test_no_wrong_family_is_proved(name):
    check(name)


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_is_right_for_another_reason_is_unknown(name):
    make, kind, change = UNDECIDED[name]
    assert proved(make(), kind, change=change, lengths=())[0].verdict == "unknown"


def test_a_code_that_is_too_small_is_unknown():
    """At the least N there are more rows than codes, so that there are no such weights."""

    def less_room(program):
        program.codes.update({name: capacity - 1 for name, capacity in program.codes.items()})

    result, family = proved(PROGRAMS["contains"](), change=of("predictor", less_room), lengths=())
    assert result.verdict == "unknown"
    assert f"there are no weights at N = {family.least}" in result.reason


def test_a_length_that_is_not_compiled_is_unknown():
    """At N = 0, rows without operands have no letter to read."""
    exists = Slots("found", (), BOOLEAN)
    exists.rule(some(k.range(N + 1), letter(k).or_else("b"), lambda x: x == "a"), bool)
    result, _ = proved(System("ab", exists, answer=exists[()]), lengths=())
    assert result.verdict == "unknown"
    assert result.reason.startswith("N = 0: the folder: `compile` writes no model of this length: ")


def test_a_range_that_depends_on_another_index_is_unknown():
    i, k = indices("i k")
    before = Slots("before", i.range(1, N), BOOLEAN)
    before.rule(some(k.range(i), letter(k), lambda x: x == "b"), bool)
    system = System("ab", before, answer=before[N - 1])
    assert SystemCompiler(system, {}).family("mdm") is None
    result, _ = proved(system, lengths=(), change=lambda family: family)
    assert result.verdict == "unknown"
    assert "a range depends on another index" in result.reason


@pytest.mark.parametrize("name", ["contains", "twins", "late", "layers", "kinds"])
@pytest.mark.parametrize("kind", ["mdm", "topk"])
def test_where_the_family_fits_its_folder_is_that_of_one_length(name, kind, monkeypatch):
    """No weight differs."""
    from unmask.compilers import system_compiler
    from unmask.weights.storage import content_hash

    system, length = PROGRAMS[name](), 6
    once = SystemCompiler(system, {}).compile(kind, length, P)
    monkeypatch.setattr(system_compiler, "FAMILIES", ())
    alone = SystemCompiler(system, {}).compile(kind, length, P)
    assert content_hash(once) == content_hash(alone)


def test_joint_reports_of_rows():
    no_match, match = RowReport((False,), frozenset(), False), RowReport((True,), frozenset("a"), False)
    waits = RowReport((False,), frozenset(), True)
    assert set(joint_reports([no_match, match])) == {no_match, match}
    assert RowReport((True,), frozenset("a"), True) in joint_reports([no_match, match, waits])


@pytest.mark.parametrize("p", [1, 2, 3, 4, 6])
def test_small_contributions_round_to_zero_among_many_rows(p):
    """A number below 1 times the least weight rounds to 0; 1 times this weight does not."""
    from unmask.verification.lengths.obligations import ObligationFailed

    precision = Precision(p)
    loud, quiet = (Shares([], [{0, value}]) for value in (precision.one, precision.one // 2))
    loud.compute_least(precision.one, precision)
    assert loud.least == [1]
    with pytest.raises(ObligationFailed, match="rounds to zero among many rows"):
        quiet.compute_least(precision.one, precision)
