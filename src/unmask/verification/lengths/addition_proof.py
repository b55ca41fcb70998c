"""Addition by masked diffusion (mdm, smdm), for every even N.

Let h = N/2. The rows are 2h letters, two rows N + 2k and N + 2k + 1 for every k < h, and the slots 2N + i, i <= h. In
the only step every slot is taken (table of the planner). Its first two heads read x_i and y_i (codes). Its third head
reads letter 0, which adds 0, and the rows of all k < i, in this order, each with weight 1 (closure over bits and rows).
The two rows of k add the same number, which depends on their bits. After any number of rows the sum is B, -B or 0,
according to the last k whose bits are equal (closure). The slot becomes x_i ⊕ y_i ⊕ [B], and the last slot [B] (table
of the predictor).

This is the sum: let c_i = [the bits of the last k < i with equal bits are 1]. By closure, c_0 = 0 and
x_i + y_i + c_i = sum_i + 2·c_{i+1} for all bits. So by induction
Σ_{k<i} (x_k + y_k)·2^k = Σ_{k<i} sum_k·2^k + c_i·2^i, and sum_h = c_h.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from unmask.compilers.circuit_compiler import AdditionFamily
from unmask.numerics.arithmetic import Precision, add, multiply
from unmask.programs.program import Program
from unmask.verification.lengths.head_reads import RowsBelow, reads_of, require_copies, rows_below_of, weights_among_any
from unmask.verification.lengths.obligations import AnyRow, Arithmetic, ObligationFailed, Term, reachable_closure
from unmask.verification.lengths.row_tables import NEVER, RowVectors
from unmask.verification.transformer_layer import SomeColumns

LATEST_LAYER = 1
BITS = (0, 1)


def equal_bits(x: int, y: int) -> int:
    """Return the effect of a pair of bits on the carry: 1 generates it, -1 kills it, 0 passes it on."""
    return (1 if x else -1) if x == y else 0


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Any row of each kind: a letter, a row of k, slot i, the last slot."""

    letter: AnyRow
    carry: AnyRow
    k: Term
    bit: AnyRow
    i: Term
    last: AnyRow

    @classmethod
    def of(cls, arithmetic: Arithmetic) -> "RowKinds":
        N, half = arithmetic.N, arithmetic.N / 2
        n, k, i, side = (arithmetic.variable(name) for name in ("letter", "k", "i", "side"))
        return cls(
            AnyRow(n, (n >= 0, n < N)),
            AnyRow(N + 2 * k + side, (k >= 0, k < half, side >= 0, side <= 1)),
            k,
            AnyRow(2 * N + i, (i >= 0, i < half)),
            i,
            AnyRow(2 * N + half),
        )

    @property
    def all(self) -> dict[str, AnyRow]:
        return {"a letter": self.letter, "a row of k": self.carry, "slot i": self.bit, "the last slot": self.last}


def prove_addition(family: AdditionFamily, precision: Precision, arithmetic: Arithmetic) -> None:
    """Settle all obligations of addition."""
    arithmetic.facts.append(arithmetic.N % 2 == 0)  # a word has an even number of bits
    _require_frame(family, arithmetic)
    require_copies(precision, arithmetic)
    kinds = RowKinds.of(arithmetic)
    _AdditionPlanner(family, precision, arithmetic, kinds).require()
    _AdditionPredictor(family, precision, arithmetic, kinds).require()
    settle = arithmetic.ledger.settle
    settle("addition: the last pair of equal bits is the carry", "closure", _check_carry)


def _require_frame(family: AdditionFamily, arithmetic: Arithmetic) -> None:
    """Settle the numbers of steps, slots and rows."""
    design, N, row = family.design, arithmetic.N, arithmetic.row()
    if design.block is not None or set(design.programs) != {"planner", "predictor"}:
        raise ObligationFailed("the family is not masked diffusion")
    arithmetic.require("frame: steps", arithmetic.at(design.steps, row) == 1)
    slots = N + N / 2 + 1
    arithmetic.require("frame: slots", arithmetic.at(design.padding, row) == slots)
    for name, program in design.programs.items():
        if (
            program.rows_in_length is None
            or program.attention != "unmasked"
            or program.loop is not None
            or program.noise
        ):
            raise ObligationFailed(f"the {name} is not an unmasked transformer of every N without loop and noise")
        arithmetic.require(f"frame: rows of the {name}", arithmetic.at(program.rows_in_length, row) == N + slots)
    n = row.n
    cases = [n < N, arithmetic.z3.And(n >= N, n < 2 * N), arithmetic.z3.And(n >= 2 * N, n < 2 * N + N / 2)]
    some_case = arithmetic.z3.Or(*cases, n == 2 * N + N / 2)
    arithmetic.require("frame: there are no other rows", some_case, [n >= 0, n < N + slots])


class _AdditionTransformer:
    """One transformer, and the vectors of its rows."""

    name = ""

    def __init__(self, family: AdditionFamily, precision: Precision, arithmetic: Arithmetic, kinds: RowKinds) -> None:
        self.family, self.precision, self.arithmetic, self.kinds = family, precision, arithmetic, kinds
        self.program: Program = family.design.programs[self.name]
        self.rows = RowVectors(self.program, precision, family.least)
        self.vocabulary = family.design.vocabulary
        self.mask = self.vocabulary["mask"]

    def start(self, row: AnyRow, token: int) -> Iterator[np.ndarray]:
        """Return H⁰ of a row with this symbol, [columns, 1], for all flags that it can have."""
        rows = self.rows.start(np.array([token]), self.rows.flags(self.arithmetic, row, ()))
        if not rows.shape[1]:
            raise ObligationFailed("a kind of rows does not occur")
        return (rows[:, k : k + 1] for k in range(rows.shape[1]))

    def settle(self, name: str, method: str, prove: Callable[[], str]) -> None:
        self.arithmetic.ledger.settle(name, method, prove)


class _AdditionPlanner(_AdditionTransformer):
    name = "planner"

    def require(self) -> None:
        self.rows.check_heads([0])
        self.settle(
            "rows: the planner takes every masked slot of the sum, and nothing else", "enumeration", self._check_taken
        )

    def _check_taken(self) -> str:
        """Check that the planner chooses exactly the masked slots."""
        cases = 0
        letters, other_tokens = range(self.vocabulary.letters), [self.mask, *self.vocabulary.verdicts.tolist()]
        for name, row in self.kinds.all.items():
            for token in letters if name == "a letter" else other_tokens:
                for start in self.start(row, token):
                    logits, _ = self.rows.last_layers(self.rows.layer(0, start, ()), 1)
                    is_taken = int(logits.argmax(axis=0)[0]) == 1
                    if is_taken != (token == self.mask and "slot" in name):
                        raise ObligationFailed(f"the planner makes the wrong choice for {name}")
                    cases += 1
        return f"{cases} cases"


class _AdditionPredictor(_AdditionTransformer):
    name = "predictor"

    def require(self) -> None:
        arithmetic = self.arithmetic
        self.rows.check_heads([2, 1])
        reads = reads_of(self.program, 0, self.precision, arithmetic, self.name)
        half = arithmetic.N / 2
        for name, row, bit_index in (
            ("a row of k", self.kinds.carry, self.kinds.k),
            ("slot i", self.kinds.bit, self.kinds.i),
        ):
            equal = [arithmetic.at(r.address, row) == bit_index + half * h for h, r in enumerate(reads)]
            arithmetic.require(f"layout: {name} looks at its two bits", arithmetic.z3.And(*equal), row.facts)
        letter = self.kinds.letter
        itself = [arithmetic.at(read.address, letter) == letter.n for read in reads]
        arithmetic.require("layout: a letter looks at itself", arithmetic.z3.And(*itself), letter.facts)
        addresses = [arithmetic.at(read.address, self.kinds.last) for read in reads]
        letters = [arithmetic.z3.And(address >= 0, address < arithmetic.N) for address in addresses]
        arithmetic.require("layout: the last slot looks at letters", arithmetic.z3.And(*letters))
        below = rows_below_of(self.program, LATEST_LAYER, self.precision, arithmetic, self.name)
        self._require_visible_rows(below)
        self.settle(
            "rows: any number of rows add what the last pair of equal bits determines",
            "closure",
            lambda: self._check_carries(below),
        )
        self.settle("rows: a slot becomes the sum of its bits and its carry", "enumeration", self._check_sums)

    def _require_visible_rows(self, below: RowsBelow) -> None:
        """Settle that the third head of a slot reads letter 0 and the rows of the lower bits."""
        arithmetic, kinds = self.arithmetic, self.kinds
        z3, half = arithmetic.z3, arithmetic.N / 2
        orders = {"a row of k": kinds.k + 1, "slot i": kinds.i, "the last slot": half}
        for name, row in kinds.all.items():
            number, hidden = arithmetic.at(below.number, row), arithmetic.at(below.hidden, row)
            capacity = arithmetic.at(below.capacity, row)
            fits = z3.And(number >= 0, number < capacity)
            arithmetic.require(f"{below.name}: the number of {name} has room", fits, row.facts)
            if name in orders:
                arithmetic.require(f"{below.name}: the number of {name}", number == orders[name], row.facts)
            is_visible = name == "a row of k"
            goal = (hidden == 0) == z3.BoolVal(is_visible)
            if name == "a letter":
                goal = z3.And((hidden == 0) == (row.n == 0), z3.Implies(row.n == 0, number == 0))
            arithmetic.require(f"{below.name}: whether {name} is seen", goal, row.facts)

    def _letter_outputs(self, tokens: tuple[int, int]) -> list[SomeColumns]:
        """Return the outputs of the two heads of the first layer, which read letters."""
        flags = self.rows.flags(self.arithmetic, self.kinds.letter, ())
        outputs = []
        for head, token in enumerate(tokens):
            output = self.rows.head_output(0, head, self.rows.start(np.array([token]), flags))
            if (output.values != output.values[:, :1]).any():
                raise ObligationFailed("the output of a head does not depend on the letter alone")
            outputs.append(output[slice(0, 1)])
        return outputs

    def _head_numbers(self, row: AnyRow, symbol: int, tokens: tuple[int, int]) -> set[int]:
        """Return the numbers that rows of a kind add through the third head."""
        numbers: set[int] = set()
        for start in self.start(row, symbol):
            output = self.rows.head_output(LATEST_LAYER, 0, self.rows.layer(0, start, self._letter_outputs(tokens)))
            if output.columns.size != 1:
                raise ObligationFailed("the third head writes other than one column")
            numbers.add(int(output.values[0, 0]))
        return numbers

    def _check_carries(self, below: RowsBelow) -> str:
        """Check the sum over letter 0 and any number of pairs of rows against the last pair of equal bits."""
        precision = self.precision
        weight = equal_weight(below.weight, precision)
        first = AnyRow(self.arithmetic.z3.IntVal(0))
        if any(self._head_numbers(first, t, (t, t)) != {0} for t in range(self.vocabulary.letters)):
            raise ObligationFailed("letter 0 adds something to a carry")
        values: dict[tuple[int, int], int] = {}
        for x, y in product(BITS, repeat=2):
            numbers = self._head_numbers(self.kinds.carry, self.mask, (x, y))
            if len(numbers) != 1:
                raise ObligationFailed("the two rows of a pair of bits differ")
            values[x, y] = numbers.pop()
        closure = reachable_closure(
            [(0, 0)], lambda state: _moves(state, values, weight, precision), lambda s: self._is_flawed(s)
        )
        if closure.witness is not None:
            pairs = closure.witness.letters
            raise ObligationFailed(
                f"after the bits {pairs} the sum is {precision.meaning(closure.witness.state[0])}",
                (2 * len(pairs) + 2,),
            )
        return f"{closure.states} states"

    def _is_flawed(self, state: tuple[int, int]) -> bool | None:
        return True if state[0] != state[1] * self.precision.bound else None

    def _check_sums(self) -> str:
        """Check the symbol of a slot for all bits and all outputs of the third head."""
        verdicts, cases = self.vocabulary.verdicts, 0
        columns = self.rows.head_output(
            LATEST_LAYER, 0, np.zeros((self.rows.width, 1), dtype=self.rows.compact.narrow)
        ).columns
        for name, row in (("slot i", self.kinds.bit), ("the last slot", self.kinds.last)):
            for (x, y), state in product(product(BITS, repeat=2), (-1, 0, 1)):
                expected = (x ^ y if name == "slot i" else 0) ^ int(state == 1)
                latest = np.full((1, 1), state * self.precision.bound, dtype=self.rows.compact.narrow)
                for start in self.start(row, self.mask):
                    first = self.rows.layer(0, start, self._letter_outputs((x, y)))
                    after = self.rows.layer(LATEST_LAYER, first, [SomeColumns(columns, latest)])
                    logits, _ = self.rows.last_layers(after, LATEST_LAYER + 1)
                    logits = logits.astype(np.int64)
                    logits[self.mask] = NEVER
                    if int(logits.argmax(axis=0)[0]) != int(verdicts[expected]):
                        raise ObligationFailed(f"{name} takes another bit than that of the sum")
                    cases += 1
        return f"{cases} cases"


def equal_weight(weight: int, precision: Precision) -> int:
    """Return the weight of a visible row, which must be the same among any number of rows."""
    weights = weights_among_any(weight, precision)
    if len(weights) != 1:
        raise ObligationFailed("the weight of a row depends on the number of rows")
    return weights.pop()


def _moves(
    state: tuple[int, int], values: dict[tuple[int, int], int], weight: int, precision: Precision
) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the states after one more pair of bits, in its two rows."""
    for bits, value in values.items():
        term = int(multiply(weight, value, precision))
        total = int(add(int(add(state[0], term, precision)), term, precision))
        yield bits, (total, equal_bits(*bits) or state[1])


def _check_carry() -> str:
    """Check the pairs (carry, effect of the last pair of equal bits), closed under one more pair of bits."""

    def moves(state: tuple[int, int]) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
        for x, y in product(BITS, repeat=2):
            yield (x, y), ((x + y + state[0]) // 2, equal_bits(x, y) or state[1])

    def flaw(state: tuple[int, int]) -> bool | None:
        digits = all(
            (x ^ y ^ state[0]) + 2 * ((x + y + state[0]) // 2) == x + y + state[0] for x, y in product(BITS, repeat=2)
        )
        return None if digits and state[0] == (state[1] == 1) else True

    closure = reachable_closure([(0, 0)], moves, flaw)
    if closure.witness is not None:
        raise ObligationFailed("the last pair of equal bits is not the carry")
    return f"{closure.states} states"
