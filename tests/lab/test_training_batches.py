import numpy as np
import pytest
from msgspec import structs

from unmask.lab.settings import Config
from unmask.lab.task_layouts import NO_OPERAND
from unmask.lab.task_sources import Stream, generator
from unmask.lab.tasks import FRAMEWORKS
from unmask.lab.training_batches import IGNORED, training_batch


def config(framework, **more):
    return Config(framework=framework, length=8, batch=12, **more)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("objective", ["canvas", "masking", "masking-uniform", "masking-1/t"])
def test_parts_of_a_batch_are_the_batch(framework, objective):
    if objective != "canvas" and framework != "tree":
        pytest.skip("random masking is for slots that are written once")
    run = config(framework, objective=objective)
    task = run.task
    whole = training_batch(task, run, 5)
    parts = [training_batch(task, run, 5, process=process, processes=3) for process in range(3)]
    for name in ("tokens", "steps", "targets", "operands", "weights"):
        assert (np.concatenate([getattr(batch, name) for batch in parts]) == getattr(whole, name)).all()


@pytest.mark.parametrize("framework", ["tree", "scan", "direct"])
def test_a_canvas_teaches_the_next_one(framework):
    run = config(framework)
    task = run.task
    batch = training_batch(task, run, 0)
    for tokens, step, (targets,) in zip(batch.tokens, batch.steps, batch.targets, strict=True):
        states = task.states(tokens[None, :8])[0]
        assert (tokens == states[step]).all()
        taught = targets != IGNORED
        assert (targets[taught] == states[step + 1][taught]).all()
        assert not taught[:8].any()
        assert (taught[8:] == (tokens[8:] == task.mask)).all() or framework == "scan"


def test_operands_are_what_stands_where_a_row_points():
    run = config("tree")
    task = run.task
    batch = training_batch(task, run, 0)
    has_operand = batch.operands[:, 0] != IGNORED
    assert (has_operand == ((batch.targets[:, 0] != IGNORED)[..., None] & (task.pointers[0] != NO_OPERAND))).all()
    words, rows, operands = np.nonzero(has_operand)
    assert (batch.operands[words, 0, rows, operands] == batch.tokens[words, task.pointers[0, rows, operands]]).all()


def test_a_chain_teaches_all_of_its_steps_at_once():
    run = config("cot")
    task = run.task
    batch = training_batch(task, run, 0)
    assert batch.tokens.shape == (12, 15)
    assert ((batch.targets[:, 0] != IGNORED).sum(axis=1) == 8).all()
    assert (batch.targets[:, 0, 7:-1] == batch.tokens[:, 8:]).all()


def test_what_a_loop_is_taught():
    for supervision, taught in (("each", 3 * 10), ("end", 1), ("tokens", 10)):
        run = config("looped", supervision=supervision)
        batch = training_batch(run.task, run, 0)
        assert ((batch.targets != IGNORED).sum(axis=(1, 2)) == taught).all()


def test_random_masking_teaches_what_it_hides():
    run = config("tree", objective="masking")
    task = run.task
    batch = training_batch(task, run, 0)
    hidden = batch.tokens == task.mask
    assert hidden.any(axis=1).all()
    assert ((batch.targets[:, 0] != IGNORED) == hidden).all()
    assert (batch.weights == 1).all()


def test_the_weights_of_masked_slots():
    """A lesson's loss is its weight times the mean over masked slots: with uniform weights a slot counts 1/P, with 1/t
    a word counts one in the mean over masks, whatever t is."""
    run = Config(framework="tree", length=8, batch=4000, objective="masking-uniform")
    task = run.task
    uniform = training_batch(task, run, 0)
    count = (uniform.tokens == task.mask).sum(axis=1)
    assert (count == 0).any()  # no slot is masked by force
    assert np.allclose(uniform.weights, count / task.layout.padding)
    by_share = training_batch(task, structs.replace(run, objective="masking-1/t"), 0)
    assert (by_share.tokens == uniform.tokens).all()
    share = generator(run.seed, Stream.masks, 0).random(run.batch)
    assert np.allclose(by_share.weights * share, uniform.weights)
    for low, high in ((0.1, 0.4), (0.4, 0.7), (0.7, 1.0)):
        assert abs(by_share.weights[(low < share) & (share < high)].mean() - 1) < 0.05
