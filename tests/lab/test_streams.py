"""What is judged by was never trained on: every draw has a stream and a number, and no two uses share both."""

from itertools import combinations

import pytest

from lab.small import small
from unmask.lab import task_sources as drawing
from unmask.lab.network_measures import measure_waiting, operand_attention, right_by_level
from unmask.lab.presets import SweepCell, run_cell
from unmask.lab.task_sources import Stream, words
from unmask.lab.tasks import LabTask
from unmask.lab.trained_model import accuracy
from unmask.lab.trained_sampling import measure_samplers
from unmask.lab.training import train

from .test_trained_model import untrained

USES = {
    "planners": lambda trained: measure_samplers(trained, count=3, seed=0, include="oracle".__eq__),
    "operands": lambda trained: operand_attention(trained, seed=0, count=3),
    "waiting": lambda trained: measure_waiting(trained, seed=0, count=3),
    "levels": lambda trained: right_by_level(trained, seed=0, count=3),
}


@pytest.fixture
def draws(monkeypatch):
    """(seed, stream, number) of all words that are drawn."""
    recorded = []
    draw = drawing.generator
    monkeypatch.setattr(drawing, "generator", lambda *arguments: recorded.append(arguments) or draw(*arguments))
    return recorded


def numbers(draws, stream):
    return [number for _, its, number in draws if its is stream]


def test_seed_stream_and_number_all_tell_words_apart():
    algebra = LabTask.of("group:S3", 8, "tree").source
    assert len(Stream) == len({int(stream) for stream in Stream}) == 6
    addresses = [(0, stream, number) for stream in Stream for number in (0, 1, 2, 16)] + [(1, Stream.training, 0)]
    batches = [words(algebra, 20, 8, *address) for address in addresses]
    assert all((left != right).any() for left, right in combinations(batches, 2))
    assert (words(algebra, 20, 8, 0, Stream.judging, 2) == words(algebra, 20, 8, 0, Stream.judging, 2)).all()


def test_a_run_trains_watches_and_judges_by_words_of_its_own(draws):
    """Batches by their number, looks by their step, and one judgement."""
    train(small(steps=5, evaluate_every=2, seed=3))
    assert {seed for seed, _, _ in draws} == {3}
    assert numbers(draws, Stream.training) == [0, 1, 2, 3, 4]
    assert numbers(draws, Stream.watching) == [2, 4, 5]
    assert numbers(draws, Stream.judging) == [0]
    assert len(draws) == 9


def test_more_words_are_watched_where_it_seems_to_have_converged(draws):
    train(small(steps=2, evaluate_every=2, converged=0.01, objective="masking"))
    assert numbers(draws, Stream.watching) == [2, 2]
    assert numbers(draws, Stream.judging) == [0]


@pytest.mark.parametrize("use", USES)
def test_a_measure_has_words_that_nothing_else_has(use, draws):
    """Neither trained on nor watched, and not those by which a run is judged or another measure is made."""
    USES[use](untrained("tree"))
    mine, judged = [*draws], (0, Stream.judging, 0)
    assert mine
    assert {stream for _, stream, _ in mine} == {Stream.judging}
    for other in USES.keys() - {use}:
        USES[other](untrained("tree"))
    assert judged not in draws
    assert not set(draws[len(mine) :]) & set(mine)


@pytest.mark.parametrize("objective", ["canvas", "masking"])
def test_no_measure_of_a_cell_draws_what_was_trained_on(objective, draws):
    config = small(steps=2, evaluate_every=2, converged=0.01, objective=objective)
    run_cell(SweepCell("main", config, ("operands", "longer", "planners")))
    assert numbers(draws, Stream.training) == [0, 1]
    assert set(numbers(draws, Stream.watching)) == {2}
    assert len(set(numbers(draws, Stream.judging))) >= (4 if objective == "canvas" else 3)  # the run, and measures


@pytest.mark.parametrize("stream", [Stream.watching, Stream.judging])
def test_accuracy_is_that_of_the_words_that_were_asked_for(stream, draws):
    accuracy(untrained("tree"), 5, seed=7, stream=stream, number=4)
    assert draws == [(7, stream, 4)]
