"""Compare two engines: results, errors, and every watched value."""

import numpy as np

from unmask.errors import UnmaskError
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.run_words import steps


def outcome(work):
    """Return (result, None) of a call, or (None, the error that it raises)."""
    try:
        return work(), None
    except UnmaskError as error:
        return None, (type(error), vars(error), str(error))


def same(left, right):
    """Return whether the names are equal and the arrays are equal as integers."""
    return [n for n, _ in left] == [n for n, _ in right] and all(
        np.array_equal(x, y) for (_, x), (_, y) in zip(left, right, strict=True)
    )


class Recorder(list):
    """A watch that keeps copies."""

    def __call__(self, name, value):
        self.append((name, np.array(value, dtype=np.int64)))


def run_of(model, words, engine, tape=None, *, watched):
    """Return (all watched values, all steps, the error) of a run."""
    recorder, results = Recorder(), []

    def work():
        for step in steps(RunSetup(model, words, engine, tape, watch=recorder if watched else None)):
            results.append(("canvas", step.canvas))
            results.append(("chosen", step.chosen))

    return recorder, results, outcome(work)[1]


def assert_same_run(model, words, left, right, tape=None):
    """Compare every residual, weight and canvas, also in a run without a watch, which may take other paths."""
    ours = run_of(model, words, left, tape, watched=True)
    theirs = run_of(model, words, right, tape, watched=True)
    assert ours[2] == theirs[2]
    for (name, x), (other, y) in zip(ours[0], theirs[0], strict=True):
        assert name == other
        assert np.array_equal(x, y), f"{name} differs at {np.argwhere(x != y)[0]}"
    assert same(ours[1], theirs[1])
    alone = run_of(model, words, right, tape, watched=False)
    assert alone[2] == ours[2]
    assert same(alone[1], ours[1])
