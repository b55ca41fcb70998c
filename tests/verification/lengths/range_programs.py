"""Programs for every N that read over a range: name → system; and wrong families of these programs."""

from unmask.expressions import N, both, choose, n
from unmask.programs.declarations import Flag
from unmask.programs.program import ULP, Edges
from unmask.recurrences import BOOLEAN, Slots, System, collect, each, every, indices, letter, some, subsets

from .programs_to_prove import as_if, of
from .wrong_families import address, flag

i, j, k = indices("i j k")


def contains(windows=N - 2):
    """One slot, and a row for every window; as there is one slot, rows have no code of their slot."""
    answer = Slots("found", (), BOOLEAN)
    window = (letter(k), letter(k + 1), letter(k + 2))
    answer.rule(some(k.range(windows), window, lambda *letters: letters == ("a", "b", "a")), bool)
    return System("ab", answer, answer=answer[()])


def twins():
    """Does the letter occur elsewhere? A condition excludes some rows of a box, and every slot is an answer."""
    twin = Slots("twin", i.range(N), BOOLEAN)
    twin.rule(some(k.range(N), (letter(k), letter(i)), lambda x, y: x == y, where=k.differs(i)), bool)
    return System("ab", twin, answer=twin)


def late():
    """The rows of the range wait for slots that are written one after the other, from the last to the first."""
    rest = Slots("rest", i.range(N), BOOLEAN)
    rest.rule((rest[i + 1].or_else(False), letter(i)), lambda after, x: after or x == "b")
    all_ = Slots("all", (), BOOLEAN)
    all_.rule(every(k.range(N), rest[k], bool), bool)
    return System("ab", (rest, all_), answer=all_[()])


def layers():
    """Slots that wait for rows, and a default at the end of the range."""
    near = Slots("near", i.range(N), BOOLEAN)
    near.rule((letter(i), letter(i + 1).or_else("a")), lambda x, y: x == y)
    far = Slots("far", j.range(N), BOOLEAN)
    far.rule(some(k.range(N), (near[k], letter(j)), lambda same, x: same and x == "b"), bool)
    return System("ab", (near, far), answer=far)


def mixed():
    """Two regions, because of a default, that share the rows of their searches; two ranges in one rule."""
    cell = Slots("cell", i.range(N), BOOLEAN)
    some_b = some(k.range(N), letter(k), lambda x: x == "b")
    all_like = every(j.range(1, N + 1), (letter(j - 1), letter(i)), lambda x, y: x == y)
    cell.rule((cell[i - 1].or_else(False), some_b, all_like), lambda before, b, same: before != (b and not same))
    return System("ab", cell, answer=cell[N - 1])


def kinds():
    """Collect the set of letters of the word from sets of one letter each."""
    single = Slots("one", i.range(N), subsets("ab"))
    single.rule(letter(i), lambda x: {x})
    all_ = Slots("all", (), subsets("ab"))
    all_.rule(collect(k.range(N), each(single[k]), lambda x: {x}), lambda members: members)
    return System("ab", (single, all_), answer=all_[()])


PROGRAMS = {f.__name__: f for f in (contains, twins, late, layers, mixed, kinds)}


def as_found(program):
    """A matching row adds a number that rounds to 0 among many rows."""
    outputs = program.layers[0].mlp.outputs
    outputs[:] = [Edges(e.source, e.target, ULP) for e in outputs]


def no_threshold(program):
    """THRESH without its two units. (With one, the logits of `no` are equal, and the lower symbol is correct.)"""
    program.layers[1].mlp.outputs.clear()


def blind(program):
    """The planner ignores whether the rows of the range wait."""
    shares = set(program.columns("share of masked 0").tolist())
    mlp = program.layers[1].mlp
    mlp.inputs[:] = [e for e in mlp.inputs if not shares & set(e.source.tolist())]


def hides_also(where):
    """A flag that hides more rows than it should."""

    def change(program):
        hidden = program.positions["finds nothing 0"].expression
        program.positions["finds nothing 0"] = Flag(choose(where, 1, hidden))

    return change


def next_slot(program):
    """A slot reads the results of the search of the next slot."""
    first = 2 * N + N * N
    address(program, "target 0", lambda e: choose(both(n >= first, n < first + N - 1), e + 1, e))


LAST = n.equals(2 * N - 3)


def not_looked_at(program):
    """The last window is in no region."""
    flag(program, "not found: k", (n < N) + LAST)


SABOTAGES = {
    "a finder beside": (contains, "mdm", of("predictor", lambda p: address(p, "address 1", lambda e: e - (e > 0)))),
    "a finder beside, topk": (contains, "topk", of("model", lambda p: address(p, "address 2", lambda e: e - (e > 0)))),
    "a window too few": (contains, "mdm", as_if(lambda: contains(N - 3))),
    "a window is hidden": (contains, "smdm", of("predictor", hides_also(both(LAST, N > 3)))),
    "a window is not looked at": (contains, "mdm", of("predictor", not_looked_at)),
    "no threshold": (contains, "mdm", of("predictor", no_threshold)),
    "a whisper": (contains, "mdm", of("predictor", as_found)),
    "a whisper, topk": (contains, "topk", of("model", as_found)),
    "the first is not waited for": (late, "mdm", of("planner", hides_also(both(n.equals(N), N > 1)))),
    "nothing is waited for": (late, "smdm", of("planner", blind)),
    "what the next one finds": (layers, "mdm", of("predictor", next_slot)),
}  # fmt: skip
UNDECIDED = {
    "all rows are seen": (contains, "mdm", of("predictor", lambda p: flag(p, "finds nothing 0", n * 0))),
}
"""Correct by coincidence, but not by the argument that is checked: rows that do not match cannot turn a share to 0."""
