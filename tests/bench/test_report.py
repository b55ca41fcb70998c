"""check.py of an exported folder needs no unmask; documents have the written schemas; the page is self-contained."""

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import faulty_samplers
import pytest

from unmask.bench.bench_folder import cached_models, write_bench_folder
from unmask.bench.checks_page import bench_page
from unmask.bench.reference_models import reference_row
from unmask.bench.run_checks import run_checks

pytest.importorskip("transformers")
SAMPLERS = Path(faulty_samplers.__file__)
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}


def faults(document, schema, where="it"):
    """What a document has that its schema does not allow; the part of JSON Schema that ours use."""
    if "enum" in schema:
        return [] if document in schema["enum"] else [f"{where} is {document!r}"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    fits = [isinstance(document, int | float if kind == "number" else TYPES[kind]) for kind in kinds]
    if not any(fits) or (isinstance(document, bool) and "boolean" not in kinds):
        return [f"{where} is {document!r}, not {kinds}"]
    faults_found = []
    if isinstance(document, dict):
        properties = schema.get("properties", {})
        faults_found += [f"{where} lacks {name}" for name in schema.get("required", ()) if name not in document]
        if schema.get("additionalProperties") is False:
            faults_found += [f"{where} has {name}" for name in document if name not in properties]
        for name, value in document.items():
            faults_found += faults(value, properties[name], f"{where}.{name}") if name in properties else []
    if isinstance(document, list) and "items" in schema:
        for number, value in enumerate(document):
            faults_found += faults(value, schema["items"], f"{where}[{number}]")
    return faults_found


def schema(name):
    return json.loads((files("unmask.bench") / f"{name}.schema.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_bench_folder(reference_row("tree-16-reversed"), tmp_path_factory.mktemp("bench") / "tree")


def grade(folder, *arguments, missing="unmask"):
    """Run check.py where importing unmask, or another package, is an error."""
    program = (
        f"import runpy, sys; sys.modules[{missing!r}] = None; sys.argv[0] = sys.argv.pop(1); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", program, folder / "check.py", *arguments]
    return subprocess.run(command, cwd=folder.parent, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("fault", [None, "order"])
def test_a_folder_grades_a_sampler_without_unmask(folder, tmp_path, fault):
    (tmp_path / "mine.py").write_text(SAMPLERS.read_text() + f"\nmine = make({fault!r})\nprint('loaded')\n")
    completed = grade(folder, f"{tmp_path / 'mine.py'}:mine", "--json")
    assert completed.returncode == (fault is not None), completed.stderr
    assert "loaded" in completed.stderr
    report = json.loads(completed.stdout)
    (model,) = cached_models(str(folder))
    in_process = run_checks(faulty_samplers.make(fault), [model])
    assert [(o["check"], o["status"], o["message"]) for o in report["outcomes"]] == [
        (o.check, o.status, o.message) for o in in_process.outcomes
    ]
    assert faults(report, schema("report")) == []
    assert {o["check"] for o in report["outcomes"] if o["status"] == "failed"} == ({fault} if fault else set())


def test_what_a_sampler_prints_is_not_in_the_report(folder, unmask):
    arguments = ["--sampler", f"{SAMPLERS}:prints", "--models", str(folder), "--check", "order", "--json"]
    code, out, err = unmask("bench", "run", *arguments)
    assert code == 0
    assert json.loads(out)["ok"]
    assert "step of 15\n" in err


def test_check_py_says_what_is_wrong_with_a_name(folder):
    completed = grade(folder, "nothing.py:generate")
    assert completed.returncode == 2
    assert completed.stderr == "error: no such file: nothing.py; check the path\n"
    completed = grade(folder, f"{SAMPLERS}:plain", "--check", "nothing")
    assert completed.returncode == 2
    assert "unknown check 'nothing'" in completed.stderr
    assert "Traceback" not in completed.stderr


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_check_py_says_which_packages_it_needs(folder, tmp_path, package):
    (tmp_path / "mine.py").write_text("def mine(model, tokenizer, input_ids, **options):\n    return input_ids\n")
    completed = grade(folder, f"{tmp_path / 'mine.py'}:mine", missing=package)
    assert completed.returncode == 2
    assert completed.stderr == ("error: the bench needs torch and transformers; install them, or unmask with [bench]\n")


@pytest.mark.usefixtures("bench_cache")
@pytest.mark.parametrize("name", ["tree-16", "regex-16", "grid-6", "in-place-12"])
def test_bench_json_has_its_schema(name):
    (model,) = cached_models(name)
    assert faults(model.facts, schema("bench")) == []
    assert model.facts["most_frequent_answer"] <= 0.5
    assert sum(path.stat().st_size for path in model.folder.iterdir()) < 5_000_000


def test_a_document_that_does_not_fit_is_refused():
    good = {"format": "unmask-bench-report/1", "sampler": "s", "ok": True, "outcomes": [], "runs": []}
    run = {"model": "m", "steps": 1, "passes": 1, "right": 0.5, "step_map": [1, "2"]}
    assert faults(good, schema("report")) == []
    assert faults({**good, "ok": 1}, schema("report"))
    assert faults({**good, "more": 1}, schema("report"))
    assert faults({**good, "runs": [run]}, schema("report")) == ["it.runs[0].step_map[1] is '2', not ['integer']"]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.names, self.addresses = [], []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_explains_the_first_failure_and_asks_for_nothing(folder):
    report = run_checks(faulty_samplers.make("order"), cached_models(str(folder)), checks=["terminates", "order"])
    text = bench_page(report, ["--option", "block_length=4"])
    tags = Tags()
    tags.feed(text)
    assert tags.addresses == []
    assert not {"script", "link", "img", "iframe"} & set(tags.names)
    assert tags.names.count("svg") == 2  # passes against right slots, and a step map
    assert "First failure: order on tree-16-reversed: word 0, pass 1: slot 0 was written" in text
    assert "Bugs of this class: a slot is written before the slots that it is computed from." in text
    assert "--models tree-16-reversed --check order --option block_length=4" in text
    other = faulty_samplers.make("mask_never_written")
    both = run_checks(other, cached_models(str(folder)), checks=["mask_never_written"])
    both.outcomes += report.outcomes
    assert bench_page(both).count("<p>mask_never_written: ") == 0
    assert bench_page(both).count("<p>order: ") == 1
    assert "First failure" not in bench_page(
        run_checks(faulty_samplers.plain, cached_models(str(folder)), checks=["order"])
    )
