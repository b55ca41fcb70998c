"""What stands between two passes of a trained model: a stream or symbols, and which slots a step writes."""

import numpy as np
import pytest
import torch

from lab.test_evaluation import drawn, untrained
from unmask.lab.evaluation.accuracy import last_symbols
from unmask.lab.evaluation.medium import NetworkMedium, Reading
from unmask.reasoners.framework import canvases


def rounds(trained):
    """What goes into all layers and what comes out of them, in every loop."""
    seen, network = [], trained.network
    pass_through = network.pass_through

    def watched(hidden, *more):
        seen.append((hidden, pass_through(hidden, *more)))
        return seen[-1][1]

    network.pass_through = watched
    said, _ = last_symbols(trained, drawn(trained))
    return said, seen


@pytest.mark.parametrize("supervision", ["tokens", "each", "end"])
def test_what_a_loop_hands_to_the_next(supervision):
    """With symbols between them, what the stream reads out to, embedded anew; else the stream itself."""
    trained = untrained("looped", length=8, supervision=supervision)
    network, places = trained.network, trained.places.at(0)
    said, seen = rounds(trained)
    assert len(seen) == trained.steps == 3
    with torch.inference_mode():
        expected = network.embed(torch.from_numpy(trained.task.states(drawn(trained))[:, 0]), places)
        for given, stream in seen:
            torch.testing.assert_close(given, expected)
            read_out = network.logits(network.norm(stream)).argmax(dim=-1)
            expected = network.embed(read_out, places) if supervision == "tokens" else stream
    assert (said == read_out[:, -1].numpy()).all()


def reading(trained, best, tokens, step):
    logits = np.zeros((1, trained.padding, len(trained.vocabulary)))
    logits[0, np.arange(trained.padding), best] = 1
    return Reading(logits, np.array([tokens]), step)


@pytest.mark.parametrize("objective", ["masking", "masking-1/t"])
def test_a_predictor_alone_writes_what_the_exact_order_writes(objective):
    """Whatever it says, and canvas by canvas."""
    trained = untrained("tree", length=8, objective=objective)
    mask = trained.task.mask
    medium = NetworkMedium(trained, drawn(trained))
    for best in (mask, 0):
        taken = [medium.taken(reading(trained, best, [mask] * 7, step))[0].tolist() for step in range(3)]
        assert np.array(taken).astype(int).tolist() == [[1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0], [0] * 6 + [1]]
    assert medium.taken(reading(trained, 0, [1, mask, 1, mask, mask, mask, mask], 0))[0].tolist() == [
        *(False, True, False, True),
        *(False, False, False),
    ]
    masked = np.ones(7, dtype=bool)
    for step, canvas in enumerate(canvases(medium)):
        masked = masked & ~trained.order[step]
        assert ((canvas == mask) == masked).all()
    assert not masked.any()


def test_a_planner_writes_what_is_no_mask():
    """A tree where a mask stands, a scan anywhere."""
    for framework, expected in (("tree", [True, False, False]), ("scan", [True, True, False, False])):
        trained = untrained(framework)
        mask = trained.task.mask
        best = [0, 1, mask, mask][: trained.padding]
        tokens = [mask, 1, mask, 0][: trained.padding]
        medium = NetworkMedium(trained, drawn(trained, 1))
        assert medium.taken(reading(trained, best, tokens, 0))[0].tolist() == expected
