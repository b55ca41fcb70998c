"""What stood where, and what was written, edited or written again."""

import numpy as np

from unmask.pipeline import compile_problem
from unmask.traces.trace import Trace
from unmask.viewer.recording import Recording
from unmask.viewer.story import EDITED, KEPT, NOTHING, REPEATED, WRITTEN, story_of
from unmask.views import panel_of


def trace_of(kind, canvas, chosen):
    return Trace(
        kind=kind,
        length=2,
        padding=3,
        vocabulary=("a", "b", "m", "0", "1"),
        accept="1",
        reject="0",
        mask="m",
        word=(0, 1),
        canvas=tuple(np.array(c) for c in canvas),
        chosen=tuple(np.array(c, dtype=bool) for c in chosen),
        steps_taken=len(canvas),
    )


def test_a_slot_is_written_then_edited_or_repeated():
    trace = trace_of("mdm", [[0, 1, 2], [3, 1, 2], [3, 1, 4]], [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    story = story_of(trace, Recording.of_trace(trace), ())
    assert story.tokens.tolist() == [[0, 1, 2, 2, 2], [0, 1, 0, 1, 2], [0, 1, 3, 1, 2], [0, 1, 3, 1, 4]]
    assert story.change[:, 2:].tolist() == [
        [KEPT, KEPT, KEPT],
        [WRITTEN, WRITTEN, KEPT],
        [EDITED, REPEATED, KEPT],
        [KEPT, KEPT, WRITTEN],
    ]
    assert story.events() == [(1, 2), (1, 3), (2, 2), (3, 4)]
    assert story.last_written(3, 2) == 2  # the edit, not the first symbol
    assert story.last_written(3, 3) == 1  # not the repetition
    assert story.last_written(2, 2) == 1
    assert story.last_written(3, 0) == 0


def test_a_chain_grows_and_is_decided_by_the_row_before():
    trace = trace_of("cot", [[0], [0, 3], [0, 3, 4]], [[1], [0, 1], [0, 0, 1]])
    story = story_of(trace, Recording.of_trace(trace), ())
    assert story.tokens[1].tolist() == [0, 1, 0, NOTHING, NOTHING]
    assert story.events() == [(1, 2), (2, 3), (3, 4)]
    assert [story.deciding_row(*event) for event in story.events()] == [1, 2, 3]
    assert story.deciding_row(3, 2) == 2


def test_a_looped_model_shows_the_register_that_folds_the_word():
    panel = panel_of(compile_problem("(a|b)*abb", "plt", length=4), "babb")
    story = panel.story
    assert story.register == "product"
    shown = [[story.symbols[t] if t != NOTHING else "" for t in line] for line in story.tokens]
    assert shown[0][:4] == ["b", "a", "b", "b"]
    assert shown[1][:2] == ["a", "bb"]  # ba is like a, and bb is itself
    assert shown[2][0] == "abb"
    assert shown[3] == ["", "", "", "", "1"]
