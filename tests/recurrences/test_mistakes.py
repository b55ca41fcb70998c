"""Every mistake in a program leads to one error message, which names its line."""

import pytest

from unmask.api import compile_problem, compile_program, verify_model
from unmask.errors import ProblemError, TooLarge, UnmaskError
from unmask.recurrences import (
    BOOLEAN,
    Interpreter,
    N,
    Slots,
    System,
    choose,
    collect,
    each,
    indices,
    letter,
    log2_above,
    some,
    subsets,
)

i, j, k = indices("i j k")
HUGE = 4 * 10**18


def chain(rule=lambda before, x: before or x == "a", reads=None, values=BOOLEAN):
    slot = Slots("slot", i.range(N), values)
    slot.rule(reads(slot) if reads else (slot[i - 1].or_else(False), letter(i)), rule)
    return System("ab", slot, answer=slot[N - 1])


MISTAKES = {
    "read out of range": (
        lambda: Interpreter(chain(reads=lambda s: (s[i - 1], letter(i))), 3),
        r"at N = 3 slot\[0\] reads slot\[-1\], which does not exist; correct the index, write slot\[i - 1\]\.or_else",
    ),
    "letter out of range": (
        lambda: Interpreter(chain(reads=lambda s: (s[i - 1].or_else(True), letter(i + 1))), 3),
        r"at N = 3 slot\[2\] reads letter 3 of a word of 3, which does not exist",
    ),
    "range": (
        lambda: Interpreter(chain(lambda a: a, lambda s: some(k.range(N), s[i + k], bool)), 3),
        r"at N = 3 slot\[0\] depends on itself|at N = 3 slot\[1\] with k = 2 reads slot\[3\]",
    ),
    "cycle": (
        lambda: Interpreter(chain(reads=lambda s: (s[(i + 1) % N], letter(i))), 3),
        r"at N = 3 slot\[0\] depends on itself: slot\[0\] reads slot\[1\] reads slot\[2\] reads slot\[0\]",
    ),
    "raises": (
        lambda: Interpreter(chain(lambda *arguments: arguments[9]), 3).run("aba"),
        r"the rule of slot\[0\] \(line \d+ of test_mistakes.py\) raises IndexError .* for \(False, a\)",
    ),
    "value outside": (
        lambda: Interpreter(chain(lambda *arguments: arguments[-1]), 3).run("aba"),
        r"the rule of slot\[0\] \(line \d+ of .*\) gives 'a' for \(False, a\), which is not among the values of slot",
    ),
    "not a collection": (
        lambda: Interpreter(chain(len, lambda _: collect(k.range(N), letter(k), lambda _: 5)), 3).run("aba"),
        r"collect in the rule of slot\[0\] \(line \d+ of .*\) is given 5, which is not a collection",
    ),
    "no range": (lambda: Slots("slot", (i, j), BOOLEAN), r"the slots of slot need ranges .* i is not a range"),
    "a value that can change": (lambda: Slots("slot", (), [[1]]), r"the value \[1\] of slot can change"),
    "no slot as answer": (lambda: System("ab", (), answer=letter(0)), r"the answer must be a slot .*, not letter\(0\)"),
    "no answer at all": (lambda: System("ab", (), answer=[]), r"the answer names no slot"),
    "division": (lambda: N / 2, r"write \(N\) // 2 in place of /"),
    "power": (lambda: i**2, r"\(i\)\*\*2 is not supported"),
    "more than 64 bits": (
        lambda: Interpreter(chain(reads=lambda s: (s[i - 1].or_else(True), letter(choose(i * HUGE < 0, 0, i)))), 4),
        r"4000000000000000000·i is beyond 62 bits, and the positions of a model are computed with 64",
    ),
    "a power of more than 64 bits": (
        lambda: Interpreter(chain(reads=lambda s: (s[i - 1].or_else(True), letter(choose(2**i <= N, i, 0)))), 70),
        r"2\^\(i\) is beyond 62 bits",
    ),
    "a power of a power": (
        lambda: Interpreter(chain(reads=lambda _: letter(2 ** (2**i)).or_else("a")), 9),
        r"2\^\(2\^\(i\)\) is beyond 62 bits",
    ),
    "a number of more than 64 bits": (lambda: i < 10**19, r"10000000000000000000 needs more than 62 bits"),
    "a logarithm of more than 40 bits": (
        lambda: Interpreter(chain(reads=lambda _: letter(log2_above(i * HUGE))), 2),
        r"4000000000000000000·i is beyond 40 bits",
    ),
    "no answer": (lambda: Interpreter(chain(), 0), r"has no answer at N = 0: there is no slot\[-1\]"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_a_message(name):
    make, sentence = MISTAKES[name]
    with pytest.raises(ProblemError, match=sentence):
        make()


def test_a_slot_that_is_never_written():
    slot = Slots("slot", i.range(N), BOOLEAN)
    with pytest.raises(ProblemError, match="slot has no rule; give it one"):
        System("ab", slot, answer=slot[0])
    slot.rule(letter(i), lambda x: x == "a", where=i < 2)
    with pytest.raises(ProblemError, match=r"no rule writes slot\[2\] at N = 3: no condition of its rules holds there"):
        Interpreter(System("ab", slot, answer=slot[0]), 3).run("aba")


def test_conditions_are_not_decided_by_python():
    with pytest.raises(ProblemError, match=r"write both\(…, …\)"):
        _ = 0 <= i < N
    slot = Slots("slot", i.range(N), BOOLEAN)
    with pytest.raises(ProblemError, match=r"write i\.equals\(0\)"):
        slot.rule(letter(i), bool, where=i == 0)
    slot.rule(letter(j), bool)
    with pytest.raises(ProblemError, match="j uses j, which is not an index there"):
        System("ab", slot, answer=slot[0])


BEGIN = """from unmask.recurrences import *
i, k = indices("i k")
a = Slots("a", i.range(N), (0, 1, 2))
"""
FILES = {
    "a.rule((a[i + 2], letter(i)), lambda x, y: x)": (
        r"line 4 of slip\.py: at N = 3 a\[1\] reads a\[3\], which does not exist"
    ),
    "a.rule(some(k.range(N), letter(k + i), str.isupper), int)": (
        r"line 4 of slip\.py: at N = 3 a\[1\] with k = 2 reads letter 3 of a word of 3"
    ),
    "a.rule(a[(i + 1) % N], abs)": (
        r"line 4 of slip\.py: at N = 3 a\[0\] depends on itself: a\[0\] reads a\[1\] reads a\[2\] reads a\[0\]"
    ),
    "a.rule(letter(i), len, where=i < 2)": (
        r"line 4 of slip\.py: no rule writes a\[2\] at N = 3: .*; add a\.rule\(…\) without a condition"
    ),
    "a.rule(a[i - 1].or_else(a[i]), abs)": (
        r"line 4 of slip\.py: a\[i - 1\]\.or_else\(…\) takes a constant, .* but a\[i\] is .* "
        r"pick\(condition, a\[i - 1\],"
    ),
    "a.rule(a[i - 1].or_else(i), abs)": r"line 4 of slip\.py: .* takes a constant, .* but i is .*, number\(i\)\)",
    "a.rule(letter(i) == 'a', len)": (
        r"line 4 of slip\.py: a rule reads letters and slots, .* not False; .*\(letter\(i\), lambda x: x == \"a\"\)"
    ),
    "a.rule(i, abs)": r"line 4 of slip\.py: .* not i; .* value of a formula, write number\(i, among=\[0, 1\]\)",
    "a.rule(a, abs)": r"line 4 of slip\.py: .* name a slot of a: a\[i\]",
    "a.rule(letter(i), lambda x: 1 if i == 0 else 0)": (
        r"line 4 of slip\.py: the function of a rule uses i, .* add number\(i, among=\[…\]\) to the reads"
    ),
    "half = i // 2\na.rule(letter(i), lambda x: half)": r"line 5 of slip\.py: .* uses half = i div 2, which has no",
    "def f(x):\n    return [i for _ in x]\na.rule(letter(i), f)": r"line 6 of slip\.py: .* uses i, which has no value",
    "def g():\n    return i\na.rule(letter(i), lambda x: g() + 1)": (
        r"the rule of a \(line 6 of slip\.py\) gives the formula i \+ 1 for \(a\), .* add number\(i \+ 1, among"
    ),
    "def g():\n    return i\na.rule(letter(i), lambda x: 0 if g() == 0 else 1)": (
        r"in the rule of a \(line 6 of slip\.py\): Python's == compares objects, so i == 0 .* write i\.equals\(0\)"
    ),
    "a = Slots('a', range(4), (0, 1))": (
        r"line 4 of slip\.py: .* Python's range\(0, 4\) has no index; write \(i,\) = indices\(\"i\"\) and .* "
        r"i\.range\(4\)"
    ),
    "a.rule(letter(i), lambda x: {}[x])": r"the rule of a \(line 4 of slip\.py\) raises KeyError \('a'\) for \(a\)",
    "a.rule(letter(i), lambda x: __import__('sys').exit(3))": r"the rule of a .* raises SystemExit \(3\)",
    "a.rule(a[letter(i)], abs)": r"line 4 of slip\.py: .* not of letter\(i\); an index is a formula",
    "a.rule(a[i + a[i - 1]], abs)": r"an index expression .* not of a\[i - 1\]; .* read over a range",
    "a.rule(letter(i), lambda x: 3)": (
        r"the rule of a \(line 4 of slip\.py\) gives 3 for \(a\), which is not among the values of a"
    ),
    "a.rule([letter(i)] * 20, lambda *x: 0)": (
        r"line 4 of slip\.py: the rule of a is a table of 2\^20 = .* entries, more than 262,144"
    ),
    "a.rule(letter(i), len, where=0 < i < 3)": r"line 4 of slip\.py: the condition .* ~\(…\) for `not`, choose",
    "a.rule(letter(k), len)": r"line 5 of slip\.py: .* k uses k, which is not an index there; use only i, N",
    "a.rule(letter(i), int)": r"the rule of a \(line 4 of slip\.py\) raises ValueError",
    "a.rule(letter(i).map(int), abs)": (
        r"line 4 of slip\.py: the function of letter\(i\)\.map\(…\) raises ValueError .* for \(a\)"
    ),
    "a.rule(letter(i).map(lambda x: [x]), len)": (
        r"line 4 of slip\.py: the function of .* raises TypeError \(unhashable"
    ),
    "a.rule(a[i - 1].map(abs).or_else(0), abs)": r"line 4 of slip\.py: or_else belongs to .*; put it before \.map\(…\)",
    "a.rule(a[i - 1].or_else([0]), len)": r"line 4 of slip\.py: the value \[0\] of a\[i - 1\]\.or_else\(…\) can change",
    "a.rule(pick(i > 0, a[i - 1], 0), abs)": r"line 4 of slip\.py: a rule reads letters and slots, .* not 0",
    "a.rule(some(k.range(N), each(letter(k)), bool), int)": (
        r"line 4 of slip\.py: each\(letter\(k\)\) is given 'a', which is not a set"
    ),
    "a.rule(some(k.range(N), each(a[k]).map(abs), bool), int)": (
        r"a rule of a has each\(…\) inside .*; write each\(…\) on the outside"
    ),
    "a.rule(a[log2_above(N) - 9], abs)": r"write a\[log2_above\(N\) - 9\]\.or_else\(value\)",
    "def f(x):\n    y = 0\n    return 1 // y\na.rule(letter(i), f)": (
        r"the rule of a \(line 6 of slip\.py\) raises ZeroDivisionError"
    ),
    "a.rule((letter(i), letter(0)), lambda x: 0)": (
        r"the rule of a \(line 4 of slip\.py\) has 2 reads, .* another number of values; give it one "
        "parameter for each read"
    ),
    "a.rule(letter(i), 1)": r"line 4 of slip\.py: a rule must be a function of .*, and 1 is not a "
    "function; write lambda",
    "a.rule(letter(i), len, where='i < 2')": r"line 4 of slip\.py: .* not of 'i < 2'; write the formula itself",
    "a.rule(some(k.range(N), letter(k), bool, where=k != i), int)": r"line 4 of slip\.py: .* write i\.equals",
    "a.rule(letter(i), len, where=~(i == 0))": r"line 4 of slip\.py: .* write i\.equals",
    "a.rule(letter(i), len)\nprogram = System(5, a, answer=a)": (
        r"line 5 of slip\.py: the letters of a program are a string, .* and not 5"
    ),
    "a.rule(some(N, letter(i), bool), int)": r"line 4 of slip\.py: some\(…\) needs a range .* N is not a range",
    "a.rule(letter(i), len)\nprogram = System('ab', [a, 3], answer=a)": (
        r"line 5 of slip\.py: the groups of a program are Slots\(…\); 3 is not one"
    ),
    "b = Slots(3, (), [0])": r"line 4 of slip\.py: a group of slots needs a name, and 3 is not a string",
    "b = Slots('b', (), range(N))": r"line 4 of slip\.py: N has no value before .* values that do not depend on N",
    "b = Slots('b', (), i.range(N))": r"line 4 of slip\.py: the values of b are a collection .* for every N",
    "b = Slots('b', (), [0, N])": r"line 4 of slip\.py: the values of b .*, and N is a formula; store a number as",
    "b = Slots('b', (), 4)": r"line 4 of slip\.py: the values of b are a collection .*, not 4",
    "b = Slots('b', range(N), [0])": r"line 4 of slip\.py: N has no value before .*; write i\.range",
    "import random\na.rule(letter(i), lambda x: random.randrange(3))": (
        r"the rule of a \(line 5 of slip\.py\) returns \d and then \d for \([ab]\); it must be a pure function"
    ),
    "import random\na.rule(letter(i).map(lambda x: random.random() < 0.5), int)": (
        r"the function of letter\(i\)\.map\(…\) \(line 5 of slip\.py\) returns .* and then .*; it must be a "
        "pure function"
    ),
    "import random\na.rule(some(k.range(N), letter(k), lambda x: random.random() < 0.5), int)": (
        r"the rule of a: k \(line 5 of slip\.py\) returns .* and then .*; it must be a pure function"
    ),
    "a.rule(letter(i), len": r"slip\.py raises SyntaxError at line 4",
}


@pytest.mark.parametrize("line", FILES)
def test_a_mistake_in_a_file_is_a_message_that_names_the_line(tmp_path, line):
    file = tmp_path / "slip.py"
    file.write_text(f'{BEGIN}{line}\nprogram = System("ab", a, answer=a)\n')
    with pytest.raises(UnmaskError, match=FILES[line]):
        compile_problem(f"program:{file}", "mdm", length=3)


def test_an_interpreter_refuses_a_rule_that_is_not_a_function():
    counted = iter(range(1000))
    with pytest.raises(ProblemError, match=r"returns True and then False for \(False, a\); it must be a pure function"):
        Interpreter(chain(lambda *_: next(counted) % 2 == 0), 3).run("aba")


def wide():
    slot = Slots("wide", i.range(2**N), BOOLEAN)
    slot.rule((), lambda: True)
    return System("ab", slot, answer=slot[0])


TOO_LARGE = {
    "values": (lambda: Slots("slot", (), range(10**12)), r"slot has more than 16,384 values"),
    "subsets": (lambda: subsets(range(40)), r"40 items have too many subsets \(at most 18 items\)"),
    "slots": (lambda: Interpreter(wide(), 60), r"wide has more than 1,048,576 slots at N = 60"),
    "rows": (
        lambda: Interpreter(chain(bool, lambda _: some(k.range(10**12), letter(0), bool)), 3),
        r"the reads over a range of program run through more than 4,194,304 indices at N = 3",
    ),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_refused_before_it_is_made(name):
    make, sentence = TOO_LARGE[name]
    with pytest.raises(TooLarge, match=sentence):
        make()


def test_conditions_are_combined_by_signs():
    at = [{"N": 5, "i": value} for value in range(5)]
    assert [((i > 1) & (i < 4)).evaluate(v) for v in at] == [0, 0, 1, 1, 0]
    assert [((i < 1) | ~(i < 4)).evaluate(v) for v in at] == [1, 0, 0, 0, 1]
    assert [(-i + 7 // N + 7 % N).evaluate(v) for v in at] == [3, 2, 1, 0, -1]


@pytest.mark.parametrize("length", [5, 70])
def test_what_no_slot_asks_for_may_be_as_large_as_it_likes(length):
    """The branch that is not taken has more than 64 bits: the folder is right all the same."""
    system = chain(reads=lambda s: (s[i - 1].or_else(False), letter(choose(i < 5, choose(2**i <= N, i, 0), 0))))
    model = compile_program(system, "mdm", length=length)
    assert verify_model(model, against=system, method="sample").status == "held"


def group(name="cell", *, reads=None, ranges=None, start=None):
    slots = Slots(name, i.range(N) if ranges is None else ranges, BOOLEAN)
    slots.rule(letter(i) if reads is None else reads, lambda *_: True)
    if start is not None:
        slots.start(start, lambda *_: True)
    return slots


SYSTEMS = {
    "letters are a number": (lambda: System(5, group(), ()), "the letters of a program are a string"),
    "a letter is a list": (lambda: System([["a"]], cell := group(), cell[0]), r"a string without blanks, not \['a'\]"),
    "a letter twice": (lambda: System("aa", cell := group(), cell[0]), "must be distinct"),
    "no letters": (lambda: System("", cell := group(), cell[0]), "at least one"),
    "a blank": (lambda: System(["a b"], cell := group(), cell[0]), "a string without blanks, not 'a b'"),
    "groups are None": (lambda: System("ab", None, group()[0]), "None is not one; list groups only"),
    "a group is a number": (lambda: System("ab", [5], group()[0]), "5 is not one; list groups only"),
    "a name twice": (lambda: System("ab", [group(), group()], group()[0]), "rename one of them"),
    "answer elsewhere": (lambda: System("ab", group("a"), group("b")[0]), "the answer is in b, which is not among"),
    "answers apart": (lambda: System("ab", [a := group("a"), b := group("b")], [a[0], b[0]]), "in several groups"),
    "answer at an index": (lambda: System("ab", cell := group(), cell[i]), "i uses i, which is not an index there"),
    "no answer": (lambda: System("ab", group(), []), "the answer names no slot"),
    "answer is a number": (lambda: System("ab", group(), 5), "must be a slot such as"),
    "start without steps": (lambda: System("ab", cell := group(start=letter(i)), cell[0]), "has no steps; give"),
    "steps without start": (lambda: System("ab", cell := group(), cell[0], steps=N), "no value before the first"),
    "steps of an index": (lambda: System("ab", cell := group(), cell[0], steps=i), "may depend on N alone, not on i"),
    "start reads a slot": (
        lambda: System("ab", cell := group(start=group("b")[0]), cell[0], steps=N),
        "reads b, which is not among the groups",
    ),
    "start reads over a range": (
        lambda: System("ab", cell := group(start=some(k.range(N), letter(k), bool)), cell[0], steps=N),
        "let the first step do that",
    ),
    "an index twice": (lambda: System("ab", cell := group(ranges=[i.range(N)] * 2), cell[0, 0]), "i is already used"),
    "a range of another index": (lambda: System("ab", cell := group(ranges=i.range(j)), cell[0]), "j uses j"),
    "a range in a range": (
        lambda: System("ab", cell := group(reads=some(k.range(N), some(j.range(N), letter(j), bool), bool)), cell[0]),
        "reads over a range inside a range",
    ),
    "each outside": (lambda: System("ab", cell := group(reads=each(letter(i))), cell[0]), "read the set itself"),
    "a mapped range": (
        lambda: System("ab", cell := group(reads=some(k.range(N), letter(k), bool).map(bool)), cell[0]),
        "maps a read over a range; let the rule do that",
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_wrong_system_says_what_is_wrong(name):
    make, message = SYSTEMS[name]
    with pytest.raises(ProblemError, match=message):
        make()
