"""Random small programs of all shapes: a seed gives a system whose rules are arbitrary functions."""

import random
import zlib

from unmask.recurrences import BOOLEAN, N, Slots, System, collect, each, every, indices, letter, pick, some, subsets
from unmask.recurrences.rule_functions import value_name

i, j, k = indices("i j k")
RANGES = (
    (i.range(N),),
    (i.range(N - 1),),
    (i.range(1, N + 1),),
    (i.range(2), j.range(N)),
    (i.range(N), j.range(i, N)),
    (i.range(N), j.range(i)),
)
VALUES = (BOOLEAN, range(3), subsets("xy"), ("a", "b", "c"), [(0, 1), "a", None])


def arbitrary(salt, values):
    """Return a function that maps any arguments to one of the values, by a hash."""
    values = list(values)

    def rule(*arguments):
        return values[zlib.crc32(f"{salt} {value_name(arguments)}".encode()) % len(values)]

    return rule


def index_expression(rng, over):
    """Some index expression."""
    known_indices = [rng_.index for rng_ in over]
    chosen = rng.choice(known_indices) if known_indices else N - 1
    return rng.choice([chosen, chosen - 1, chosen + 1, (chosen + 2) % N, N - 1 - chosen, 2 * chosen])


def read(rng, over, groups, inside=False):
    """A read of a letter or of a slot of one of the groups, which may not exist."""
    if not groups or rng.random() < 0.4:
        return letter(index_expression(rng, over)).or_else(rng.choice("ab#"))
    if rng.random() < 0.2:
        return pick(index_expression(rng, over) < 2, read(rng, over, groups[:1]), read(rng, over, groups))
    group = rng.choice(groups)
    slot = group[tuple(index_expression(rng, over) for _ in group.ranges)].or_else(group.values[0])
    return slot.map(value_name) if rng.random() < 0.2 and not inside else slot


def ranged(rng, over, groups, salt):
    """A read over a range."""
    kind = rng.choice((some, every, collect))
    within = k.range(*rng.choice([(N,), (0, 2), (1, N), (over[0].index, N) if over else (0, N)]))
    reads = [read(rng, (*over, within), groups, inside=True) for _ in range(rng.choice((1, 1, 2)))]
    sets = [g for g in groups if isinstance(g.values[0], frozenset)]
    if sets and rng.random() < 0.5:
        group = rng.choice(sets)
        reads.append(
            each(group[tuple(index_expression(rng, (*over, within)) for _ in group.ranges)].or_else(frozenset("x")))
        )
    outcomes = [(), ("p",), ("q",), ("p", "q")] if kind is collect else [False, True, True]
    where = rng.choice([None, None, k.differs(1)])
    return kind(within, reads, arbitrary(f"{salt} over", outcomes), where=where)


def define(rng, group, groups, salt):
    """One or two rules."""
    for number in range(rng.choice((1, 1, 2))):
        reads = [read(rng, group.ranges, groups) for _ in range(rng.choice((0, 1, 2, 2, 3)))]
        if rng.random() < 0.35:
            reads.append(ranged(rng, group.ranges, groups, f"{salt}{number}"))
        where = index_expression(rng, group.ranges) < 2 if number == 0 and rng.random() < 0.5 else None
        group.rule(reads, arbitrary(f"{salt}{number}", group.values), where=where)
    group.rule((), arbitrary(salt, group.values))


def random_system(seed, *, edits=False):
    """A program with one to three groups and an answer."""
    rng = random.Random(seed)
    groups = []
    for number in range(rng.choice((1, 2, 2, 3))):
        group = Slots(f"g{number}", rng.choice(RANGES), rng.choice(VALUES))
        groups.append(group)
        if not edits:
            define(rng, group, groups[:-1], f"{seed} {number}")
            before = group[tuple(over.index - (1 if over is group.ranges[0] else 0) for over in group.ranges)]
            if rng.random() < 0.5:
                reads = [before.or_else(group.values[-1]), read(rng, group.ranges, groups[:-1])]
                group.rules.clear()
                group.rule(reads, arbitrary(f"{seed} {number} chain", group.values))
    answer = Slots("answer", rng.choice([(), (i.range(2),)]), BOOLEAN)
    groups.append(answer)
    if not edits:
        define(rng, answer, groups[:-1], f"{seed} answer")
        return System("ab", groups, answer, name=f"drawn {seed}")
    for number, group in enumerate(groups):
        define(rng, group, groups, f"{seed} {number}")
        starts = [letter(index_expression(rng, group.ranges)).or_else("#") for _ in range(rng.choice((0, 1, 2)))]
        group.start(starts, arbitrary(f"{seed} {number} start", group.values))
    return System("ab", groups, answer, steps=rng.choice((1, 2, 3, N)), name=f"drawn {seed}")
