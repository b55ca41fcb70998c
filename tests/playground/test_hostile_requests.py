"""No request blocks or exhausts the server or reads a file; every error is JSON with one message."""

import http.client
import json
import socket
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from threading import Barrier

import pytest

from unmask.playground import request_limits

from .client import JSON

GOOD = {"problem": "(a|b)*abb", "word": "aabb"}


@pytest.mark.parametrize(
    ("problem", "word", "message"),
    [
        ("((a{1000}){1000}){1000}", "a", "lower the counts"),
        ("(a|b)*a(a|b){40}", "a" * 50, "20,000 states"),
        ("(" * 900, "a", "nested too deeply"),
        ("(a+)b\\1", "aba", "not regular"),
        ("(a", "a", "column"),
        ("group:S99", "(12)", "group"),
        ("group:S7", "(12)", "columns"),
        ("family:../../etc/passwd", "1", "unknown family"),
        ("family:parity", "1" * 200, "200 symbols"),
        ("(a|b)*abb", "a" * 3999, "3,999 symbols"),
        ("expr:a*b*c*d*e*f in 0..99", "1*1*1*1*1*1", "narrow the operands"),
        ("random:-1", "ab", "seed"),
        ("aag 999999999 999999999 0 0 0\n", "1", "circuit"),
        ("aag 3 2 0 1 1\n2\n4\n6\n6 6 5\n", "10", "circuit"),
        ("expr:(2+3)*(4+1)-6", "1+1", "expression"),
    ],
)
def test_what_is_too_large_or_wrong_is_refused_soon(client, problem, word, message):
    """The refusal comes soon: work that takes too long is stopped with another message."""
    refusal = client.refusal("run", {"problem": problem, "word": word}, 422)
    assert message in refusal
    assert "was stopped" not in refusal


@pytest.mark.parametrize("prefix", ["dfa", "aiger", "blif"])
@pytest.mark.parametrize("task", ["run", "steps", "planners", "prove"])
def test_no_problem_names_a_file(client, prefix, task):
    message = client.refusal(task, {"problem": f"{prefix}:/etc/passwd", "word": "a"}, 400)
    assert "does not read files" in message


@pytest.mark.parametrize("problem", ["cfg:/etc/passwd", "law:law.json"])
def test_a_grammar_is_its_text_and_no_file(client, problem):
    assert "does not read files" in client.refusal("run", {"problem": problem, "word": "a"}, 400)


@pytest.mark.parametrize("rest", ["/tmp/mine.py", "palindrome.py", "../programs/rook", "", "import os", "__init__"])
def test_no_code_is_taken_from_the_network(client, rest):
    refusal = client.refusal("run", {"problem": f"program:{rest}", "word": "a"}, 400)
    assert "runs only its own programs: palindrome, corridor, rook, traffic" in refusal


def test_a_path_is_only_a_regex(client):
    assert client.ask("run", "../../etc/passwd", "xx/yy/etc/passwd")["answer"] == "accepted"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../etc/passwd",
        "/static/..%2f..%2fetc%2fpasswd",
        "/view/../app.py",
        "/static/guard.py",
        "//etc/passwd",
    ],
)
def test_no_path_leads_out(client, path):
    status, _, body = client.send("GET", path)
    assert status == 404
    assert set(json.loads(body)) == {"error"}


@pytest.mark.parametrize(
    ("question", "status", "message"),
    [
        ("{", 400, "not JSON"),
        ("", 400, "not JSON"),
        (b"\xff\xfe\x00", 400, "not JSON"),
        ("[" * 60_000, 400, "nested too deeply"),
        ('{"problem":' * 5_000, 400, "not JSON"),
        ("[]", 400, "JSON object"),
        ("null", 400, "JSON object"),
        ('{"problem": "a", "word": "a", "word": "b"}', 400, "'word' is given twice"),
        ({"word": "a"}, 400, "no problem"),
        ({"problem": "a"}, 400, "no word"),
        ({**GOOD, "file": "x"}, 400, "no field 'file'"),
        ({**GOOD, "problem": 7}, 400, "must be a string"),
        ({**GOOD, "problem": ["a"]}, 400, "must be a string"),
        ({**GOOD, "word": "\ud800"}, 400, "surrogate"),
        ({**GOOD, "word": "a" * 5_000}, 400, "5,000 characters"),
        ({**GOOD, "problem": "a" * 2_000}, 400, "2,000 characters"),
        ({**GOOD, "kind": "rnn"}, 400, "mdm, smdm"),
        ({**GOOD, "kind": {}}, 400, "kind must be"),
        ({**GOOD, "planner": "blockwise"}, 400, "planner must be"),
        ({**GOOD, "k": -1}, 400, "k must be"),
        ({**GOOD, "k": 10**400}, 400, "k must be"),
        ({**GOOD, "k": True}, 400, "k must be"),
        ({**GOOD, "seed": 0.5}, 400, "seed must be"),
        ({**GOOD, "length": -3}, 400, "no field 'length'"),
        ({**GOOD, "word": "a" * 1_000_000}, 413, "65,536 bytes"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_malformed_question_is_refused(client, question, status, message):
    assert message in client.refusal("run", question, status)


def test_an_unknown_task_is_not_found(client):
    assert "run, steps" in client.refusal("../run", GOOD, 404) + client.refusal("exec", GOOD, 404)


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:80", "127.0.0.1.example.org", "0.0.0.0", "127.0.0.1:x", ""]
)
def test_another_name_for_this_machine_is_refused(client, host):
    for method, path in (("GET", "/"), ("POST", "/api/run")):
        headers = {"Host": host, "Content-Type": "application/json"}
        status, _, body = client.send(method, path, json.dumps(GOOD), headers)
        assert status == 403
        assert "127.0.0.1" in json.loads(body)["error"]


def test_another_site_cannot_ask(client):
    assert "another site" in client.refusal("run", GOOD, 403, Origin="http://example.org")
    assert "another site" in client.refusal("run", GOOD, 403, Origin="null")
    assert "another site" in client.refusal("run", GOOD, 403, Sec_Fetch_Site="cross-site")
    status, _ = client.post("run", GOOD, Origin=client.address, Sec_Fetch_Site="same-origin")
    assert status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_taken(client, kind):
    assert "application/json" in client.refusal("run", GOOD, 415, Content_Type=kind)


def test_no_other_site_may_read_or_embed(client):
    status, headers, _ = client.send("GET", "/")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    status, headers, _ = client.send("OPTIONS", "/api/run", headers={"Origin": "http://example.org"})
    assert status == 405
    assert not [name for name in headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(("method", "path"), [("PUT", "/"), ("DELETE", "/api/run"), ("GET", "/api/run"), ("POST", "/")])
def test_other_methods_are_refused(client, method, path):
    status, _, body = client.send(method, path, "{}", {"Content-Type": "application/json"})
    assert status == 405
    assert "method" in json.loads(body)["error"]


def test_more_than_it_takes_leave_it_responsive(client):
    """Some requests are answered, the others are refused, and the page is served meanwhile."""
    heavy = {"problem": "group:A5", "word": " ".join(["(123)"] * 48), "kind": "mdm"}
    inside = request_limits.MOST_WORKERS + request_limits.WAITING
    start = Barrier(inside + 6)  # a late request could be accepted after another was answered

    def ask(seed):  # the seeds differ, so no two requests are equal
        start.wait()
        return client.post("run", {**heavy, "seed": seed})

    with ThreadPoolExecutor(inside + 6) as pool:
        requests = [pool.submit(ask, seed) for seed in range(inside + 6)]
        wait(requests, return_when=FIRST_COMPLETED)  # one request was refused, so the queue is full
        for _ in range(3):
            assert client.send("GET", "/")[0] == 200
        assert not all(future.done() for future in requests), "the page came only after the work"
        answers = [future.result() for future in requests]
    statuses = [status for status, _ in answers]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) <= inside
    assert all("busy" in answer["error"] for status, answer in answers if status == 503)
    assert client.post("run", GOOD)[0] == 200


def test_fifty_equal_questions_are_answered_by_one_run(client):
    """The address of a view is random and chosen once per run, so equal addresses mean one run."""
    question = {"problem": "(a|b)*abba", "word": "abba" * 6}
    with ThreadPoolExecutor(50) as pool:
        answers = [future.result() for future in [pool.submit(client.post, "run", question) for _ in range(50)]]
    assert {status for status, _ in answers} == {200}
    assert len({answer["view"] for _, answer in answers}) == 1
    assert client.send("GET", answers[0][1]["view"])[0] == 200
    other = client.ask("run", **question, seed=1)
    assert other["view"] != answers[0][1]["view"]


@pytest.mark.parametrize("sent", [0, 1, 20], ids=lambda sent: f"{sent} bytes of the body")
def test_a_request_that_is_cut_leaves_nothing_behind(client, sent):
    """There are more cancelled questions than the queue holds: none of them counts any more."""
    body = json.dumps({**GOOD, "seed": 100 + sent}).encode()
    head = f"POST /api/run HTTP/1.1\r\nHost: {client.host}\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    host, port = client.host.split(":")
    for _ in range(request_limits.MOST_WORKERS + request_limits.WAITING + 1):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + body[:sent])
    assert client.post("run", json.loads(body))[0] == 200


def test_cancelled_questions_free_their_workers(client):
    """As many different questions as the queue holds, and their answers are not read."""
    slow = {"problem": "(a|a)*b", "word": "a" * 60}
    connections = []
    for seed in range(request_limits.MOST_WORKERS + request_limits.WAITING):
        connections.append(http.client.HTTPConnection(client.host, timeout=60))
        connections[-1].request("POST", "/api/run", json.dumps({**slow, "seed": seed}), JSON)
    for connection in connections:
        connection.close()
    answers = (client.post("run", {**GOOD, "seed": 999})[0] for _ in range(20_000))  # a refusal takes a moment
    assert 200 in answers, "they are still inside"
