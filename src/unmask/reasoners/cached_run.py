"""Masked diffusion with a cache of keys and values: model × word × policy → stale reads, and changed decisions.

A sampler fills the canvas block after block. In every pass a policy determines which rows are *fresh*. Attention to a
fresh row uses the keys and values of this pass; attention to any other row uses those of the last pass in which that
row was fresh. All numbers are integers of F_p, computed by the reference engine.

| policy      | fresh in the first pass of a block | fresh in its other passes                                        |
|-------------|------------------------------------|------------------------------------------------------------------|
| `prefix`    | every row                          | the block and what follows it                                    |
| `dual`      | every row                          | the block                                                        |
| `delayed`   | as in its other passes             | masked slots, and slots that the pass before has written         |
| `refresh:K` | as in its other passes             | slots that the pass before has written; every K passes every row |

In the first pass of a run the cache is empty and every row is fresh. Each policy accepts an interval (`dual:3`): then
every row is also fresh after that number of passes. `refresh:1` is a run without a cache.

In every pass the same canvas is also read without a cache. A *stale read* is a row that attends to another row (with
a weight that is not 0, in either of the two passes) whose keys or values in the cache are not those of this pass. A
*changed decision* is a slot for which the two passes decide differently. A run without changed decisions is lossless.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from unmask.engines.reference import ReferenceSession
from unmask.errors import UnmaskError
from unmask.limits import check
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.planners import choose_surest
from unmask.weights.kinds import DIFFUSION
from unmask.weights.model import Model
from unmask.weights.transformer import Head

PolicyName = Literal["prefix", "dual", "delayed", "refresh"]


@dataclass(frozen=True)
class CachePolicy:
    """A policy, and the largest number of passes after which every row is fresh again."""

    name: PolicyName
    interval: int | None = None

    @classmethod
    def parse(cls, text: str) -> "CachePolicy":
        """Read `prefix`, `dual:3`, `refresh:2`."""
        name, _, interval = text.partition(":")
        names: dict[str, PolicyName] = {name: name for name in get_args(PolicyName)}
        number = interval if interval.isascii() and interval.isdigit() and len(interval) < 7 else "0"
        if name not in names or (":" in text and int(number) < 1) or text == "refresh":
            raise UnmaskError(
                f"--cache {text!r} is not a policy; use prefix, dual, delayed or refresh:K, each with the number of "
                "passes after which all rows are computed anew, such as dual:3"
            )
        return cls(names[name], int(number) if ":" in text else None)

    def __str__(self) -> str:
        return self.name if self.interval is None else f"{self.name}:{self.interval}"


@dataclass(frozen=True)
class CanvasLayout:
    """The order in which a sampler goes through the slots, its block length, and slots that are in the prompt.

    Slots in `work` are read-only: they embed as the mask and are never written. The rows of the model stay where they
    are; heads find rows by their codes, so the order matters only to the sampler.
    """

    order: tuple[int, ...]
    block: int
    work: frozenset[int] = frozenset()
    stated: bool = False
    """Whether a block, an order or a work slot was given. If not, a run has T passes, as without a cache."""

    @classmethod
    def of(
        cls, model: Model, *, order: Sequence[int] | None = None, block: int | None = None, work: Sequence[int] = ()
    ) -> "CanvasLayout":
        every = tuple(range(model.padding))
        if order is not None and sorted(order) != list(every):
            raise UnmaskError(f"--order must list each of the slots 0 … {model.padding - 1} once")
        if not set(work) <= set(every[:-1]):
            raise UnmaskError(f"--work must list slots among 0 … {model.padding - 2}; the last slot holds the answer")
        if block is not None and block < 1:
            raise UnmaskError(f"a block has at least one slot, not {block}")
        writable = tuple(slot for slot in (every if order is None else order) if slot not in set(work))
        stated = order is not None or block is not None or bool(work)
        return cls(writable, block or len(writable), frozenset(work), stated)

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """The slots of every block."""
        return [self.order[i : i + self.block] for i in range(0, len(self.order), self.block)]


@dataclass(frozen=True)
class StaleRead:
    """In a pass, `row` reads through a head keys or values of the row `source` that are not those of this pass."""

    step: int
    transformer: str
    layer: int
    head: int
    row: int
    source: int
    register: str
    """The first register to which a stale value is written; `key` if only the key is stale."""

    def to_json(self) -> dict[str, Any]:
        return {"pass": self.step, **{name: getattr(self, name) for name in _READ}}


_READ = ("transformer", "layer", "head", "row", "source", "register")


@dataclass(frozen=True)
class ChangedDecision:
    """A slot in a pass: its symbol after the pass without a cache, and with it."""

    step: int
    slot: int
    expected: str
    actual: str

    def to_json(self) -> dict[str, Any]:
        return {"pass": self.step, "slot": self.slot, "expected": self.expected, "got": self.actual}


@dataclass(frozen=True, eq=False)
class CachedRun:
    """The run on one word. `canvas[t]` are the tokens of the slots after pass t."""

    model: Model
    policy: CachePolicy
    canvas: list[np.ndarray] = field(default_factory=list)
    stale_reads: list[StaleRead] = field(default_factory=list)
    changed: list[ChangedDecision] = field(default_factory=list)

    @property
    def lossless(self) -> bool:
        """Whether every decision of every pass is the same as without a cache."""
        return not self.changed

    @property
    def output(self) -> list[str]:
        return self.model.symbols(self.canvas[-1].tolist())

    @property
    def accepted(self) -> bool | None:
        last = self.model.aliases.get(self.output[-1], self.output[-1])
        return {self.model.accept: True, self.model.reject: False}.get(last)

    def to_json(self) -> dict[str, Any]:
        return {
            "accepted": self.accepted,
            "cache": str(self.policy),
            "passes": len(self.canvas),
            "output": self.output,
            "canvas": [self.model.symbols(tokens.tolist()) for tokens in self.canvas],
            "lossless": self.lossless,
            "stale_reads": len(self.stale_reads),
            "first_stale_read": self.stale_reads[0].to_json() if self.stale_reads else None,
            "changed_decisions": [changed.to_json() for changed in self.changed],
        }


KeysAndValues = dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]
"""K and V [rows, columns] of every head, by layer and head."""


@dataclass(frozen=True)
class _CachedSession(ReferenceSession):
    """A pass of the reference engine in which rows that are not fresh have the keys and values of a cache."""

    cache: KeysAndValues = field(default_factory=dict)
    fresh: np.ndarray | None = None
    computed: KeysAndValues = field(default_factory=dict)

    def keys_and_values(self, H: np.ndarray, head: Head, where: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        K, V = super().keys_and_values(H, head, where)
        if self.fresh is not None and not self.fresh.all():
            K, V = (
                np.where(self.fresh[:, None], new[0], old)[None]
                for new, old in zip((K, V), self.cache[where], strict=True)
            )
        self.computed[where] = K[0], V[0]
        return K, V


def cached_run(model: Model, word: Sequence[int], policy: CachePolicy, layout: CanvasLayout) -> CachedRun:
    """Run a masked diffusion model on a word, given as token ids, with a cache."""
    if model.kind not in DIFFUSION:
        raise UnmaskError(f"--cache is for models with a canvas (mdm, smdm, topk), not for {model.kind}; leave it out")
    run = _Run(model, tuple(word), policy, layout, CachedRun(model, policy))
    run.all_blocks()
    return run.result


def longest_interval(model: Model, word: Sequence[int], policy: CachePolicy, layout: CanvasLayout) -> int | None:
    """Return the largest K such that every interval up to K is lossless on this word; None if no refresh is needed.

    `refresh` without an interval counts as a cache that is never refreshed.
    """
    plain = cached_run(model, word, replace(policy, interval=None), layout)
    if plain.lossless:
        return None
    longest = 1
    while longest < len(plain.canvas) + model.padding:
        if not cached_run(model, word, replace(policy, interval=longest + 1), layout).lossless:
            return longest
        longest += 1
    return longest


@dataclass(eq=False)
class _Run:
    """The state of a run: the canvas, the cache of every transformer, and data about the last passes."""

    model: Model
    word: tuple[int, ...]
    policy: CachePolicy
    layout: CanvasLayout
    result: CachedRun
    caches: dict[str, KeysAndValues] = field(default_factory=dict)
    attended: dict[str, tuple[KeysAndValues, dict[str, np.ndarray]]] = field(default_factory=dict)
    """The cache before the last pass of every transformer, and the attention weights of that pass."""
    since_refresh: int = 0

    def __post_init__(self) -> None:
        self.mask = self.model.token[self.model.mask or ""]
        self.first_row = self.model.rows - self.model.padding
        self.canvas = np.full(self.model.padding, self.mask, dtype=np.int64)
        self.written = np.zeros(self.model.padding, dtype=bool)

    def all_blocks(self) -> None:
        for block in self.layout.blocks:
            self._one_block(np.array(block, dtype=np.int64))

    def _one_block(self, block: np.ndarray) -> None:
        """Run T passes or, if blocks were requested, until no slot of the block is masked or nothing changes."""
        most, unchanged = self.model.padding + self.model.steps if self.layout.stated else self.model.steps, 0
        for number in range(most):
            before = self.canvas
            self._one_pass(block, first=number == 0)
            if not self.layout.stated:
                continue
            unchanged = unchanged + 1 if np.array_equal(before, self.canvas) else 0
            if not (self.canvas[block] == self.mask).any() or unchanged > (self.policy.interval or 1):
                return

    def _one_pass(self, block: np.ndarray, *, first: bool) -> None:
        check()
        fresh = self._fresh(block, first)
        with_cache = self._canvas_after(block, fresh)
        without = with_cache if fresh.all() else self._canvas_after(block, None, compare=fresh)
        step = len(self.result.canvas)
        for slot in np.flatnonzero(with_cache != without):
            names = (self.model.vocabulary[without[slot]], self.model.vocabulary[with_cache[slot]])
            self.result.changed.append(ChangedDecision(step, int(slot), *names))
        self.written = with_cache != self.canvas
        self.canvas = with_cache
        self.result.canvas.append(with_cache)

    def _fresh(self, block: np.ndarray, first: bool) -> np.ndarray:
        """Return the rows that the policy computes in this pass."""
        name, interval = self.policy.name, self.policy.interval
        due = interval is not None and self.since_refresh >= interval
        if not self.result.canvas or due or (first and name in ("prefix", "dual")):
            self.since_refresh = 1
            return np.ones(self.model.rows, dtype=bool)
        self.since_refresh += 1
        slots = np.zeros(self.model.padding, dtype=bool)
        if name in ("prefix", "dual"):
            start = self.layout.order.index(int(block[0]))
            slots[list(self.layout.order[start:]) if name == "prefix" else block] = True
        else:
            slots |= self.written
        if name == "delayed":
            slots |= (self.canvas == self.mask) & ~np.isin(np.arange(slots.size), list(self.layout.work))
        return np.append(np.zeros(self.first_row, dtype=bool), slots)

    def _canvas_after(
        self, block: np.ndarray, fresh: np.ndarray | None, *, compare: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the canvas after a pass with a cache, or without (fresh = None), which records stale reads.

        `compare` are the rows that were fresh in the pass with a cache.
        """
        model, mask = self.model, self.mask
        allowed = np.zeros(model.padding, dtype=bool)
        allowed[block] = True
        logits = {}
        for name in ("model",) if model.kind == "topk" else ("planner", "predictor"):
            logits[name] = self._read(name, fresh, compare)
        predicted = logits["model" if model.kind == "topk" else "predictor"]
        if model.kind != "topk":
            chosen = (decode(logits["planner"], model.precision) == 1) & allowed
        else:
            confidences = confidence(predicted, model.precision, without=mask)
            if model.k is None:
                chosen = (confidences > -model.precision.bound) & allowed
            else:
                chosen = choose_surest(confidences[None], allowed[None], model.k)[0]
        return np.where(chosen, decode(predicted, model.precision, without=mask), self.canvas)

    def _read(self, name: str, fresh: np.ndarray | None, compare: np.ndarray | None) -> np.ndarray:
        """Return the logits of the slots, [slots, outputs]."""
        model = self.model
        begin = [] if model.begin is None else [model.token[model.begin]]
        tokens = np.array([[*begin, *self.word, *self.canvas.tolist()]], dtype=np.int64)
        cache, weights = self.caches.get(name, {}), {}
        session = _CachedSession(model.transformers[name], name, cache, fresh)
        logits = session.read(tokens, (self.first_row, model.rows), watch=weights.__setitem__)[0]
        if fresh is not None:
            self.attended[name] = (cache, weights)
            self.caches[name] = session.computed
        elif compare is not None:
            self._record_stale(name, session.computed, weights, compare)
        return logits

    def _record_stale(self, name: str, now: KeysAndValues, weights: dict[str, np.ndarray], fresh: np.ndarray) -> None:
        """Record every read of a row whose cached keys or values are not those of the pass without a cache."""
        transformer, step = self.model.transformers[name], len(self.result.canvas)
        cache, cached_weights = self.attended[name]
        readers = self._readers(fresh)
        for where, new in sorted(now.items()):
            key, value = (np.asarray(a != b) & ~fresh[:, None] for a, b in zip(cache[where], new, strict=True))
            stale = key.any(axis=1) | value.any(axis=1)
            if not stale.any():
                continue
            weights_name = f"layers.{where[0]}.heads.{where[1]}.weights"
            is_read = (weights[weights_name][0] != 0) | (cached_weights[weights_name][0] != 0)
            for row, source in np.argwhere(is_read & stale & readers[:, None]).tolist():
                columns = np.flatnonzero(value[source])
                register = transformer.column_name(int(columns[0])) if columns.size else "key"
                self.result.stale_reads.append(StaleRead(step, name, *where, row, source, register))

    def _readers(self, fresh: np.ndarray) -> np.ndarray:
        """Return the rows whose reads matter: fresh rows, and masked slots, because their decisions are compared."""
        masked = np.append(np.zeros(self.first_row, dtype=bool), self.canvas == self.mask)
        return fresh | (masked if self.policy.name == "refresh" else False)
