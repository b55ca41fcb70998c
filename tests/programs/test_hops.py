"""Regular languages with several hops: a pass computes h levels of the product tree, T = ⌈log2 N / h⌉."""

import json
import re
from itertools import product
from random import Random

import pytest

from unmask.api import compare_frameworks, compile_problem, decide_words, run_word, verify_model
from unmask.compilers.compiler import compiler_for, compiler_with_hops
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError, UnmaskError
from unmask.export.export_model import export_model
from unmask.problems.catalogue import parse_problem
from unmask.programs.gadgets import attention
from unmask.programs.regular import product_tree
from unmask.weights.kinds import Kind

ABB = "(a|b)*abb"


def levels(length: int) -> int:
    """⌈log2 N⌉, by doubling."""
    count, reached = 0, 1
    while reached < length:
        count, reached = count + 1, 2 * reached
    return count


@pytest.mark.parametrize("hops", [2, 3, 4])
@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk"])
def test_every_short_word(kind: Kind, hops: int) -> None:
    for length in range(8):
        model = compile_problem(ABB, kind, length=length, hops=hops)
        assert model.steps == max(1, -(-levels(length) // hops))
        words = ["".join(letters) for letters in product("ab", repeat=length)]
        decided = decide_words(model, words, tables=False)
        assert decided.accepted == [bool(re.fullmatch(ABB, word)) for word in words]


@pytest.mark.parametrize("precision", [2, 3])
@pytest.mark.parametrize("hops", [2, 3])
def test_every_slot_holds_the_product_below_it(hops: int, precision: int) -> None:
    """Run by the definition: after pass t the levels up to h·t are written, with the values of one hop."""
    one = compile_problem("group:S3", "mdm", length=11, precision=precision)
    many = compile_problem("group:S3", "mdm", length=11, precision=precision, hops=hops)
    draw = Random(hops)
    for _ in range(3):
        word = [draw.choice(one.input_symbols) for _ in range(11)]
        slow, quick = (run_word(m, word, engine=ReferenceEngine()) for m in (one, many))
        for t, canvas in enumerate(quick.canvas):
            assert canvas.tolist() == slow.canvas[min(hops * (t + 1), len(slow.canvas)) - 1].tolist()


def test_a5_at_64_letters() -> None:
    model = compile_problem("group:A5", "mdm", length=64, hops=3)
    assert model.steps == 2
    assert verify_model(model, method="sample", cases=20, engine=FastEngine()).status in ("held", "not refuted")


@pytest.mark.parametrize("hops", [2, 3])
def test_proved_from_the_weights(hops: int) -> None:
    model = compile_problem(ABB, "mdm", length=8, hops=hops)
    assert verify_model(model, method="prove").status == "proved"
    assert verify_model(model, method="prove", against="(a|b)*ab").status == "refuted"


def test_measured_within_the_bounds() -> None:
    for hops in (2, 3):
        for row in compare_frameworks(ABB, [2, 9, 33], hops=hops):
            assert row.within_bound, row
            assert row.layers == 2 * hops
            assert row.steps == max(1, -(-levels(row.length) // hops))


def test_one_hop_is_the_default() -> None:
    one, default = compile_problem(ABB, "mdm", length=9, hops=1), compile_problem(ABB, "mdm", length=9)
    assert [len(t.layers) for t in one.transformers.values()] == [len(t.layers) for t in default.transformers.values()]
    assert one.provenance == default.provenance


def test_a_hop_that_is_not_cleared_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The factors of an earlier hop must go: otherwise features of two factors add up."""
    monkeypatch.setattr(product_tree, "clear", lambda *_: None)
    broken = compiler_with_hops(parse_problem(ABB), compiler_for(parse_problem(ABB)), 2)
    assert attention.clear is not product_tree.clear
    model = broken.compile("mdm", 8, compile_problem(ABB, "mdm", length=8).precision)
    assert verify_model(model, against=ABB, method="exhaustive").status == "refuted"


def test_refusals() -> None:
    with pytest.raises(ProblemError, match="--hops is for regular languages"):
        compile_problem("family:parity", "mdm", length=4, hops=2)
    with pytest.raises(ProblemError, match="one of mdm, smdm, topk, not cot"):
        compile_problem(ABB, "cot", length=4, hops=2)
    with pytest.raises(ProblemError, match="must lie in 1 … 64"):
        compile_problem(ABB, "mdm", length=4, hops=0)


@pytest.mark.parametrize("form", ["bert", "eurobert"])
def test_exported_with_the_decisions_of_the_model(form, tmp_path) -> None:
    """An export is compared with F_p before it is written; a difference raises."""
    model = compile_problem("group:S3", "mdm", length=8, hops=2)
    export_model(model, form, tmp_path / form, order="skip")
    report = json.loads((tmp_path / form / "export.json").read_text("utf-8"))
    assert report["agreement"]["decisions"] > 100
    assert report["slots"] == [0, 1, 2, 3, 6, 4, 5]


@pytest.mark.parametrize("form", ["bert", "eurobert"])
def test_level_2_as_work_tokens(form, tmp_path) -> None:
    """[WORK] embeds as the mask; the run that never writes these slots takes three passes instead of two."""
    model = compile_problem("group:S3", "mdm", length=16, hops=2)
    export_model(model, form, tmp_path / form, order="work")
    report = json.loads((tmp_path / form / "export.json").read_text("utf-8"))
    assert report["work"] == {"token": "[WORK]", "slots": 4}
    assert report["order"] == [list(range(4, 12)), [12, 13], [14]]
    assert report["slots"][:4] == [8, 9, 10, 11]
    assert "canvas[:, :4] = tokenizer.convert_tokens_to_ids('[WORK]')" in (tmp_path / form / "README.md").read_text()


def test_one_hop_cannot_do_without_a_level(tmp_path) -> None:
    with pytest.raises(UnmaskError, match="--order work needs a model"):
        export_model(compile_problem("group:S3", "mdm", length=16), "bert", tmp_path / "m", order="work")
