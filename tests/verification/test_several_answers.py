"""Programs with several answers, in every kind and conversion: a verdict compares all of them, or says which."""

import json
import random
from dataclasses import replace

import pytest

import outside_reader
from all_conversions import CONVERSIONS
from unmask.api import compile_problem, compile_program, convert_model, load_model, save_model, verify_model
from unmask.errors import FolderError
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter
from unmask.verification.words.deciders import extracted_circuit

KINDS = ("mdm", "smdm", "topk", "plt", "pcot", "cot")
METHODS = ("exhaustive", "sample", "prove")
OTHER_WORDS = "mdm_to_pcot_padded"  # its words are those of the source, followed by P symbols
LOSES = "pcot_to_cot_answer_only"


def majorities(*, early=False):
    """Majority of three neighbours, four rounds; `early` takes the answers 0 … 6 after one round."""
    (i,) = indices("i")
    rounds = [Slots("round 0", i.range(8), BOOLEAN)]
    rounds[0].rule(letter(i), lambda x: x == "1")
    for number in range(1, 5):
        before, after = rounds[-1], Slots(f"round {number}", i.range(8), BOOLEAN)
        after.rule((before[(i + 7) % 8], before[i], before[(i + 1) % 8]), lambda a, b, c: a + b + c >= 2)
        rounds.append(after)
    out = Slots("out", i.range(8), BOOLEAN)
    if early:
        out.rule(rounds[1][i], lambda x: x, where=i < 7)
    out.rule(rounds[-1][i], lambda x: x)
    return System("01", (*rounds, out), answer=out, name="early" if early else "late")


def random_program(seed, answers, *, negated=None):
    """Each answer is a random function of a slot and a letter; one of them may be negated."""
    rng = random.Random(seed)
    i, k = indices("i k")
    middle = Slots("middle", i.range(N), BOOLEAN)
    table = rng.getrandbits(4)
    middle.rule((letter(i), letter((i + 1) % 2)), lambda a, b: bool(table >> 2 * (a == "1") + (b == "1") & 1))
    out = Slots("out", k.range(answers), BOOLEAN)
    for j in range(answers):
        index, function = rng.randrange(2), rng.getrandbits(4) ^ (15 if j == negated else 0)
        out.rule(
            (middle[index], letter(1 - index)),
            lambda a, b, f=function: bool(f >> 2 * a + (b == "1") & 1),
            where=k.equals(j),
        )
    return System("01", (middle, out), answer=out, name="random")


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_not_the_last_is_compared_in_every_kind(kind):
    model = compile_program(majorities(), kind, length=8)
    for method in METHODS:
        verdict = verify_model(model, against=majorities(early=True), method=method)
        assert verdict.status == "refuted"
    verdict = verify_model(model, against=majorities(), method="prove")
    assert (verdict.status, verdict.compared) == ("proved", "all 8 answers")


def test_a_folder_that_gives_only_its_last_answer_is_never_proved():
    """A plt folder of an earlier version has no `outputs`."""
    old = replace(compile_program(majorities(), "plt", length=8), outputs=None)
    for method in METHODS:
        verdict = verify_model(old, against=majorities(early=True), method=method, certified=method == "prove")
        assert (verdict.status, verdict.exit_code, verdict.certificate) == ("unknown", 2, None)
        assert verdict.to_json()["compared"] == "the last of 8 answers"
    verdict = verify_model(old, against=random_program(1, 8, negated=7), method="exhaustive")
    assert (verdict.status, verdict.compared) == ("refuted", "the last of 8 answers")


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
@pytest.mark.parametrize(("answers", "compared"), [(1, "the last of"), (3, "the last 3 of")])
def test_a_problem_with_fewer_answers_than_the_model_does_not_claim_to_compare_all(kind, answers, compared):
    (i,) = indices("i")
    out = Slots("out", i.range(5), BOOLEAN)
    out.rule(letter(i), lambda x: x == "1")
    model = compile_program(System("01", out, answer=out), kind, length=5)
    fewer = System("01", out, answer=[out[k] for k in range(5 - answers, 5)])
    for method in METHODS:
        verdict = verify_model(model, against=fewer, method=method)
        assert verdict.exit_code == 0
        assert verdict.to_json()["compared"] == f"{compared} the model's 5 answers"


def test_models_with_different_numbers_of_answers_are_not_proved_equal():
    whole = compile_program(majorities(), "plt", length=8)
    last = replace(whole, outputs=1)
    for left, right in ((whole, last), (last, whole)):
        verdict = verify_model(left, against=right, method="prove")
        assert (verdict.status, verdict.compared) == ("unknown", "the last of 8 answers")
    assert (
        verify_model(whole, against=compile_program(majorities(), "mdm", length=8), method="prove").status == "proved"
    )


def test_a_problem_with_one_answer_is_compared_with_the_last_of_several():
    model = compile_problem("family:addition", "plt", length=4)
    verdict = verify_model(model, against=lambda word: int(word[:2][::-1], 2) + int(word[2:][::-1], 2) > 3)
    assert (verdict.status, verdict.compared) == ("held", "the last of the model's 3 answers")


@pytest.mark.parametrize("theorem", CONVERSIONS)
@pytest.mark.parametrize(("seed", "answers"), [(1, 2), (2, 4)])
def test_conversions_keep_every_answer_or_say_which(theorem, seed, answers):
    source = compile_program(random_program(seed, answers), theorem.source, length=2)
    *_, (_, conversion) = convert_model(source, theorem.target, by=theorem.stem)
    model = conversion.model
    if theorem.stem == OTHER_WORDS:
        return
    kept_answers = 1 if theorem.stem == LOSES else answers
    assert model.outputs == kept_answers
    for method in METHODS:
        verdict = verify_model(model, against=random_program(seed, answers), method=method)
        assert verdict.status == ("unknown" if kept_answers < answers else "proved" if method == "prove" else "held")
        wrong = verify_model(
            model, against=random_program(seed, answers, negated=answers - kept_answers), method=method
        )
        assert wrong.status == "refuted"
    if kept_answers < answers:
        hidden = verify_model(model, against=random_program(seed, answers, negated=0), method="prove")
        assert (hidden.status, hidden.compared) == ("unknown", f"the last of {answers} answers")


def test_a_chain_of_blocks_smaller_than_the_answers_states_what_it_keeps():
    """cot → pcot with blocks of one symbol → cot: scratch symbols come between the answers."""
    source = compile_program(random_program(3, 3), "cot", length=2)
    *_, (_, blocks) = convert_model(source, "pcot", by="cot_to_pcot")
    *_, (_, chain) = convert_model(blocks.model, "cot", by="pcot_to_cot")
    assert (blocks.model.outputs, chain.model.outputs) == (3, 1)
    verdict = verify_model(chain.model, against=random_program(3, 3, negated=0), method="prove")
    assert (verdict.status, verdict.compared) == ("unknown", "the last of 3 answers")


def test_an_old_folder_that_is_converted_states_that_it_has_one_answer():
    old = replace(compile_problem("family:addition", "plt", length=4), outputs=None)
    *_, (_, conversion) = convert_model(old, "mdm")
    assert conversion.model.outputs == 1
    assert verify_model(conversion.model, method="exhaustive").compared == "the last of 3 answers"


def test_run_gives_all_answers_and_an_outside_reader_agrees(unmask, tmp_path):
    folder = save_model(compile_problem("family:addition", "plt", length=4), tmp_path / "sum")
    assert load_model(folder).outputs == 3
    document = json.loads(unmask("run", str(folder), "1011", "--json")[1])
    assert document["outputs"] == [0, 0, 1]
    assert len(document["output"]) == len(document["canvas"][0]) == 3
    assert {**outside_reader.run(folder, "1011"), "outputs": document["outputs"]} == {
        name: value for name, value in document.items() if name != "seconds"
    }
    assert extracted_circuit(load_model(folder), outputs=3).output_names[:3] == ("answer0", "answer1", "answer2")


@pytest.mark.parametrize("outputs", [0, -1, 100, 1.5, "2", True, [1]])
def test_a_config_with_a_wrong_number_of_outputs_is_refused(tmp_path, outputs):
    for kind in ("plt", "mdm", "cot"):
        folder = save_model(compile_problem("family:addition", kind, length=4), tmp_path / kind)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps({**config, "outputs": outputs}), encoding="utf-8")
        with pytest.raises(FolderError, match="outputs"):
            load_model(folder)


def test_null_outputs_are_read_as_absent(tmp_path):
    folder = save_model(compile_problem("family:parity", "plt", length=3), tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert "outputs" not in config
    (folder / "config.json").write_text(json.dumps({**config, "outputs": None}), encoding="utf-8")
    assert load_model(folder).outputs is None
