"""The layout of the rows for every N: an argument for each kind, and the claims in it that a solver has to decide.

Queue (mdm, smdm, topk). Let c = N - K. The entry e >= N of the queue is row e. The entry e < N is the letter e - 2c if
this is at least 0, and else the letter e - 2c + N. A slot n reads the entries 2(n - N) and 2(n - N) + 1. Level q, a
power of two up to K, has the entries 2N - 2q + i, 0 <= i < q. Its entry i covers the letters from border(i·K/q) to
border((i + 1)·K/q), and is written by step log2(K/q) + [K < N]. For q = K this is decided letter by letter. From level
2q to level q, entry i reads the entries 2i and 2i + 1, and is written one step later. Level 1 is row 2N - 2, which
covers the letters from border(0) = 0 to border(K) = N by step log2 K + [K < N] = ⌈log2 N⌉.

Levels (plt, pcot). After d levels, with D = 2^d, entry i covers the letters from min(N, i·D) to min(N, (i + 1)·D); it
is the product of the entries 2i and 2i + 1 of the previous level. An entry that does not exist is the identity. It
covers nothing because i·D >= N: i >= N in plt and for letters, i >= W = ⌈N/2⌉ in later levels of pcot, where D >= 2.
After ⌈log2 N⌉ levels D >= N, so that entry 0 covers the word. The last row of pcot is entry 0 of the last level; it
reads the entries 0 and 1.

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
from unmask.checker.family_form import smt_text
from unmask.checker.family_weights import CodeRead

# Questions to a solver, in SMT-LIB: the claims hold for every N if every answer is `unsat`.
#
#     known      least <= N,    K <= N < 2K with K a power of two,    T = ⌈log2 N⌉
#     question   not (facts → goal), for numbers about which only the facts are known


PREAMBLE = """(set-logic ALL)
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
    """Questions by name; each may use the definitions that precede it."""

    least: int
    texts: dict[str, str] = field(default_factory=dict)
    _defined: list[str] = field(default_factory=list)

    def define(self, name: str, formula: family_form.Formula) -> None:
        """Define a function of n by a formula in (n, N)."""
        self._defined.append(f"(define-fun {name} ((n Int)) Int {smt_text(formula)})")

    def size(self, name: str, formula: family_form.Formula) -> None:
        """Define a constant by a formula in N alone."""
        self._defined.append(f"(define-fun {name} () Int {smt_text(formula)})")

    def define_smt(self, definitions: str) -> None:
        """Add definitions that are written in SMT-LIB."""
        self._defined.append(definitions.strip())

    def ask(self, name: str, numbers: str, facts: Sequence[str], goal: str) -> None:
        """Add the question whether the goal follows from the facts, for all these numbers, separated by spaces."""
        need(name not in self.texts, f"{name} is asked twice")
        lines = [PREAMBLE.format(least=self.least).strip(), *self._defined]
        lines += [f"(declare-const {number} Int)" for number in numbers.split()]
        lines += [f"(assert {fact})" for fact in facts]
        self.texts[name] = "\n".join([*lines, f"(assert (not {goal}))", "(check-sat)"]) + "\n"


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
"""Regions of rows that the tables distinguish."""


def layout_of(kind: str) -> str:
    """Return the layout that models of a kind have."""
    return kind if kind in REGIONS else "queue"


FRAMES = {
    "queue": ("T", "(- N 1)", None, "(- (* 2 N) 1)"),
    "plt": ("T", "1", None, "(+ N 1)"),
    "pcot": ("T", "(* T W)", "W", "(+ N (* T W))"),
    "cot": ("N", "N", None, "(* 2 N)"),
}
"""Claimed sizes: steps, slots or pads, symbols per step, and rows."""


def ask_frame(
    questions: SolverQuestions,
    kind: str,
    frame: family_form.FamilyFrame,
    programs: dict[str, family_form.FamilyProgram],
) -> None:
    """Ask whether steps, slots and rows are those of the statement."""
    if kind == "pcot":
        questions.define_smt("(define-fun W () Int (div (+ N 1) 2))")
    steps, padding, block, rows = FRAMES[layout_of(kind)]
    sizes = [("steps", frame.steps, steps), ("padding", frame.padding, padding), ("block", frame.block, block)]
    sizes += [(f"rows of the {name}", program.rows, rows) for name, program in programs.items()]
    for i, (name, formula, expected) in enumerate(sizes):
        if expected is not None:
            questions.size(f"size{i}", formula)
            questions.ask(name, "", (), f"(= size{i} {expected})")


def ask_read(questions: SolverQuestions, kind: str, name: str, read: CodeRead, *, causal: bool) -> None:
    """Ask whether the code of row n is n and fits, and the requested row exists and is visible. Define the address."""
    rows = FRAMES[layout_of(kind)][3]
    questions.define(name, read.address)
    questions.define(f"{name}.key", read.key)
    questions.size(f"{name}.capacity", read.capacity)
    numbers, facts = _row(kind)
    facts = [*facts, "(<= 0 n)", f"(< n {rows})"]
    code = f"(and (= ({name}.key n) n) (<= {rows} {name}.capacity))"
    questions.ask(f"{name}: the code of row n is n, and has room", numbers, facts, code)
    visible = f"(and (<= 0 ({name} n)) ({'<=' if causal else '<'} ({name} n) {'n' if causal else rows}))"
    questions.ask(f"{name}: the row that is asked for is there", numbers, facts, visible)


def _row(kind: str) -> tuple[str, list[str]]:
    """Return (numbers, facts) for any row n; in pcot with n - N = t·W + j, 0 <= j < W, and facts on multiples of W."""
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
    """Ask the claims of the layout, for the heads of each program, given by the names of their addresses."""
    {"queue": _queue, "plt": _looped, "pcot": _parallel, "cot": _chain}[layout_of(kind)](questions, reads)


def _queue(questions: SolverQuestions, reads: dict[str, list[str]]) -> None:
    questions.define_smt(QUEUE)
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
    ((left, right, itself, answer),) = reads.values()
    for side, head in enumerate((left, right)):
        entry = f"(+ (* 2 n) {side})"
        goal = f"(= ({head} n) (ite (and (< n N) (< {entry} N)) {entry} N))"
        questions.ask(f"factor {side} of row n is row 2n + {side}, or the pad", "n", ["(<= 0 n)", "(<= n N)"], goal)
    questions.ask("a row reads itself", "n", ["(<= 0 n)", "(<= n N)"], f"(= ({itself} n) n)")
    questions.ask("the last row reads row 0", "", (), f"(= ({answer} N) 0)")
    questions.ask("an entry that does not exist covers nothing", "i D", ["(<= N i)", "(<= 1 D)"], "(<= N (* i D))")


def _parallel(questions: SolverQuestions, reads: dict[str, list[str]]) -> None:
    ((left, right),) = reads.values()
    numbers, facts = _row("pcot")
    questions.ask("multiples of W are in order", "t", (), ORDERED)
    facts = [*facts, "(<= 0 t)", "(< t T)"]
    last = "(and (= t (- T 1)) (= j (- W 1)))"
    for side, head in enumerate((left, right)):
        entry = f"(ite {last} {side} (+ (* 2 j) {side}))"
        letter = f"(ite (< {entry} N) {entry} n)"
        earlier = f"(ite (< {entry} W) (+ N (+ (- (* t W) W) {entry})) n)"
        goal = f"(= ({head} n) (ite (= t 0) {letter} {earlier}))"
        questions.ask(f"factor {side} is an entry of the level before, or the row itself", numbers, facts, goal)
    questions.ask("the last row is the last entry", numbers, facts, f"(= (= n (- (+ N (* T W)) 1)) {last})")
    questions.ask("every row after the word is in a block", numbers, [*facts[:2], "(<= N n)", "(< n (+ N (* T W)))"],
                  "(and (<= 0 t) (< t T))")  # fmt: skip
    beyond = "(and (=> (and (<= N i) (<= 1 D)) (<= N (* i D))) (=> (and (<= W i) (<= 2 D)) (<= N (* i D))))"
    questions.ask("an entry that does not exist covers nothing", "i D", (), beyond)


def _chain(questions: SolverQuestions, reads: dict[str, list[str]]) -> None:
    ((letter,),) = reads.values()
    facts = ["(<= (- N 1) n)", "(< n (- (* 2 N) 1))"]
    questions.ask("the row before symbol t reads letter t", "n", facts, f"(= ({letter} n) (- n (- N 1)))")


def ask_flags(
    questions: SolverQuestions, kind: str, name: str, columns: list, region: str, listed: list[list[int]]
) -> None:
    """Ask whether the flags of every row in this region have one of the listed combinations of values."""
    flags = [f"flag.{name}.{i}" for i, column in enumerate(columns) if column is not None and column[0] == "flag"]
    cases = " ".join(
        f"(and true {' '.join(f'(= ({flag} n) {v})' for flag, v in zip(flags, values, strict=True))})"
        for values in listed
    )
    in_region = REGIONS[layout_of(kind)][region]
    questions.ask(f"{name}: flags of the rows called {region}", "n", [in_region], f"(or false {cases})")


def define_flags(questions: SolverQuestions, name: str, columns: list) -> None:
    for i, column in enumerate(columns):
        if column is not None and column[0] == "flag":
            questions.define(f"flag.{name}.{i}", column[1])


# SMT-LIB → answers, by any available solver: z3 as a Python module, or a command that reads SMT-LIB.


Solver = Callable[[str], str]
"""A question → sat, unsat, or anything else."""

PATIENCE = 60  # seconds for one question
LONGEST_ANSWER = 200  # bytes of an answer that are read


def solver_named(command: str | None = None) -> Solver | None:
    """Return the solver with this command, by default one that is installed; None if there is none."""
    if command is not None:
        return _by_command(command.split())
    if importlib.util.find_spec("z3") is not None:
        return _by_module
    for known_command in (["z3", "-in"], ["cvc5"]):
        if shutil.which(known_command[0]) is not None:
            return _by_command(known_command)
    return None


def _by_module(question: str) -> str:
    """Answer a question with the Python module z3."""
    import z3

    solver = z3.Solver()
    solver.set("timeout", PATIENCE * 1000)
    solver.from_string(question.replace("(check-sat)", ""))
    return str(solver.check())


def _by_command(command: list[str]) -> Solver:
    """Return a solver that runs a command, which reads SMT-LIB."""

    def answer(question: str) -> str:
        with TemporaryFile() as file:
            file.write(question.encode())
            file.seek(0)
            try:
                process = subprocess.Popen(command, stdin=file, stdout=PIPE, stderr=DEVNULL)
            except (OSError, ValueError, IndexError) as error:  # no such command, or none at all
                return f"no answer ({error})"
            return _answer_of(process)

    return answer


def _answer_of(process: subprocess.Popen[bytes]) -> str:
    """Return the answer of a solver, at most its first bytes; end the process then, or when its time is over."""
    assert process.stdout is not None
    clock = Timer(PATIENCE, process.kill)
    clock.start()
    try:
        with process.stdout:
            output = process.stdout.read(LONGEST_ANSWER + 1)
    finally:
        clock.cancel()
        process.kill()
        process.wait()
    answer = output.decode(errors="replace").strip()
    return f"{answer} …" if len(output) > LONGEST_ANSWER else answer or "no answer"
