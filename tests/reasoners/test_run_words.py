import numpy as np
import pytest

from unmask.api import run_word
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.reasoners.run_words import answers
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.weights.kinds import KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_batch_of_words_gives_what_each_word_gives(kind, length):
    verdict = {True: 1, False: 0, None: -1}
    for seed in range(4):
        model = random_model(seed, kind, length, precision=1 + seed)
        words = all_words(model)
        together = answers(model, words, engine=ReferenceEngine())
        for word, slots, accepted in zip(words, together.slots, together.accepted, strict=True):
            trace = run_word(model, model.symbols(word))
            assert np.array_equal(trace.canvas[-1], slots)
            assert verdict[trace.accepted] == accepted


@pytest.mark.parametrize("kind", KINDS)
def test_canvases_have_the_shape_of_the_design_page(kind):
    model = random_model(2, kind, 2)
    trace = run_word(model, "ab")
    assert trace.steps_taken == model.steps
    sizes = [canvas.size for canvas in trace.canvas]
    block = model.block or 1
    expected = {"plt": [1], "cot": range(1, model.steps + 1), "pcot": range(block, model.padding + 1, block)}
    assert sizes == list(expected.get(kind, [model.padding] * model.steps))


def test_an_engine_from_outside_is_used():
    class Refusing(ReferenceEngine):
        def session(self, transformer, *, name="model"):
            raise UnmaskError(f"no {name} of width {transformer.width}")

    with pytest.raises(UnmaskError, match="no planner of width"):
        run_word(random_model(0, "mdm", 1), "a", engine=Refusing())
