"""Every kind of compiled model against the automaton it was compiled from."""

from dataclasses import replace

import numpy as np
import pytest

from programs.languages import KINDS, LAYOUTS, STRANGE, answered, automaton, compiled, compiler, right, some_words
from unmask.compilers.regular_compiler import RegularCompiler
from unmask.errors import ProblemError, TooLarge
from unmask.numerics.arithmetic import Precision
from unmask.problems.regexes.determinisation import regex_automaton
from unmask.problems.regular_problems import GroupProblem
from unmask.weights.storage import content_hash

FOUR_STATES = automaton([[1, 3, 0], [2, 0, 1], [2, 1, 3], [0, 3, 2]], 0, [0, 1, 0, 1])
S3 = GroupProblem("S3").automaton


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STRANGE)
def test_strange_automata(name, kind, layout):
    language = STRANGE[name]
    for length in (0, 1, 2, 3, 5):
        words = some_words(language, length, most=16)
        assert answered(compiled(language, kind, length, layout=layout), words) == right(language, words), length


@pytest.mark.parametrize("p", [2, 3, 6])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_layout_and_precision(kind, layout, p):
    for length in range(10):
        words = some_words(FOUR_STATES, length)
        model = compiled(FOUR_STATES, kind, length, layout=layout, p=p)
        assert answered(model, words) == right(FOUR_STATES, words), length


@pytest.mark.parametrize(("kind", "layout"), [("mdm", "one slot"), ("plt", "one slot"), ("pcot", "one slot")])
def test_factors_are_multiplied_in_order_at_every_length(kind, layout):
    """S3 does not commute: a rotated order, as the paper's own layout has it, gives a wrong product."""
    for length in range(41):
        words = some_words(S3, length, most=12, seed=3)
        words[::2, -1:] = _completing(words[::2, :-1])[:, None]  # or else only one word in six would be accepted
        assert answered(compiled(S3, kind, length, layout=layout), words) == right(S3, words), length


@pytest.mark.parametrize("kind", ["mdm", "plt", "pcot"])
def test_factors_are_multiplied_in_order_with_a_slot_per_state(kind):
    for length in (2, 3, 5, 6, 7, 11, 13, 21):
        words = some_words(S3, length, most=6, seed=4)
        words[::2, -1:] = _completing(words[::2, :-1])[:, None]
        assert answered(compiled(S3, kind, length, layout="a slot per state"), words) == right(S3, words), length


def _completing(words):
    """For each word the letter that takes its product to the identity."""
    states = np.zeros(len(words), dtype=np.int64)
    for token in words.T:
        states = S3.delta[states, token]
    return np.argmin(S3.delta[states], axis=1)


@pytest.mark.parametrize("length", range(34))
def test_steps_and_space_are_as_documented(length):
    steps, half = max(1, (length - 1).bit_length()) if length else 1, max(1, -(-length // 2))
    states = FOUR_STATES.states
    expected = {
        ("mdm", "one slot"): (steps, max(1, length - 1)),
        ("mdm", "a slot per state"): (steps, max(0, length - 2) * states + 1),
        ("pcot", "one slot"): (steps, steps * half),
        ("pcot", "a slot per state"): (steps, 1 if length <= 2 else steps * half * states),
    }
    for kind in KINDS:
        for layout in LAYOUTS:
            model = compiled(FOUR_STATES, kind, length, layout=layout)
            steps_and_padding = (model.steps, model.padding)
            bound = compiler(FOUR_STATES, layout).bound(kind, length)
            assert all(a <= b for a, b in zip(steps_and_padding, bound, strict=True)), (kind, layout)
            if kind == "plt":
                assert steps_and_padding == (0 if length <= 1 else steps, 1)
            elif kind == "cot":
                assert steps_and_padding == (max(1, length), max(1, length))
            else:
                assert steps_and_padding == expected["pcot" if kind == "pcot" else "mdm", layout], (kind, layout)
            if kind in ("mdm", "smdm", "topk") and layout == "one slot":
                assert steps_and_padding[1] <= max(1, length)


@pytest.mark.parametrize("first", [1, 3, 5])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_width_grows_by_the_same_amount_with_every_doubling(kind, layout, first):
    widths = []
    for length in (first * 2**k for k in range(1, 10)):
        model = compiled(FOUR_STATES, kind, length, layout=layout)
        widths.append([t.width for t in model.transformers.values()])
    growth = np.diff(np.array(widths), axis=0)
    assert (growth == growth[0]).all(), growth.tolist()
    assert (growth <= 4).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("length", [2, 3, 5, 8, 9])
def test_no_step_can_be_left_out(length, layout):
    model = compiled(FOUR_STATES, "mdm", length, layout=layout)
    words = some_words(FOUR_STATES, length)
    if model.steps > 1:
        assert set(answered(replace(model, steps=model.steps - 1), words)) == {-1}
    longer = replace(model, steps=model.steps + 3)
    assert answered(longer, words) == right(FOUR_STATES, words)


def test_layouts_say_why_they_were_taken():
    assert RegularCompiler.of(FOUR_STATES).layout.startswith("one slot per node: the monoid has ")
    large = RegularCompiler.of(GroupProblem("S7").automaton)
    assert large.layout == "5040 slots per node: the transition monoid has more than 1,024 elements"


@pytest.mark.parametrize("kind", KINDS)
def test_precision_one_is_refused(kind):
    with pytest.raises(ProblemError, match="a precision of at least 2, not 1"):
        compiler(FOUR_STATES).compile(kind, 4, Precision(1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_compiling_twice_gives_the_same_bytes(kind, layout):
    hashes = [
        content_hash(compiler(regex_automaton("(a|b)*abb"), layout).compile(kind, 7, Precision(2))) for _ in range(2)
    ]
    assert hashes[0] == hashes[1]


def test_states_are_numbered_from_the_start_state():
    with pytest.raises(ValueError, match="start in state 0"):
        RegularCompiler(STRANGE["start in the middle"], None, {})


@pytest.mark.parametrize("kind", KINDS)
def test_a_length_without_measure_is_refused_before_memory_is_taken(kind):
    refused = r"1,000,000,000 steps, beyond" if kind == "cot" else r"rows of width .* numbers, .* beyond"
    with pytest.raises(TooLarge, match=rf"{refused} the limit"):
        compiler(regex_automaton("(a|b)*abb")).compile(kind, 10**9, Precision(2))


def test_a_loop_over_too_many_paths_is_refused_with_its_estimate():
    seven = RegularCompiler.of(GroupProblem("S7").automaton)
    with pytest.raises(TooLarge, match=r"5,040 states would need 128,024,064,000 hidden units"):
        seven.compile("plt", 4, Precision(2))


def test_a_monoid_of_a_thousand_elements_stays_small(tmp_path):
    from unmask.weights.storage import load, save

    large = RegularCompiler.of(regex_automaton(".*a.{8}"))
    assert large.products is not None
    assert large.products.coding.size == 1024
    folder = save(large.compile("mdm", 256, Precision(2)), tmp_path / "model")
    assert sum(file.stat().st_size for file in folder.iterdir()) < 50_000_000
    assert load(folder).steps == 8
