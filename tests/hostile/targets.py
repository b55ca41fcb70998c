"""Process an untrusted document as far as possible: read it, use the result, write it, read it again.

An `UnmaskError` ends the processing; any other exception fails the test. So does a file that is left behind.
"""

import json
import random
import struct
from itertools import islice, product
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from unmask.api import (
    convert_model,
    load_model,
    problem_name,
    run_both,
    run_words,
    save_model,
    verify_model,
)
from unmask.compilers.compiler import compiler_for
from unmask.errors import UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.playground.worker import TASKS, answer_question
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.circuits.circuit_files import parse_aiger, parse_blif, write_aiger
from unmask.problems.problem import Outcome
from unmask.problems.regular_problems import dfa_from_json
from unmask.reasoners.decoding import Tape
from unmask.reasoners.planners import parse_planner
from unmask.recurrences import Interpreter
from unmask.samplers.law_comparison import Bench
from unmask.samplers.string_law import law_from_json, read_law
from unmask.traces.trace import Trace, trace_result
from unmask.traces.trace_differences import first_difference
from unmask.verification.words.deciders import extracted_circuit
from unmask.viewer.html_page import render, render_text
from unmask.viewer.model_view import view_of
from unmask.viewer.svg_picture import picture
from unmask.weights.kinds import KINDS

SMALL = 12


def ours(work, *arguments, **options):
    """Return the result of the work, or None if it raised an `UnmaskError`."""
    try:
        return work(*arguments, **options)
    except UnmaskError:
        return None


def folder(document, scratch: Path):
    """config.json and the tensors of its transformers → run, show, compare, convert, extract, save."""
    config, tensors = document
    model_folder = scratch / "m"
    model_folder.mkdir()
    (model_folder / "config.json").write_text(json.dumps(config))
    (model_folder / "model.safetensors").write_bytes(tensors)
    before = sorted(path.name for path in scratch.iterdir())
    model = ours(load_model, model_folder)
    if model is not None and model.rows * max(t.width for t in model.transformers.values()) < 4096 and model.steps < 9:
        _use(model, scratch)
    assert sorted(path.name for path in scratch.iterdir()) in (before, [*before, "saved"])


def _use(model, scratch):
    repr(model), model._repr_html_(), problem_name(model)
    draws = random.Random(0)
    words = [" ".join(draws.choices(model.input_symbols, k=model.length)) for _ in range(2) if model.input_symbols]
    words += ["".join(chr(r[0]) for r in (model.characters or ())[:1]) * model.length, "", "ab", "\ud800"]
    for outcome in run_words(model, words):
        if isinstance(outcome, Trace):
            json.dumps(trace_result(outcome))
            repr(outcome)
    ours(run_both, model, words[0])
    ours(run_both, model, words[0], sample=True, seed=1)
    view = ours(view_of, model, words[0], ("cot",))
    if view is not None:
        render(view), picture(view), [render_text(panel) for panel in view.panels]
    for method in ("sample", "exhaustive", "prove"):
        ours(verify_model, model, method=method, cases=3)
        ours(verify_model, model, method=method, cases=3, against="(a|b)*a")
    ours(lambda: [conversion for kind in KINDS[:4] for conversion in convert_model(model, kind)][:0])
    ours(extracted_circuit, model)
    if ours(save_model, model, scratch / "saved") is not None:
        again = load_model(scratch / "saved")
        assert again.vocabulary == model.vocabulary


def circuit(text, _=None, *, parse=parse_aiger):
    """A circuit → the same circuit again, its values, and a model if it is small."""
    parsed = ours(parse, text.encode("utf-8", "surrogateescape") if parse is parse_aiger else text)
    if parsed is None or len(parsed.inputs) > SMALL:
        return
    bits = np.random.default_rng(0).integers(0, 2, (5, len(parsed.inputs))).astype(bool)
    values = parsed.evaluate(bits)
    if parsed.gates and parsed.wires < 200:
        assert np.array_equal(parse_aiger(write_aiger(parsed).encode()).evaluate(bits), values)
    if len(parsed.gates) <= SMALL and len(parsed.outputs) <= 3:
        stored = {"kind": "circuit", "name": "x", "aiger": text}
        ours(lambda: _compiled(problem_from_json(stored), len(parsed.inputs)))


def blif(text, _=None):
    circuit(text, parse=parse_blif)


def grammar(text, scratch: Path):
    """A grammar, from its file → its stored form, recogniser and chart compared, and a model."""
    path = scratch / "g.cfg"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    problem = ours(parse_problem, f"cfg:{path}")
    path.unlink()
    if problem is None:
        return
    assert problem_from_json(json.loads(json.dumps(problem.to_json()))).letters == problem.letters
    if len(problem.letters) <= 4 and len(problem.binary.nonterminals) <= SMALL:
        chart = Interpreter(problem.system, 2)
        for word in product(problem.letters, repeat=2):
            assert Outcome.of_bits(chart.run(word).answers) == problem.outcome(word)
        ours(lambda: _compiled(problem, 2))


def automaton(document, _=None):
    """A DFA → its problem, answers and a model."""
    parsed = ours(dfa_from_json, document)
    if parsed is not None and isinstance(document, dict):
        ours(lambda: _compiled(problem_from_json({"kind": "dfa", "name": "x", "dfa": document}), 2))


def problem(text, _=None):
    """A PROBLEM string → the problem, its words with their answers, what is stored, and a model."""
    parsed = ours(parse_problem, text)
    if parsed is None:
        return
    repr(parsed.name)
    length = parsed.length if parsed.length is not None else 2
    if length <= SMALL and parsed.has_answers:
        stored = parsed.to_json()
        ours(problem_from_json, json.loads(json.dumps(stored)))
    ours(lambda: _compiled(parsed, length))


def _compiled(problem, length):
    if length > SMALL or not problem.has_length(length):
        return
    for word in islice(problem.words(length, random.Random(0)), 3) if problem.has_answers else ():
        ours(problem.outcome, word)
    for word in ("", "a", "ab", "\ud800", "1" * length, "²", "(1+1)"):
        ours(problem.outcome, word)
        ours(problem.symbols_in, word)
    compiler = compiler_for(problem)
    for kind in compiler.kinds[:1]:
        model = ours(compiler.compile, kind, length, Precision(2))
        if model is not None and model.rows < 200:
            ours(verify_model, model, method="sample", cases=2)


def law(document, scratch=None):
    """A law, from a document or from its file → its strings and conditionals."""
    parsed = ours(law_from_json, document)
    if scratch is not None:
        path = scratch / "law.json"
        path.write_text(json.dumps(document))
        ours(read_law, path)
        path.unlink()
    if parsed is not None and len(parsed.alphabet) < 6:
        bench = ours(Bench, parsed, 2)
        if bench is not None:
            ours(lambda: bench.truth)


def trace(document, _=None):
    """A trace → itself again, compared and shown."""
    parsed = ours(Trace.from_json, document)
    if parsed is None:
        return
    repr(parsed), parsed.text, parsed.output, parsed.canvas_symbols, parsed.accepted
    ours(parsed._repr_html_)
    again = Trace.from_json(json.loads(json.dumps(parsed.to_json())))
    assert first_difference(parsed, again) is None


def question(document, _=None):
    """A question of the playground: every task has an answer or an error message, and no status 500."""
    for task in ("words", "run", "steps"):
        assert task in TASKS
        reply = answer_question(task, document)
        assert "answer" in reply or reply["status"] in (400, 422), (task, reply)


def planner(text, _=None):
    ours(parse_planner, text, Tape(0))


def packed(tensors, header_changes):
    """Return the bytes of a .safetensors file with replaced header entries."""
    content = save({name: np.ascontiguousarray(array) for name, array in tensors.items()})
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + size]) | header_changes
    text = json.dumps({name: entry for name, entry in header.items() if entry is not None}).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]
