"""The runs of a model on every word, by the reference engine: extraction and proofs must agree with them."""

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, EditsWrittenSlot
from unmask.reasoners.run_words import answers
from unmask.testing.random_model import all_words
from unmask.verification.words.extraction import extract, input_numbers


def runs(model, words):
    """The final slots of every word; None where the run ends in an error."""
    try:
        return [row.tolist() for row in answers(model, words, engine=ReferenceEngine()).slots]
    except (AttendsToNothing, EditsWrittenSlot):
        if len(words) == 1:
            return [None]
        half = len(words) // 2
        return runs(model, words[:half]) + runs(model, words[half:])


def wrong_words(model, words=None):
    """(how many words the extracted network gets wrong, how many end in an error)."""
    words = all_words(model) if words is None else words
    slots, fails = extract(model).outcomes(input_numbers(model, words))
    truth = runs(model, words)
    wrong = sum(
        not fail if slots_or_none is None else bool(fail) or row.tolist() != slots_or_none
        for row, fail, slots_or_none in zip(slots, fails, truth, strict=True)
    )
    return wrong, truth.count(None)


def sampled(model, count, seed=0):
    """Random words as token ids."""
    inputs = np.array([model.token[s] for s in model.input_symbols])
    return inputs[np.random.default_rng(seed).integers(0, inputs.size, (count, model.length))]
