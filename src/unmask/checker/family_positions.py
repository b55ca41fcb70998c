"""Where rows are and what they read, for every N: the argument of each kind, and what of it is asked of a solver.

Queue (mdm, smdm, topk). c = N - K. Entry e of the queue is row e from N on, and below it letter e - 2c or, where this
is negative, e - 2c + N. A slot n reads the entries 2(n - N) and 2(n - N) + 1. Level q, a power of two up to K, has the
entries 2N - 2q + i, 0 <= i < q, and entry i of it covers the letters from border(i·K/q) to border((i + 1)·K/q), and is
written by step log2(K/q) + [K < N]. For q = K this is seen letter by letter; from 2q to q, entry i reads the entries
2i and 2i + 1, a step later. Level 1 is row 2N - 2, which covers border(0) = 0 to border(K) = N by step
log2 K + [K < N] = ⌈log2 N⌉.

Levels (plt, pcot). After d levels, D = 2^d, entry i covers the letters from min(N, i·D) to min(N, (i + 1)·D); it was
made of the entries 2i and 2i + 1 of the level before. An entry that does not exist is the identity, and covers nothing,
for i·D >= N: i >= N in plt and for letters, i >= W = ⌈N/2⌉ in later levels of pcot, where D >= 2. After ⌈log2 N⌉ levels
D >= N, so that entry 0 covers the word. The last row of pcot makes entry 0 of the last level, from the entries 0 and 1.

Chain (cot). The row before symbol t reads letter t.
"""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE
from tempfile import TemporaryFile
from threading import Timer

from unmask.checker import family_form
from unmask.checker.certificate import need
from unmask.checker.family_form import text
from unmask.checker.family_weights import CodeRead

# What is asked of a solver, in SMT-LIB: it holds for every N if every answer is `unsat`.
#
# known of N      least <= N,    K <= N < 2K with K a power of two,    T = ⌈log2 N⌉
# asked           not (given → goal), for numbers of which only what is given is known


KNOWN = """(set-logic ALL)
(declare-const N Int) (declare-const K Int) (declare-const T Int)
(assert (and (<= {least} N) (<= 1 K) (<= K N) (< N (* 2 K)) (<= 0 T) (=> (<= 2 N) (<= 1 T))))
(declare-fun quotient (Int Int) Int)
(declare-fun remainder (Int Int) Int)
(define-fun near ((x Int) (y Int)) Int
  (ite (and (<= 0 x) (< x y)) x
  (ite (and (<= (- y) x) (< x 0)) (+ x y)
  (ite (and (<= y x) (< x (* 2 y))) (- x y) (remainder x y)))))
"""


@dataclass
class SolverQuestions:
    """Questions by name; each may use the definitions before it."""

    least: int
    asked: dict[str, str] = field(default_factory=dict)
    _defined: list[str] = field(default_factory=list)

    def define(self, name: str, formula: family_form.Formula) -> None:
        """A formula in (n, N)."""
        self._defined.append(f"(define-fun {name} ((n Int)) Int {text(formula)})")

    def size(self, name: str, formula: family_form.Formula) -> None:
        """A formula in N alone."""
        self._defined.append(f"(define-fun {name} () Int {text(formula)})")

    def say(self, definitions: str) -> None:
        """Definitions of the argument itself."""
        self._defined.append(definitions.strip())

    def ask(self, name: str, numbers: str, given: Sequence[str], goal: str) -> None:
        need(name not in self.asked, f"{name} is asked twice")
        lines = [KNOWN.format(least=self.least).strip(), *self._defined]
        lines += [f"(declare-const {number} Int)" for number in numbers.split()]
        lines += [f"(assert {fact})" for fact in given]
        self.asked[name] = "\n".join([*lines, f"(assert (not {goal}))", "(check-sat)"]) + "\n"


QUEUE = """
(define-fun c () Int (- N K))
(define-fun place ((e Int)) Int (ite (>= e N) e (ite (>= e (* 2 c)) (- e (* 2 c)) (+ N (- e (* 2 c))))))
(define-fun border ((x Int)) Int (ite (<= x (- K c)) x (- (* 2 x) (- K c))))
"""
SLOT = ("(<= N n)", "(< n (- (* 2 N) 1))")

REGIONS = {
    "queue": {
        "read": "(and (<= 0 n) (< n (- (* 2 N) 2)))",
        "inner": "(and (<= N n) (< n (- (* 2 N) 2)))",
        "last": "(= n (- (* 2 N) 2))",
    },
    "plt": {"every": "(and (<= 0 n) (<= n N))"},
    "pcot": {
        "read": "(and (<= 0 n) (< n (+ N (* T W))))",
        "inner": "(and (<= N n) (< n (- (+ N (* T W)) 1)))",
        "last": "(= n (- (+ N (* T W)) 1))",
    },
    "cot": {
        "letters": "(and (<= 0 n) (< n N))",
        "only": "(and (= n (- N 1)) (= N 1))",
        "first": "(and (= n (- N 1)) (< 1 N))",
        "inner": "(and (<= N n) (< n (- (* 2 N) 2)))",
        "last": "(and (= n (- (* 2 N) 2)) (< 1 N))",
    },
}
"""Rows that the tables distinguish."""


def layout_of(kind: str) -> str:
    return kind if kind in REGIONS else "queue"


FRAMES = {
    "queue": ("T", "(- N 1)", None, "(- (* 2 N) 1)"),
    "plt": ("T", "1", None, "(+ N 1)"),
    "pcot": ("T", "(* T W)", "W", "(+ N (* T W))"),
    "cot": ("N", "N", None, "(* 2 N)"),
}
"""Steps, slots or pads, symbols per step, and rows."""


def ask_frame(
    questions: SolverQuestions,
    kind: str,
    frame: family_form.FamilyFrame,
    programs: dict[str, family_form.FamilyProgram],
) -> None:
    """Steps, slots and rows are those of the statement."""
    if kind == "pcot":
        questions.say("(define-fun W () Int (div (+ N 1) 2))")
    steps, padding, block, rows = FRAMES[layout_of(kind)]
    sizes = [("steps", frame.steps, steps), ("padding", frame.padding, padding), ("block", frame.block, block)]
    sizes += [(f"rows of the {name}", program.rows, rows) for name, program in programs.items()]
    for i, (name, formula, wanted) in enumerate(sizes):
        if wanted is not None:
            questions.size(f"size{i}", formula)
            questions.ask(name, "", (), f"(= size{i} {wanted})")


def ask_read(questions: SolverQuestions, kind: str, name: str, read: CodeRead, *, causal: bool) -> None:
    """The code of row n is n and fits; the row that is asked for exists and is visible. Defines the address."""
    rows = FRAMES[layout_of(kind)][3]
    questions.define(name, read.address)
    questions.define(f"{name}.key", read.key)
    questions.size(f"{name}.room", read.room)
    numbers, given = _row(kind)
    given = [*given, "(<= 0 n)", f"(< n {rows})"]
    code = f"(and (= ({name}.key n) n) (<= {rows} {name}.room))"
    questions.ask(f"{name}: the code of row n is n, and has room", numbers, given, code)
    seen = f"(and (<= 0 ({name} n)) ({'<=' if causal else '<'} ({name} n) {'n' if causal else rows}))"
    questions.ask(f"{name}: the row that is asked for is there", numbers, given, seen)


def _row(kind: str) -> tuple[str, list[str]]:
    """Any row n; in pcot, n - N = t·W + j in the one way with 0 <= j < W, and what this says of multiples of W."""
    if kind != "pcot":
        return "n", []
    named = "(= (- n N) (+ (* t W) j)) (<= 0 j) (< j W) (= (quotient (- n N) W) t) (= (near (- n N) W) j)"
    return "n t j", [f"(and {named})", ORDERED]


ORDERED = (
    "(and (=> (< t 0) (<= (* t W) (- W))) (=> (<= 0 t) (<= 0 (* t W))) (=> (<= 1 t) (<= W (* t W))) "
    "(=> (<= t (- T 2)) (<= (* t W) (- (* T W) (* 2 W)))) (=> (= t (- T 1)) (= (* t W) (- (* T W) W))) "
    "(=> (<= T t) (<= (* T W) (* t W))))"
)


def ask_layout(questions: SolverQuestions, kind: str, reads: dict[str, list[str]]) -> None:
    """The paragraph above, for the heads of each program, by the names of their addresses."""
    {"queue": _queue, "plt": _looped, "pcot": _parallel, "cot": _chain}[layout_of(kind)](questions, reads)


def _queue(questions: SolverQuestions, reads: dict[str, list[str]]) -> None:
    questions.say(QUEUE)
    for name, heads in reads.items():
        for side, head in enumerate(heads):
            goal = f"(= ({head} n) (place (+ (* 2 (- n N)) {side})))"
            questions.ask(f"{name}: factor {side} of a slot is an entry of the queue", "n", SLOT, goal)
    in_level = ["(<= 0 i)", "(< i K)", "(= e (+ (* 2 c) i))"]
    covers_itself = "(and (= (place e) i) (= (border i) i) (= (border (+ i 1)) (+ i 1)))"
    questions.ask("level K: a letter", "e i", [*in_level, "(< e N)"], covers_itself)
    left, right = "(place (* 2 (- e N)))", "(place (+ (* 2 (- e N)) 1))"
    letters = f"(< {left} N) (< {right} N) (= {left} (border i)) (= {right} (+ {left} 1))"
    slot = f"(and (< e (- (* 2 N) 1)) {letters} (= (border (+ i 1)) (+ {left} 2)) (< K N))"
    questions.ask("level K: a slot covers two letters", "e i", [*in_level, "(<= N e)"], slot)
    below = ["(<= 1 q)", "(<= (* 2 q) K)", "(<= 0 i)", "(< i q)", "(= e (+ (- (* 2 N) (* 2 q)) i))"]
    factors = [
        f"(= (+ (* 2 (- e N)) {s}) (+ (- (* 2 N) (* 4 q)) (+ (* 2 i) {s}))) (< (+ (* 2 i) {s}) (* 2 q))" for s in (0, 1)
    ]
    goal = f"(and (<= N e) (< e (- (* 2 N) 1)) {' '.join(factors)})"
    questions.ask("level q: a slot reads two entries of level 2q", "e i q", below, goal)
    questions.ask("level 1 covers the word", "", (), "(and (= (border 0) 0) (= (border K) N) (<= N (- (* 2 N) 2)))")


def _looped(questions: SolverQuestions, reads: dict[str, list[str]]) -> None:
    ((left, right, own, answer),) = reads.values()
    for side, head in enumerate((left, right)):
        entry = f"(+ (* 2 n) {side})"
        goal = f"(= ({head} n) (ite (and (< n N) (< {entry} N)) {entry} N))"
        questions.ask(f"factor {side} of row n is row 2n + {side}, or the pad", "n", ["(<= 0 n)", "(<= n N)"], goal)
    questions.ask("a row reads itself", "n", ["(<= 0 n)", "(<= n N)"], f"(= ({own} n) n)")
    questions.ask("the last row reads row 0", "", (), f"(= ({answer} N) 0)")
    questions.ask("an entry that does not exist covers nothing", "i D", ["(<= N i)", "(<= 1 D)"], "(<= N (* i D))")


def _parallel(questions: SolverQuestions, reads: dict[str, list[str]]) -> None:
    ((left, right),) = reads.values()
    numbers, given = _row("pcot")
    questions.ask("multiples of W are in order", "t", (), ORDERED)
    given = [*given, "(<= 0 t)", "(< t T)"]
    last = "(and (= t (- T 1)) (= j (- W 1)))"
    for side, head in enumerate((left, right)):
        entry = f"(ite {last} {side} (+ (* 2 j) {side}))"
        letter = f"(ite (< {entry} N) {entry} n)"
        earlier = f"(ite (< {entry} W) (+ N (+ (- (* t W) W) {entry})) n)"
        goal = f"(= ({head} n) (ite (= t 0) {letter} {earlier}))"
        questions.ask(f"factor {side} is an entry of the level before, or the row itself", numbers, given, goal)
    questions.ask("the last row is the last entry", numbers, given, f"(= (= n (- (+ N (* T W)) 1)) {last})")
    questions.ask("every row after the word is in a block", numbers, [*given[:2], "(<= N n)", "(< n (+ N (* T W)))"],
                  "(and (<= 0 t) (< t T))")  # fmt: skip
    beyond = "(and (=> (and (<= N i) (<= 1 D)) (<= N (* i D))) (=> (and (<= W i) (<= 2 D)) (<= N (* i D))))"
    questions.ask("an entry that does not exist covers nothing", "i D", (), beyond)


def _chain(questions: SolverQuestions, reads: dict[str, list[str]]) -> None:
    ((letter,),) = reads.values()
    given = ["(<= (- N 1) n)", "(< n (- (* 2 N) 1))"]
    questions.ask("the row before symbol t reads letter t", "n", given, f"(= ({letter} n) (- n (- N 1)))")


def ask_flags(
    questions: SolverQuestions, kind: str, name: str, columns: list, region: str, listed: list[list[int]]
) -> None:
    """In this region of rows the flags are, together, one of those that are listed."""
    flags = [f"flag.{name}.{i}" for i, column in enumerate(columns) if column is not None and column[0] == "flag"]
    cases = " ".join(
        f"(and true {' '.join(f'(= ({flag} n) {v})' for flag, v in zip(flags, values, strict=True))})"
        for values in listed
    )
    here = REGIONS[layout_of(kind)][region]
    questions.ask(f"{name}: flags of the rows called {region}", "n", [here], f"(or false {cases})")


def define_flags(questions: SolverQuestions, name: str, columns: list) -> None:
    for i, column in enumerate(columns):
        if column is not None and column[0] == "flag":
            questions.define(f"flag.{name}.{i}", column[1])


# SMT-LIB → answers, by any solver that can be had: z3 as a Python module, or a command that reads SMT-LIB.


Solver = Callable[[str], str]
"""A question → sat, unsat, or anything else."""

PATIENCE = 60  # seconds for one question
LONGEST = 200  # bytes of an answer that are read


def found(command: str | None = None) -> Solver | None:
    """The solver that is named, or one that is installed."""
    if command is not None:
        return _by_command(command.split())
    if importlib.util.find_spec("z3") is not None:
        return _by_module
    for known in (["z3", "-in"], ["cvc5"]):
        if shutil.which(known[0]) is not None:
            return _by_command(known)
    return None


def _by_module(question: str) -> str:
    import z3

    solver = z3.Solver()
    solver.set("timeout", PATIENCE * 1000)
    solver.from_string(question.replace("(check-sat)", ""))
    return str(solver.check())


def _by_command(command: list[str]) -> Solver:
    def answer(question: str) -> str:
        with TemporaryFile() as asked:
            asked.write(question.encode())
            asked.seek(0)
            try:
                process = subprocess.Popen(command, stdin=asked, stdout=PIPE, stderr=DEVNULL)
            except (OSError, ValueError, IndexError) as error:  # no such command, or none at all
                return f"no answer ({error})"
            return _short(process)

    return answer


def _short(process: subprocess.Popen[bytes]) -> str:
    """What a solver says, or how it begins; then, or when its time is over, it is ended."""
    assert process.stdout is not None
    clock = Timer(PATIENCE, process.kill)
    clock.start()
    try:
        with process.stdout:
            printed = process.stdout.read(LONGEST + 1)
    finally:
        clock.cancel()
        process.kill()
        process.wait()
    text = printed.decode(errors="replace").strip()
    return f"{text} …" if len(printed) > LONGEST else text or "no answer"
