"""Small programs of all shapes, and a comparison of the whole canvas with the interpreter."""

from unmask.api import run_word
from unmask.compilers.system_compiler import SystemCompiler
from unmask.numerics.arithmetic import Precision
from unmask.programs.recurrences.slot_rows import constant_value
from unmask.recurrences import (
    BOOLEAN,
    Interpreter,
    N,
    Slots,
    System,
    collect,
    each,
    indices,
    letter,
    pick,
    some,
    subsets,
)

i, j, k = indices("i j k")


def parity():
    odd = Slots("odd", i.range(N), BOOLEAN)
    odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before != (x == "b"))
    return System("ab", odd, answer=odd[N - 1], name="parity")


def palindrome():
    same = Slots("same", (i.range(N), j.range(i, N)), BOOLEAN)
    same.rule((same[i + 1, j - 1].or_else(True), letter(i), letter(j)), lambda inside, a, b: inside and a == b)
    return System("ab", same, answer=same[0, N - 1], name="palindrome")


def brackets():
    pairs = {("S", "S"): "S", ("L", "R"): "S", ("L", "T"): "S", ("S", "R"): "T"}
    cell = Slots("cell", (i.range(N), j.range(i, N)), subsets("STLR"))
    cell.rule(letter(i), lambda a: {"L"} if a == "(" else {"R"}, where=i.equals(j))
    splits = collect(k.range(i, j), (each(cell[i, k]), each(cell[k + 1, j])), lambda b, c: pairs.get((b, c), ""))
    cell.rule(splits, lambda items: items)
    answer = Slots("answer", (), BOOLEAN)
    answer.rule(cell[0, N - 1], lambda items: "S" in items)
    return System("()", [cell, answer], answer, name="brackets")


def tree_product():
    """Sum modulo 3 by a balanced tree over a power of two."""
    node = Slots("node", i.range(N - 1), range(3))
    factors = [pick(2 * i + s < N, letter(2 * i + s).map(int), node[2 * i + s - N]) for s in (0, 1)]
    node.rule(factors, lambda a, b: (a + b) % 3)
    answer = Slots("zero", (), BOOLEAN)
    answer.rule(node[N - 2], lambda total: total == 0)
    return System("012", [node, answer], answer, name="tree")


def rule_110(steps=N):
    cell = Slots("cell", i.range(N), BOOLEAN)
    cell.start(letter(i), lambda a: a == "1")
    around = (cell[(i - 1) % N], cell[i], cell[(i + 1) % N])
    cell.rule(around, lambda a, b, c: bool(110 >> (4 * a + 2 * b + c) & 1))
    return System("01", cell, answer=cell, steps=steps, name="rule 110")


def reachability():
    """A graph of three vertices as a word of nine bits, squared in place."""
    v = 3
    path = Slots("path", (i.range(v), j.range(v)), BOOLEAN)
    path.start((), lambda: True, where=i.equals(j))
    path.start(letter(v * i + j), lambda bit: bit == "1")
    path.rule(some(k.range(v), (path[i, k], path[k, j]), lambda a, b: a and b), lambda is_path: is_path)
    return System("01", path, answer=path[0, v - 1], steps=2, name="reachability")


def sieve():
    """Sets rewritten in every step: items that a neighbour has alone are struck out."""
    cell = Slots("cell", i.range(N), subsets("xy"))
    cell.start(letter(i), lambda a: {"x": {"x"}, "y": {"y"}, "?": {"x", "y"}}[a])
    alone = collect(k.range(N), cell[k], lambda items: items if len(items) == 1 else (), where=k.differs(i))
    cell.rule((cell[i], alone), lambda items, gone: items - gone)
    return System("xy?", cell, answer=cell[N - 1], steps=2, name="sieve")


ONCE = {"parity": (parity, 4), "palindrome": (palindrome, 5), "brackets": (brackets, 4), "tree": (tree_product, 4)}
EDITING = {"rule 110": (rule_110, 4), "reachability": (reachability, 9), "sieve": (sieve, 3)}


def slots_by_name(compiler, kind, length, output):
    """{slot: symbol} of a canvas, by the rows that the plan gives to slots."""
    placement = compiler.placement(kind, length) if kind in ("cot", "pcot") else None
    plan = compiler.plan(kind, length) if placement is None else placement.plan
    symbols = {}
    for group in plan.groups:
        block = plan.blocks[group]
        names = [over.name for over in group.ranges]
        for row in range(constant_value(block.count)):
            at = tuple(int(block.indices[name][row]) for name in names)
            slot = constant_value(block.first) + row - length
            if placement is not None:
                slot = int(placement.of[constant_value(block.first) + row]) - length - placement.begin
            symbols[group.name, at] = output[slot]
    return symbols


def check_canvas(system, kind, length, words, precision=2):
    """Check that every slot of the last canvas has the interpreter's value, and that the answer takes its steps."""
    compiler, interpreter = SystemCompiler(system, {}), Interpreter(system, length)
    model = compiler.compile(kind, length, Precision(precision))
    plan = compiler.plan(kind, length)
    symbols = plan.symbols.vocabulary.symbols
    assert (model.steps, model.padding) == compiler.bound(kind, length)
    for word in words:
        expected_run = interpreter.run(list(word))
        trace = run_word(model, list(word))
        if kind not in ("cot", "pcot"):
            assert model.steps == expected_run.steps
        if kind == "plt":
            assert trace.output[-1] == symbols[plan.symbols.token[expected_run.answers[-1]]], (system.name, word)
            continue
        canvas = slots_by_name(compiler, kind, length, trace.output)
        expected = {key: symbols[plan.symbols.token[value]] for key, value in expected_run.values.items()}
        assert {key: canvas[key] for key in expected} == expected, (system.name, kind, word)
        answers = trace.output[-len(expected_run.answers) :]
        assert answers == [symbols[plan.symbols.token[value]] for value in expected_run.answers]
    return model
