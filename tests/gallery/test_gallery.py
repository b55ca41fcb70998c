"""Every program of the gallery against something outside, by its interpreter and as a compiled model."""

import random
import re
import runpy
from functools import lru_cache
from pathlib import Path

import pytest

from unmask.api import compare_frameworks, run_word, verify_model
from unmask.compilers.compiler import compiler_for
from unmask.numerics.arithmetic import Precision
from unmask.problems.program_problems import parse_program
from unmask.recurrences import Interpreter

FOLDER = Path(__file__).parents[2] / "examples" / "programs"


@lru_cache
def program(name):
    return runpy.run_path(str(FOLDER / f"{name}.py"))["program"]


def drawn(letters, length, seed):
    return "".join(random.Random(seed).choices(letters, k=length))


def edit_distance(x, y):
    """The textbook's table, row by row."""
    row = list(range(len(y) + 1))
    for i, a in enumerate(x, 1):
        before, row = row, [i]
        for j, b in enumerate(y, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
    return row[-1]


def common_subsequence(x, y):
    """The longest one, by trying all subsequences of x."""
    kept = [[a for k, a in enumerate(x) if bits >> k & 1] for bits in range(1 << len(x))]
    return max(len(part) for part in kept if re.search(".*".join(map(re.escape, part)), y))


def reached(word, size=6):
    """Row by row, by a search from every vertex."""
    edges = [[word[size * i + j] == "1" for j in range(size)] for i in range(size)]
    found = []
    for start in range(size):
        seen, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            fresh = {j for j in range(size) if edges[here][j]} - seen
            seen |= fresh
            waiting += fresh
        found += [j in seen for j in range(size)]
    return found


def ring(word, rule=110):
    cells = [int(x) for x in word]
    for _ in word:
        cells = [rule >> int(f"{cells[i - 1]}{c}{cells[(i + 1) % len(cells)]}", 2) & 1 for i, c in enumerate(cells)]
    return [bool(c) for c in cells]


def generations(word, rows=5, columns=6, times=4):
    """With NumPy, by rolling the board."""
    import numpy as np

    board = np.array([int(x) for x in word]).reshape(rows, columns)
    for _ in range(times):
        near = sum(np.roll(board, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - board
        board = ((near == 3) | ((board == 1) & (near == 2))).astype(int)
    return [bool(c) for c in board.ravel()]


def singles(word):
    """A Sudoku by naked singles, one at a time."""
    cells = [set("1234") if x == "." else {x} for x in word]
    changed = True
    while changed:
        changed = False
        for i in range(16):
            for k in range(16):
                peer = i // 4 == k // 4 or i % 4 == k % 4 or (i // 8, i % 4 // 2) == (k // 8, k % 4 // 2)
                if i != k and peer and len(cells[k]) == 1 and cells[k] <= cells[i]:
                    cells[i] -= cells[k]
                    changed = True
    return [frozenset(c) for c in cells]


GRID = "1234341221434321"


def puzzle(seed):
    """A solved grid with some digits taken away."""
    rng = random.Random(seed)
    digits = rng.sample("1234", 4)
    return "".join("." if rng.random() < 0.55 else digits[int(x) - 1] for x in GRID)


CASES = {
    "ends_in_abb": ("ab", 13, lambda word, got: got == [word.endswith("abb")]),
    "edit_distance": ("acgt", 10, lambda word, got: 5 + sum(got) == edit_distance(word[:5], word[5:])),
    "longest_common_subsequence": ("abc", 12, lambda word, got: sum(got) == common_subsequence(word[:6], word[6:])),
    "sorting": ("abcd", 9, lambda word, got: list(got) == sorted(word)),
    "reachability": ("000001", 36, lambda word, got: got == reached(word)),
    "rule_110": ("01", 12, lambda word, got: got == ring(word)),
    "life": ("001", 30, lambda word, got: got == generations(word)),
    "prefix_scan": (
        "012",
        11,
        lambda word, got: list(map(int, got)) == [sum(map(int, word[: i + 1])) % 3 for i in range(11)],
    ),
    "turing_machine": ("ab", 6, lambda word, got: got == [word == "aaabbb"]),
    "sudoku": (None, 16, lambda word, got: got == singles(word)),
}


def words(name, count):
    letters, length, _ = CASES[name]
    if letters is None:
        return [puzzle(seed) for seed in range(count)]
    special = {"turing_machine": ["aaabbb"], "edit_distance": ["acgtaacgta"], "ends_in_abb": ["b" * 10 + "abb"]}.get(
        name, []
    )
    return special + [drawn(letters, length, seed) for seed in range(count - len(special))]


def test_every_program_of_the_folder_is_tested():
    assert sorted(CASES) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_agrees_with_an_outside_implementation(name):
    _, length, right = CASES[name]
    interpreter = Interpreter(program(name), length)
    for word in words(name, 20):
        assert right(word, interpreter.run(word).answers), word


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["mdm", "plt"])
def test_the_compiled_model_gives_the_same_answers(name, kind):
    _, length, _ = CASES[name]
    problem = parse_program(str(FOLDER / f"{name}.py"))
    model = compiler_for(problem).compile(kind, length, Precision(2))
    for word in words(name, 3):
        expected = problem.outcome(word)
        got = run_word(model, word)
        if expected.bits:
            assert got.accepted == expected.accepted, word
        else:
            assert got.output[-1] == expected.value.split()[-1], word


def test_every_file_is_at_most_a_screen():
    for path in FOLDER.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 72, path.name


def test_no_name_of_the_gallery_stands_in_the_compiler():
    source = Path(__file__).parents[2] / "src" / "unmask" / "programs"
    names = [stem for stem in CASES if stem != "reachability"] + ["cyk", "dyck", "edit distance", "Rule 110", "Sudoku"]
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in names if name in text], path


@pytest.mark.parametrize("name", CASES)
def test_compare_finds_every_program_right(name):
    _, length, _ = CASES[name]
    rows = list(compare_frameworks(f"program:{FOLDER / name}.py", [length]))
    assert {row.framework for row in rows} >= {"mdm", "plt"}
    assert all(row.correct and row.within_bound for row in rows)


def test_a_looped_model_is_compared_with_its_last_answer_alone():
    """Truth values stand among other values: the last one counts as it is written, whatever the others are."""
    problem = parse_program(str(FOLDER / "edit_distance.py"))
    model = compiler_for(problem).compile("plt", 4, Precision(2))
    found = verify_model(model, against=problem.system, method="exhaustive")
    assert (found.status, found.cases) == ("held", 4**4)
