"""Programs of every read pattern that is proved for every N: name → system; and wrong families of these programs."""

from dataclasses import replace

import numpy as np

from unmask.compilers.system_compiler import SystemCompiler
from unmask.expressions import N, choose, n
from unmask.programs.declarations import Flag
from unmask.programs.program import Edges
from unmask.recurrences import BOOLEAN, Slots, System, both, indices, letter, maximum, number, pick

from .wrong_families import address, flag, one_bit_less

i, j, k = indices("i j k")


def chain():
    """Parity, from left to right."""
    odd = Slots("odd", i.range(N), BOOLEAN)
    odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before != (x == "b"))
    return System("ab", odd, answer=odd[N - 1])


def backward():
    """From right to left, so that the answer is exchanged with the last slot; its value is not a truth value."""
    rest = Slots("rest", i.range(N), "xyz")
    rest.rule((rest[i + 1], letter(i)), lambda r, x: "xyz"[("xyz".index(r) + (x == "b")) % 3], where=i < N - 1)
    rest.rule(letter(i), lambda x: "y" if x == "b" else "x")
    return System("ab", rest, answer=rest[0])


def grid():
    """Is there a path through equal letters, in a grid of unequal side lengths? The answers are its last row."""
    open_ = Slots("open", (i.range(1, N), j.range(N)), BOOLEAN)
    above = open_[i - 1, j].or_else(True)
    left = open_[i, j - 1].or_else(False)
    open_.rule((above, left, letter(i), letter(j)), lambda u, le, a, b: (u or le) and a == b)
    last = Slots("last", j.range(N), BOOLEAN)
    last.rule(open_[N - 1, j], lambda value: value)
    return System("ab", (open_, last), answer=last)


def cube():
    """Three indices, one of which has two values; each layer reads the previous one."""
    cell = Slots("cell", (i.range(N), k.range(2), j.range(N)), BOOLEAN)
    before = pick(k.equals(0), cell[i - 1, 1, j].or_else(False), cell[i, k - 1, j])
    cell.rule((before, letter(j), number(k)), lambda below, x, odd: below != (x == "b" and bool(odd)))
    return System("ab", cell, answer=cell[N - 1, 1, N - 1])


def queue():
    """A tree as a queue, and one more slot that only reads its root."""
    node = Slots("node", i.range(N - 1), "ab")
    entries = [pick(e < N, letter(e), node[e - N]) for e in (2 * i, 2 * i + 1)]
    node.rule(entries, lambda x, y: "a" if x == y else "b")
    root = Slots("root", (), BOOLEAN)
    root.rule(node[N - 2], lambda x: x == "b")
    return System("ab", (node, root), answer=root[()])


def orchard():
    """Slots that read the letters, a tree over these slots, and two slots after it."""
    leaf = Slots("leaf", i.range(N), BOOLEAN)
    leaf.rule(letter(i), lambda x: x == "b")
    node = Slots("node", j.range(N - 1), BOOLEAN)
    node.rule([pick(e < N, leaf[e], node[e - N]) for e in (2 * j, 2 * j + 1)], lambda x, y: x != y)
    root, other = Slots("root", (), BOOLEAN), Slots("other", (), BOOLEAN)
    root.rule(node[N - 2], lambda x: x)
    other.rule(root[()], lambda x: not x)
    return System("ab", (leaf, node, root, other), answer=other[()])


def heap():
    """A tree as a heap: node j reads 2j and 2j + 1, and the leaves after the nodes are the letters."""
    node = Slots("node", j.range(1, N), "ab")

    def entry(e):
        return pick(e < N, node[e], letter(e - N))

    node.rule((entry(2 * j), entry(2 * j + 1)), max)
    return System("ab", node, answer=node[1])


def alternating():
    """Two groups that read each other, depending on the parity of an index."""
    even = Slots("even", i.range(N), BOOLEAN)
    odd = Slots("odd", i.range(N), BOOLEAN)
    even.rule((odd[i - 1].or_else(True), letter(i)), lambda o, x: o and x == "a", where=(i % 2).equals(0))
    even.rule(odd[maximum(i - 1, 0)], lambda o: not o)
    odd.rule((even[i], letter(N - 1 - i)), lambda e, x: e == (x == "b"))
    return System("ab", (even, odd), answer=odd[N - 1])


PROGRAMS = {f.__name__: f for f in (chain, backward, grid, cube, heap, queue, orchard, alternating)}


def triangle():
    same = Slots("same", (i.range(N), j.range(i, N)), BOOLEAN)
    same.rule((same[i + 1, j - 1].or_else(True), letter(i), letter(j)), lambda inside, a, b: inside and a == b)
    return System("ab", same, answer=same[0, N - 1])


def with_steps(change):
    def changed(family):
        return replace(family, design=replace(family.design, steps=change(family.design.steps)))

    return changed


def of(program_name, change):
    def changed(family):
        change(family.design.programs[program_name])
        return family

    return changed


def wrong_entry(program):
    """One conjunction of the rule has another result."""
    outputs = program.layers[0].mlp.outputs
    first = outputs[0]
    other = next(
        e for e in outputs if e.target.size == first.target.size and not np.array_equal(e.target, first.target)
    )
    outputs[0] = Edges(first.source, other.target, first.weight)


def impatient(program):
    """The planner ignores the output of the first head."""
    program.layers[0].mlp.inputs.pop(1)


def deaf(program):
    """The first head has no output."""
    program.layers[0].heads[0].value.clear()


def as_if(make):
    """Replace the family by that of another program."""

    def changed(family):
        return replace(family, design=SystemCompiler(make(), {}).family(family.kind).design)

    return changed


def another_rule():
    odd = Slots("odd", i.range(N), BOOLEAN)
    odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before or x == "b")
    return System("ab", odd, answer=odd[N - 1])


def another_default():
    odd = Slots("odd", i.range(N), BOOLEAN)
    odd.rule((odd[i - 1].or_else(True), letter(i)), lambda before, x: before != (x == "b"))
    return System("ab", odd, answer=odd[N - 1])


def another_guard():
    odd = Slots("odd", i.range(N), BOOLEAN)
    before = pick(both(i > 1, i < N), odd[i - 1], odd[i - 1].or_else(False).map(lambda _: False))
    odd.rule((before, letter(i)), lambda before, x: before != (x == "b"))
    return System("ab", odd, answer=odd[N - 1])


def wrong_when_long():
    """Differs from the chain only for i = 20, so that short words show no difference."""
    odd = Slots("odd", i.range(N), BOOLEAN)
    index = choose(i.equals(20), 0, i)
    odd.rule((odd[i - 1].or_else(False), letter(index)), lambda before, x: before != (x == "b"))
    return System("ab", odd, answer=odd[N - 1])


def even(count=N):
    """Is N even? There is an answer at N = 0, too, a length about which the solver is not asked."""
    answer = Slots("even", (), BOOLEAN)
    answer.rule(number(count % 2), lambda odd: not odd)
    return System("ab", answer, answer=answer[()])


def unlisted_when_long():
    """From N = 151 on, a number is not among the listed ones."""
    odd = Slots("odd", i.range(N), BOOLEAN)
    reads = odd[i - 1].or_else(False), letter(i), number(choose(N > 150, 2, 0))
    odd.rule(reads, lambda before, x, _: before != (x == "b"))
    return System("ab", odd, answer=odd[N - 1])


SABOTAGES = {
    "wrong at 0 alone": (even, "mdm", as_if(lambda: even(choose(N.equals(0), 1, N)))),
    "the letter beside": (chain, "mdm", of("predictor", lambda p: address(p, "address 1", lambda e: e - (e > 0)))),
    "a read of itself": (chain, "mdm", of("predictor", lambda p: address(p, "address 0", lambda e: e + (e >= N)))),
    "the planner looks elsewhere": (chain, "mdm", of("planner", lambda p: address(p, "address 0", lambda e: e * 0))),
    "a region off by one": (chain, "mdm", of("predictor", lambda p: flag(p, "not odd", n <= N + 1))),
    "a wrong entry": (chain, "mdm", of("predictor", wrong_entry)),
    "a wrong entry, topk": (chain, "topk", of("model", wrong_entry)),
    "a step too few": (chain, "mdm", with_steps(lambda steps: steps - 1)),
    "half the steps": (grid, "smdm", with_steps(lambda steps: steps // 2)),
    "a step too few in a tree": (heap, "mdm", with_steps(lambda steps: steps - 1)),
    "a step too few after a tree": (queue, "mdm", with_steps(lambda steps: steps - 1)),
    "a step too few around a tree": (orchard, "mdm", with_steps(lambda steps: steps - 1)),
    "an impatient planner": (chain, "mdm", of("planner", impatient)),
    "a head that brings nothing": (grid, "mdm", of("predictor", deaf)),
    "a bit too few": (chain, "mdm", of("predictor", one_bit_less)),
    "another rule": (chain, "mdm", as_if(another_rule)),
    "another default": (chain, "mdm", as_if(another_default)),
    "another guard": (chain, "mdm", as_if(another_guard)),
    "wrong from 21 on": (chain, "mdm", as_if(wrong_when_long)),
    "a flag in all rows": (grid, "mdm", of("predictor", lambda p: p.positions.update({"not last": Flag(n >= 0)}))),
}
