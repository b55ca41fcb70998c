"""Complete DFA → the least complete DFA of the same language, by Hopcroft's algorithm."""

from collections.abc import Sequence

import numpy as np

from unmask.budget import check


def minimal_table(delta: np.ndarray, start: int, accepting: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """(delta, start, accepting) of the quotient of the reachable part; states in no particular order."""
    delta, start, accepting = _reachable(delta, start, accepting)
    # Arrows into states from which nothing is accepted are left out: they are most of a usual table.
    live = _reaching(delta, accepting)
    arrows = _arrows_into(delta, live)
    count = len(delta)
    blocks = [set(np.flatnonzero(accepting).tolist()), set(np.flatnonzero(live & ~accepting).tolist())]
    labels = np.asarray(_refined([block for block in blocks if block], arrows, count=count), dtype=np.int32)
    labels[labels < 0] = labels.max() + 1  # the dead states, equal to each other and to nothing else
    _, firsts = np.unique(labels, return_index=True)
    return labels[delta[firsts]], int(labels[start]), accepting[firsts]


def breadth_first(rows: Sequence[Sequence[int]], start: int) -> list[int]:
    """The states reached from `start`, in the order in which a breadth-first search meets them."""
    order, seen = [start], {start}
    for state in order:
        for target in rows[state]:
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order


def renumbered(
    delta: np.ndarray, start: int, accepting: np.ndarray, order: Sequence[int]
) -> tuple[np.ndarray, int, np.ndarray]:
    """The automaton restricted to `order`, its k-th state being order[k]."""
    old = np.asarray(order, dtype=np.int64)
    number = np.full(len(delta), -1, dtype=np.int32)
    number[old] = np.arange(len(old), dtype=np.int32)
    return number[delta[old]], int(number[start]), accepting[old]


def _reachable(delta: np.ndarray, start: int, accepting: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    order = breadth_first(delta.tolist(), start)
    return renumbered(delta, start, accepting, order)


def _arrows_into(delta: np.ndarray, live: np.ndarray) -> list[list[tuple[int, int]]]:
    """For each state the pairs (token, source) of the arrows that enter it, between live states only."""
    into: list[list[tuple[int, int]]] = [[] for _ in delta]
    sources, tokens = np.nonzero(live[delta] & live[:, None])
    targets = delta[sources, tokens]
    for source, token, target in zip(sources.tolist(), tokens.tolist(), targets.tolist(), strict=True):
        into[target].append((token, source))
    return into


def _reaching(delta: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Which states have a path to a target."""
    before: list[list[int]] = [[] for _ in delta]
    for source, row in enumerate(delta.tolist()):
        for target in set(row):
            before[target].append(source)
    live = targets.tolist()
    stack = np.flatnonzero(targets).tolist()
    while stack:
        for source in before[stack.pop()]:
            if not live[source]:
                live[source] = True
                stack.append(source)
    return np.array(live, dtype=bool)


def _refined(blocks: list[set[int]], arrows: list[list[tuple[int, int]]], *, count: int) -> list[int]:
    """The coarsest refinement of `blocks` under which equal states have equal successors; -1 outside.

    Hopcroft: a block that was split is used again as a splitter only by its smaller half. Arrows may be
    missing, since a block stable under B, and split by half of B, is stable under the other half.
    """
    label = [-1] * count
    for k, block in enumerate(blocks):
        for state in block:
            label[state] = k
    waiting = set(range(len(blocks)))
    while waiting:
        check()
        sources: dict[int, list[int]] = {}
        for state in blocks[waiting.pop()]:
            for token, source in arrows[state]:
                sources.setdefault(token, []).append(source)
        for group in sources.values():
            touched: dict[int, list[int]] = {}
            for state in group:
                touched.setdefault(label[state], []).append(state)
            for k, members in touched.items():
                if len(members) == len(blocks[k]):
                    continue
                blocks[k].difference_update(members)
                for state in members:
                    label[state] = len(blocks)
                if k in waiting or len(members) <= len(blocks[k]):
                    waiting.add(len(blocks))
                else:
                    waiting.add(k)
                blocks.append(set(members))
    return label
