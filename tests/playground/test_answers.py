"""The playground agrees with the problem, the theory and the command line."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import parse_qs

import pytest

from unmask.playground.answers import measured_lengths
from unmask.playground.programs import KNOWN
from unmask.playground.requested_problem import PROGRAMS, PlaygroundQuestion, requested_problem

ABB, WORD = "(a|b)*abb", "aababbabb"
KINDS = ("mdm", "smdm", "topk", "plt", "cot", "pcot")


class Examples(HTMLParser):
    """Return the questions that the page offers, from the fragments of its links."""

    def __init__(self, page):
        super().__init__()
        self.questions = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        target = dict(attributes).get("href", "")
        if tag == "a" and target.startswith("#problem="):
            fields = parse_qs(unescape(target[1:]), keep_blank_values=True)
            question = {name: value for name, [value] in fields.items()}
            self.questions.append({n: int(v) if n in ("k", "seed") else v for n, v in question.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_every_framework_agrees_with_re(client, kind):
    for word in (WORD, WORD[::-1]):
        expected = "accepted" if re.fullmatch(ABB, word) else "rejected"
        answer = client.ask("run", ABB, word, kind=kind)
        assert (answer["answer"], answer["right"]) == (expected, expected)
        assert answer["kind"] == kind
        assert answer["steps"] == (9 if kind == "cot" else 4)


def test_the_view_is_the_viewer_s_page_in_a_sandbox(client):
    answer = client.ask("run", ABB, WORD)
    status, headers, page = client.send("GET", answer["view"])
    assert status == 200
    assert headers["Content-Type"].startswith("text/html")
    assert "sandbox allow-scripts" in headers["Content-Security-Policy"]
    assert b"masked diffusion" in page
    assert b"chain of thought" in page
    assert "page" not in answer


def test_a_wrong_planner_is_shown_next_to_the_model_s_own(client):
    answer = client.ask("run", ABB, WORD, planner="uniform", k=1, seed=3)
    assert (answer["planner"], answer["answer"], answer["right"]) == ("uniform:1", "rejected", "accepted")
    assert answer["own"] == {"answer": "accepted", "steps": 4}
    assert answer["steps"] == 8  # one slot in each step


def test_planners_are_judged_by_how_often_they_are_right(client):
    answer = client.ask("planners", ABB, WORD)
    rows = {row["planner"]: row for row in answer["rows"]}
    assert answer["right"] == "accepted"
    for planner in ("own", "confidence", "left-to-right"):
        assert rows[planner]["word"]["right"] == rows[planner]["word"]["runs"] == 1
        assert rows[planner]["words"]["right"] == rows[planner]["words"]["runs"] >= 1
    assert rows["uniform"]["word"]["right"] == 0
    assert rows["uniform"]["word"]["runs"] >= 2
    assert rows["uniform"]["word"]["answers"] == [["rejected", rows["uniform"]["word"]["runs"]]]
    assert (rows["own"]["steps"], rows["uniform"]["steps"]) == (4, 8)


def test_even_a_careful_planner_fails_when_it_takes_too_many_slots(client):
    rows = {row["planner"]: row["word"] for row in client.ask("planners", ABB, WORD, k=4)["rows"]}
    assert (rows["own"]["right"], rows["left-to-right"]["right"]) == (1, 0)


def test_steps_grow_as_the_theorems_say(client):
    answer = client.ask("steps", ABB, WORD)
    steps = {(point["kind"], point["length"]): point["steps"] for point in answer["points"]}
    lengths = sorted({length for _, length in steps})
    assert lengths[:4] == [2, 4, 8, 16]
    for length in lengths:
        depth = (length - 1).bit_length()
        assert [steps[kind, length] for kind in ("mdm", "plt", "cot")] == [depth, depth, length]
    assert all(point["right"] for point in answer["points"])


def test_a_fixed_length_has_one_point_each(client):
    answer = client.ask("steps", "expr:a*(b+c) in 0..3", "2*(1+3)")
    assert answer["fixed"]
    assert {point["length"] for point in answer["points"]} == {8}


def test_a_family_skips_lengths_that_it_has_not():
    reachability = PlaygroundQuestion("family:reachability", "0100")
    assert list(measured_lengths(requested_problem(reachability))) == [4, 16, 64]
    addition = PlaygroundQuestion("family:addition", "0100")
    assert list(measured_lengths(requested_problem(addition))) == [2, 4, 8, 16, 32, 64]


def test_the_proof_button_proves(client):
    answer = client.ask("prove", ABB, "aabb")
    assert answer["verdict"] == "proved"
    assert answer["proof"]["by"] == "induction over intervals of the word"


def test_a_pasted_circuit_is_read_from_its_text(client):
    half_adder = "aag 7 2 0 2 3\n2\n4\n6\n14\n6 2 4\n10 3 5\n14 7 11\n"
    for word, outputs in (("00", "00"), ("01", "01"), ("10", "01"), ("11", "10")):  # carry, sum
        answer = client.ask("run", half_adder, word)
        assert answer["right"].endswith(f"outputs {outputs}")
        assert answer["answer"] == answer["right"]


def test_a_pasted_grammar_is_read_from_its_text(client):
    grammar = "cfg:\nS -> 'a' S 'b' | ''"
    assert client.ask("run", grammar, "aabb")["answer"] == "accepted"
    assert client.ask("run", grammar, "abab")["answer"] == client.ask("run", grammar, "abab")["right"] == "rejected"
    assert client.ask("prove", grammar, "aabb")["verdict"] == "proved"
    assert "line 2 of the grammar" in client.refusal("run", {"problem": "cfg:S -> 'a'\n'b'", "word": "a"}, 422)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_one_that_the_playground_has(client, name):
    status, _, text = client.send("GET", f"/static/{name}.py")
    assert status == 200
    assert b"System(" in text
    word = next(iter(client.ask("words", f"program:{name}", "")["words"]), {"word": ".#.#.##........."})["word"]
    answer = client.ask("run", f"program:{name}", word)
    assert answer["answer"] == answer["right"]


def test_the_programs_on_offer_are_those_that_are_known():
    assert tuple(KNOWN) == PROGRAMS


def test_random_weights_run_and_are_never_called_right(client):
    assert client.ask("run", "random:7", "abab")["right"] is None
    for task in ("steps", "planners", "prove"):
        assert "random weights" in client.refusal(task, {"problem": "random:7", "word": "abab"}, 422)


def test_example_words_have_the_stated_answers(client):
    words = client.ask("run", ABB, WORD)["words"]
    assert {word["right"] for word in words} == {"accepted", "rejected"}
    for word in words:
        assert (re.fullmatch(ABB, word["word"]) is not None) == (word["right"] == "accepted")
        assert len(word["word"]) == len(WORD)
        assert word["word"].isprintable()


def test_an_answer_that_no_word_of_this_length_has_is_looked_for_elsewhere(client):
    words = {word["right"]: word["word"] for word in client.ask("run", "foo|bar", "aababbabb")["words"]}
    assert words["accepted"] in ("foo", "bar")


def test_a_wrong_word_is_answered_with_words_that_fit(client):
    question = {"problem": "group:Z3", "word": "abb"}
    assert "not an input symbol" in client.refusal("run", question, 422)
    for word in client.ask("words", **question)["words"]:
        assert client.ask("run", "group:Z3", word["word"])["answer"] == word["right"]


def test_every_example_of_the_page_is_right_unless_it_is_about_failure(client):
    page = client.send("GET", "/")[2].decode()
    questions = Examples(page).questions
    assert len(questions) >= 6
    problems = [question["problem"] for question in questions]
    assert {"group:A5", "family:parity", "expr:(2+3)*(4+1)-6"} < set(problems)
    for question in questions:
        answer = client.ask("run", **question)
        failing = question.get("planner") == "uniform"
        assert (answer["answer"] == answer["right"]) is not failing, question
