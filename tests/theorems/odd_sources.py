"""Masked diffusion models with rare properties, and checks of conversions on them."""

from dataclasses import replace
from itertools import islice

import numpy as np

from unmask.api import ENGINES
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.reasoners.run_words import run
from unmask.testing.draws import Draws
from unmask.testing.random_model import random_model, sample_words
from unmask.theorems.conversion_checks import first_disagreement
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer


def engine():
    """Return the fast engine if it is available."""
    return ENGINES.get("fast", ReferenceEngine)()


def peaked(source, factor=6):
    """Return the source with larger queries; many such models divide by zero."""
    bound = source.precision.bound

    def larger(matrix):
        value = np.clip(factor * matrix.value.astype(int), -bound, bound)
        return Matrix.from_entries(matrix.shape, matrix.row, matrix.column, value)

    def changed(transformer):
        layers = tuple(
            Layer(tuple(Head(larger(h.wq), h.wk, h.wv) for h in layer.heads), layer.mlp) for layer in transformer.layers
        )
        return replace(transformer, layers=layers)

    return replace(source, transformers={name: changed(t) for name, t in source.transformers.items()})


def divides_by_zero(model, word):
    try:
        run(model, word, engine=ReferenceEngine())
    except AttendsToNothing:
        return True
    return False


def without_preference(source, seed):
    """Return a predictor without layers whose logits are all -B in about half of the rows."""
    predictor, bound = source.transformers["predictor"], source.precision.bound
    positions = np.zeros(predictor.positions.shape, dtype=np.int64)
    positions[:, 0] = bound * Draws(seed, 7).integers(0, 1, (len(positions),))
    out = np.zeros(predictor.out.shape, dtype=np.int64)
    out[:, 0] = -bound
    predictor = replace(
        predictor, embed=Matrix.zeros(predictor.embed.shape), positions=positions, layers=(), out=Matrix.of(out)
    )
    return replace(source, transformers={**source.transformers, "predictor": predictor})


def with_mask_first(source):
    """Return a model with the same weights whose mask is token 0."""
    names = list(source.vocabulary)
    mask_token = names.index("m")
    names[0], names[mask_token] = names[mask_token], names[0]
    return replace(source, vocabulary=tuple(names))


def with_attention(source, planner, predictor):
    kinds = {"planner": planner, "predictor": predictor}
    transformers = {name: replace(t, attention=kinds[name]) for name, t in source.transformers.items()}
    return replace(source, transformers=transformers)


def wrong(convert, sources, *, enough=None):
    """Return how many of the sources a conversion gets wrong, counting at most `enough`."""
    differing = (
        source for i, source in enumerate(sources) if first_disagreement(source, convert(source), seed=i) is not None
    )
    return len(list(islice(differing, enough)))


def odd_sources(precision, seeds=range(12)):
    """Yield models without preference, with mask 0, with a symbol named ĥ, and with each mixture of attention."""
    for seed in seeds:
        source = random_model(seed, "mdm", seed % 3, precision=precision)
        yield without_preference(source, seed)
        yield with_mask_first(without_preference(source, seed))
        kinds = (("causal", "causal"), ("causal", "unmasked"), ("unmasked", "causal"))[seed % 3]
        yield with_attention(source, *kinds)
        renamed = tuple("ĥ" if s == "b" else s for s in source.vocabulary)
        yield replace(source, vocabulary=renamed, input_symbols=("a", "ĥ"))


def check_divisions(convert, precision, lengths=(0, 1, 2)):
    """Check sources that divide by zero or nearly do; return (number that divide, disagreements)."""
    divided, disagreements = 0, []
    for seed in range(30):
        source = peaked(random_model(seed, "mdm", lengths[seed % len(lengths)], precision=precision))
        word = sample_words(source, Draws(seed, 1), 1)[0].tolist()
        divided += divides_by_zero(source, word)
        disagreement = first_disagreement(source, convert(source), seed=seed, words=1)
        if disagreement:
            disagreements.append(disagreement)
    return divided, disagreements
