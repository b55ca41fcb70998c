"""Attention by classes of queries and keys gives the integers of the reference, on models that are aimed at it."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from all_conversions import CONVERSIONS
from engines import test_aimed_models as aimed_models
from engines import test_converted_models as converted_models
from engines.agreement import outcome
from engines.planted import token_runs
from engines.wild import WildPlanter
from unmask.engines import class_attention, head_attention, visible_keys
from unmask.engines.class_attention import ClassAttention, KeyClasses
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.numerics import compact
from unmask.weights.kinds import KINDS


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Classes for every head, however few rows it has."""
    for name in ("CLASSED_FROM", "CLASSED_KEYS", "LONG"):
        monkeypatch.setattr(head_attention, name, 0)
    monkeypatch.setattr(class_attention, "FEW", 0)


def check(seed, p):
    """One session of each engine through a series of calls, which fast ones do by `layers`, and by `read`."""
    planter = WildPlanter(seed, p)
    transformer, rng = planter.transformer(), planter.rng
    reference, fast, reader = (engine().session(transformer) for engine in (ReferenceEngine, FastEngine, FastEngine))
    depth = len(transformer.layers)
    for tokens in token_runs(rng, transformer, int(rng.choice([1, 1, 2, 3])), 4):
        residual = reference.embed(tokens)
        after, error = outcome(partial(reference.layers, residual, 0, depth))
        theirs, their_error = outcome(partial(fast.layers, residual, 0, depth))
        logits, read_error = outcome(partial(reader.read, tokens, (0, tokens.shape[1])))
        assert error == their_error == read_error
        if error is None:
            assert np.array_equal(after, theirs)
            assert np.array_equal(reference.logits(after), logits)


def check_some(seeds):
    for seed in seeds:
        check(seed, 1 + seed % 8)


@pytest.mark.parametrize("first_seed", range(4))
def test_codes_with_gaps(first_seed):
    check_some(range(first_seed, 48, 4))


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_four_thousand_codes_with_gaps(part):
    check_some(range(1000 + 200 * part, 1200 + 200 * part))


LIMITS = {
    "one profile": (class_attention, "MOST_PROFILES", 1),
    "no pairs": (class_attention, "MOST_PAIRS", 0),
    "few pairs": (class_attention, "MOST_PAIRS", 2),
    "one weight": (class_attention, "MOST_WEIGHTS", 1),
    "one mask": (class_attention, "MOST_MASKS", 1),
    "few bits": (class_attention, "MOST_BITS", 3),
    "a hash that tells nothing": (visible_keys, "HASH_FACTOR", np.uint64(0)),
    "few terms at once": (compact, "TERMS_AT_ONCE", 1),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_change_nothing(limit, monkeypatch):
    monkeypatch.setattr(*LIMITS[limit])
    check_some(range(2000, 2006))


@pytest.mark.parametrize("kind", KINDS)
def test_aimed_models(kind):
    aimed_models.check_many(range(KINDS.index(kind) % 4, 40, 8), kind)


@pytest.mark.parametrize("theorem", CONVERSIONS)
def test_converted_models(theorem):
    converted_models.test_converted_models(theorem)


# every way is taken, and a way that is wrong is noticed


def test_every_way_is_taken(monkeypatch):
    """Sums by classes, also of several classes and with clipping on the way; lists; and rows that see too much."""
    counts = Counter()

    def counted(owner, name, key):
        before = getattr(owner, name)

        def after(*args):
            result = before(*args)
            counts.update(key(result, *args))
            return result

        monkeypatch.setattr(owner, name, after)

    counted(ClassAttention, "_by_runs", lambda _, *arguments: {"several": arguments[1].size - arguments[3].size})
    counted(compact, "_clipped_sums", lambda _, *arguments: {"composed": len(arguments[0])})
    counted(ClassAttention, "_visible_runs", lambda seen, *_: {"seen": seen.members.size})
    counted(ClassAttention, "attend", lambda result, *_: {"listed": sum(listed.members.size for listed in result[2])})
    counted(KeyClasses, "candidates", lambda _, *arguments: {"gaps": int((arguments[1][arguments[3][0]] == 0).any())})
    check_some(range(16, 40))
    assert all(counts[key] > 20 for key in ("several", "composed", "seen", "listed", "gaps")), counts


def every_sign(query, key, sort, _):
    last = {kind: j for j, kind in enumerate(sort) if query.size[j] and key.size[j]}
    return tuple(last.values())


def never_clipped(terms, runs, bound):
    return np.clip(compact._plain_sums(terms, runs), -bound, bound)


def known_keys(head):
    return head.__dict__.get("known")


def keep_keys(head, keys):
    if keys is not None:
        head.__dict__["known"] = keys


def zero_as_minus(rows, word):
    every = np.full(rows.shape[1], (1 << len(rows)) - 1)
    return class_attention.SignCodes(class_attention._pack_bits(rows > 0), every, word << len(rows), len(rows))


BREAKS = {
    "every sign excludes": (class_attention, "exclusive_signs", every_sign),
    "sums clip only at their end": (compact, "_clipped_sums", never_clipped),
    "a row sees its class whole": (KeyClasses, "up_to", lambda classes, kind, _: classes.counts[kind]),
    "keys are kept though they changed": (ClassAttention, "keys", property(known_keys, keep_keys)),
    "a 0 is a minus": (class_attention.SignCodes, "of", zero_as_minus),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_way_is_noticed(name, monkeypatch):
    owner, name, broken = BREAKS[name]
    monkeypatch.setattr(owner, name, broken, raising=name != "keys")  # `keys` is an attribute of instances
    with pytest.raises(AssertionError):
        check_some(range(300))
