"""No request hangs it, exhausts it, reads a file, or gets anything but JSON with one sentence."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

GOOD = {"problem": "(a|b)*abb", "word": "aabb"}


@pytest.mark.parametrize(
    ("problem", "word", "sentence"),
    [
        ("((a{1000}){1000}){1000}", "a", "lower the counts"),
        ("(a|b)*a(a|b){40}", "a" * 50, "20,000 states"),
        ("(" * 900, "a", "nested too deeply"),
        ("(a+)b\\1", "aba", "not regular"),
        ("(a", "a", "column"),
        ("group:S99", "(12)", "group"),
        ("group:S7", "(12)", "columns"),
        ("family:../../etc/passwd", "1", "no family"),
        ("family:parity", "1" * 200, "200 symbols"),
        ("(a|b)*abb", "a" * 3999, "3,999 symbols"),
        ("expr:a*b*c*d*e*f in 0..99", "1*1*1*1*1*1", "narrow the operands"),
        ("random:-1", "ab", "seed"),
        ("aag 999999999 999999999 0 0 0\n", "1", "circuit"),
        ("aag 3 2 0 1 1\n2\n4\n6\n6 6 5\n", "10", "circuit"),
        ("expr:(2+3)*(4+1)-6", "1+1", "expression"),
    ],
)
def test_what_is_too_large_or_wrong_is_refused_soon(client, problem, word, sentence):
    start = time.monotonic()
    assert sentence in client.refusal("run", {"problem": problem, "word": word}, 422)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("prefix", ["dfa", "aiger", "blif"])
@pytest.mark.parametrize("task", ["run", "steps", "planners", "prove"])
def test_no_problem_names_a_file(client, prefix, task):
    sentence = client.refusal(task, {"problem": f"{prefix}:/etc/passwd", "word": "a"}, 400)
    assert "reads no files" in sentence


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
    ("question", "status", "sentence"),
    [
        ("{", 400, "not JSON"),
        ("", 400, "not JSON"),
        (b"\xff\xfe\x00", 400, "not JSON"),
        ("[" * 60_000, 400, "nested too deeply"),
        ('{"problem":' * 5_000, 400, "not JSON"),
        ("[]", 400, "JSON object"),
        ("null", 400, "JSON object"),
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
def test_a_malformed_question_is_refused(client, question, status, sentence):
    assert sentence in client.refusal("run", question, status)


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


def test_twenty_at_once_leave_it_responsive(client):
    """Some are answered, the others are told to come back, and the page is served all the while."""
    heavy = {"problem": "group:A5", "word": " ".join(["(123)"] * 48), "kind": "mdm"}
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(client.post, "run", heavy) for _ in range(20)]
        time.sleep(0.1)
        for _ in range(3):
            start = time.monotonic()
            assert client.send("GET", "/")[0] == 200
            assert time.monotonic() - start < 2
        answers = [future.result() for future in asked]
    statuses = [status for status, _ in answers]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) <= 8
    assert all("busy" in answer["error"] for status, answer in answers if status == 503)
    assert client.post("run", GOOD)[0] == 200
