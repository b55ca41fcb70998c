"""What is asked of a solver, in SMT-LIB: it holds for every N if every answer is `unsat`.

known of N      least <= N,    K <= N < 2K with K a power of two,    T = ⌈log2 N⌉
asked           not (given → goal), for numbers of which only what is given is known
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from unmask.checker.certificate import need
from unmask.checker.families import form
from unmask.checker.families.formulas import text

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
class Questions:
    """Questions by name; each stands on the definitions that came before it."""

    least: int
    asked: dict[str, str] = field(default_factory=dict)
    _defined: list[str] = field(default_factory=list)

    def define(self, name: str, formula: form.Formula) -> None:
        """A formula in (n, N)."""
        self._defined.append(f"(define-fun {name} ((n Int)) Int {text(formula)})")

    def size(self, name: str, formula: form.Formula) -> None:
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
