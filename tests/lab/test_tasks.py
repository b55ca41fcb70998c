"""What a network is taught is what the compiled models do."""

import numpy as np
import pytest

from unmask import compile_problem, compile_program, run_word
from unmask.compilers.regular_compiler import from_state_zero
from unmask.errors import ProblemError, UnmaskError
from unmask.lab.task_layouts import NO_OPERAND
from unmask.lab.task_sources import Stream, algebra_of, words
from unmask.lab.tasks import FRAMEWORKS, LabTask
from unmask.problems.automata.groups_and_monoids import transition_monoid
from unmask.problems.catalogue import parse_problem
from unmask.recurrences import BOOLEAN, N, Slots, System, collect, indices, letter

PROBLEMS = ["group:S3", "group:Z4", "(a|b)*abb", "group:gens:(1 2 3)(4 5),(1 2)"]
LENGTHS = [2, 3, 5, 8]


def drawn(problem, length, count=3, seed=0):
    """(words as typed, the same as elements)."""
    automaton, algebra = parse_problem(problem).automaton, algebra_of(problem)
    ids = np.random.default_rng(seed).integers(0, len(automaton.tokens), (count, length))
    return [automaton.spelled(row.tolist()) for row in ids], algebra.letters[ids]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_tree_is_that_of_the_compiled_model(problem, length):
    task, model = LabTask.of(problem, length, "tree"), compile_problem(problem, "smdm", length=length)
    assert (model.steps, model.padding) == (task.layout.steps, task.layout.padding)
    for word, elements in zip(*drawn(problem, length), strict=True):
        states = task.states(elements[None])[0]
        trace = run_word(model, word)
        for t, canvas in enumerate(trace.canvas_symbols, start=1):
            ours = [task.vocabulary[s] for s in states[t, length:]]
            assert [s == model.mask for s in canvas] == [s == task.vocabulary[task.mask] for s in ours]
            written = [(a, b) for a, b in zip(canvas[:-1], ours[:-1], strict=True) if a != model.mask]
            assert all(a == b for a, b in written)
        assert trace.accepted == task.source.accepting[states[-1, -1]]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_chain_is_that_of_the_compiled_model(problem, length):
    task, model = LabTask.of(problem, length, "cot"), compile_problem(problem, "cot", length=length)
    automaton = from_state_zero(parse_problem(problem).automaton)
    monoid = transition_monoid(automaton)
    states_of = {tuple(row.tolist()): row[0] for row in monoid.elements}
    assert len(states_of) == monoid.size
    for word, elements in zip(*drawn(problem, length), strict=True):
        last = task.states(elements[None])[0, -1, length:]
        ids = automaton.token_ids(word)
        canvas = run_word(model, word).canvas_symbols[-1]
        for t in range(length):
            assert task.source.product(elements[None, : t + 1])[0] == last[t]
            if t < length - 1:
                assert canvas[t] == f"q{monoid.elements[monoid.element(ids[: t + 1])][0]}"
        if problem.startswith("group:"):  # states are elements
            assert canvas[:-1] == [f"q{e}" for e in last[:-1]]
        assert canvas[-1] == (model.accept if task.source.accepting[last[-1]] else model.reject)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("problem", PROBLEMS[:3])
def test_the_loop_is_that_of_the_compiled_model(problem, length):
    task, model = LabTask.of(problem, length, "looped"), compile_problem(problem, "plt", length=length)
    assert model.steps == task.layout.steps
    for word, elements in zip(*drawn(problem, length), strict=True):
        states = task.states(elements[None])[0]
        trace = run_word(model, word, record=True)
        columns = [i for i, name in enumerate(trace.registers["model"]) if name.startswith("product:")]
        for t in range(model.steps):
            contents = trace.activations[f"steps.{t}.model.layers.1.residual"][: length + 1, columns]
            assert (contents.argmax(axis=1) == states[t + 1, : length + 1]).all()


def scan_program(problem, length):
    """The scan as a system of recurrences: its step stands in slots of its own, before those of the products."""
    algebra, tokens = algebra_of(problem), parse_problem(problem).automaton.tokens
    names, element = algebra.names, {name: number for number, name in enumerate(algebra.names)}
    spelled = {token: names[e] for token, e in zip(tokens, algebra.letters, strict=True)}
    rounds = (length - 1).bit_length()
    i, t = indices("i t")
    now = Slots("now", t.range(rounds), BOOLEAN)
    now.start((), lambda: True, where=t.equals(0))
    now.start((), lambda: False)
    now.rule(now[t - 1].or_else(False), lambda before: before)
    prefix = Slots("prefix", i.range(N), names)
    prefix.start(letter(i), spelled.get)
    nobody = names[algebra.identity]
    fetched = collect(t.range(rounds), (now[t], prefix[i - 2**t].or_else(nobody)), lambda on, x: [x] if on else [])
    prefix.rule(
        (prefix[i], fetched),
        lambda own, left: names[algebra.table[element[min(left)], element[own]]] if left else own,
    )
    return System(tokens, (now, prefix), answer=prefix, steps=rounds)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("problem", PROBLEMS[:3])
def test_the_scan_is_that_of_a_compiled_program(problem, length):
    """A slot of a program starts with its letter, which is the first step here: so the program has one step less."""
    task, model = (
        LabTask.of(problem, length, "scan"),
        compile_program(scan_program(problem, length), "mdm", length=length),
    )
    assert model.steps == task.layout.steps - 1
    automaton = parse_problem(problem).automaton
    for word, elements in zip(*drawn(problem, length), strict=True):
        states = task.states(elements[None])[0, 1:, length:]
        assert (states[0] == elements).all()
        spaced_word = " ".join(automaton.tokens[token] for token in automaton.token_ids(word))
        for t, canvas in enumerate(run_word(model, spaced_word).canvas_symbols, start=1):
            assert canvas[-length:] == [task.vocabulary[s] for s in states[t]]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("length", [2, 5, 16])
def test_the_last_row_ends_with_the_product(framework, length):
    task = LabTask.of("group:A5", length, framework)
    drawn_words = words(task.source, 20, length, 0, Stream.training)
    states = task.states(drawn_words)
    assert states.shape == (20, task.layout.steps + 1, task.rows)
    assert (states[:, -1, -1] == task.answers(drawn_words)[:, 0]).all()


@pytest.mark.parametrize(
    ("framework", "factors", "steps"), [("cot", 3, 6), ("cot", 5, 3), ("scan", 3, 4), ("scan", 4, 3)]
)
def test_more_factors_take_fewer_steps(framework, factors, steps):
    """Every symbol is a product of `factors` others, from the first to the last that it points to."""
    length = 11
    task = LabTask.of("group:S3", length, framework, factors)
    drawn_words = words(task.source, 20, length, 0, Stream.training)
    states = task.states(drawn_words)
    assert task.layout.steps == steps
    assert task.longer(12).layout.steps == LabTask.of("group:S3", 12, framework, factors).layout.steps
    ends = np.arange(length) if framework == "scan" else np.minimum(np.arange(1, steps + 1) * (factors - 1), length) - 1
    for slot, end in enumerate(ends):
        assert (states[:, -1, length + slot] == task.answers(drawn_words[:, : end + 1])[:, 0]).all()
    for t in range(steps):
        for row, (first, last) in enumerate(task.pointers[t]):
            if first != NO_OPERAND and t > 0 and framework == "scan":
                span = factors ** (t - 1)
                fetched = range(first, (first if last == NO_OPERAND else last) - 1, -span)
                assert 0 < len(fetched) < factors
                assert all(place >= length for place in fetched)
                contents = states[:, t, [*reversed(fetched), row]]
                assert (states[:, t + 1, row] == task.answers(contents)[:, 0]).all()


def test_two_factors_are_those_of_the_compiled_models():
    for framework in ("cot", "scan"):
        plain, explicit = LabTask.of("group:S3", 9, framework), LabTask.of("group:S3", 9, framework, 2)
        assert (plain.pointers == explicit.pointers).all()
        assert (plain.pointers[..., 1] == NO_OPERAND).all()
    with pytest.raises(UnmaskError, match="a step of tree multiplies two factors, not 3; use cot or scan"):
        LabTask.of("group:S3", 9, "tree", 3)


@pytest.mark.parametrize("framework", ["tree", "scan", "looped"])
def test_a_row_is_the_product_of_what_it_holds_and_fetches(framework):
    """The pointers are the only way in which a new symbol comes about."""
    task = LabTask.of("group:S3", 8, framework)
    states = task.states(words(task.source, 10, 8, 0, Stream.training))
    contents = np.where(states == task.pad, task.source.identity, states)
    for t in range(task.layout.steps):
        for row, (left, right) in enumerate(task.pointers[t]):
            before, after = contents[:, t], contents[:, t + 1, row]
            if left == NO_OPERAND:
                assert (after == before[:, row]).all()
            elif right != NO_OPERAND:
                both_written = (before[:, left] < task.source.size) & (before[:, right] < task.source.size)
                factors = before[both_written, left], before[both_written, right]
                assert (after[both_written] == task.source.table[factors]).all()
            elif t == 0:
                assert (after == before[:, left]).all()
            else:
                assert (after == task.source.table[before[:, left], before[:, row]]).all()


def test_words_do_not_depend_on_what_was_drawn_before():
    algebra = algebra_of("group:S3")
    assert (words(algebra, 5, 4, 7, Stream.training, 3) == words(algebra, 5, 4, 7, Stream.training, 3)).all()
    assert (words(algebra, 5, 4, 7, Stream.training, 3) != words(algebra, 5, 4, 7, Stream.watching, 3)).any()


def test_chance():
    assert algebra_of("group:A5").chance(16) == pytest.approx(1 / 60)
    assert algebra_of("group:gens:(1 2)").chance(3) == 1.0  # one letter, one word


def test_what_is_no_task():
    with pytest.raises(ProblemError, match="is not regular; use"):
        LabTask.of("family:majority", 8, "tree")
    for problem in ("aiger:/dev/zero", "law:x", "random:1", "expr:" + "a*" * 1000):
        with pytest.raises(ProblemError, match="is not regular; use"):
            LabTask.of(problem, 8, "tree")
    with pytest.raises(UnmaskError, match="unknown framework 'rnn' for group:S3 in the lab; use one of direct"):
        LabTask.of("group:S3", 8, "rnn")
    with pytest.raises(ProblemError, match="lengths from 2"):
        LabTask.of("group:S3", 1, "tree")
