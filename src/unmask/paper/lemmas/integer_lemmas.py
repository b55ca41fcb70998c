"""Lemmas about integers: a + b, a - b and [a >= b] for any number of bits (lem:mlp-arithmetic-operations).

MLP 1 and MLP 3 are local: each position has its own units and columns, the same as those of a number of one bit. Their
four (eight) cases are computed from the weights. For the carry into position i, MLP 2 has

    one unit per j < i:  NOR(survives_j, equal_(j+1), …, equal_(i-1))
    a closing unit:      NOR(equal_0, …, equal_(i-1)), except for a difference, whose carry in is 1

Each is a NOR of any fan-in, which a separate fold proves. They are summed in the order of j into carry_i and
no_carry_i. Whether unit j fires depends on the positions above it. So the automaton reads positions from the lowest on.
At a position that does not survive it guesses whether its unit fires. If the guess is that it fires, no `equal` may
follow. If the guess is that it does not, an `equal` must follow. State:

    (the two sums, the true carry, has a unit fired, must an `equal` follow, has there been an `equal`)

Proved by closure: for every word of bit pairs the two columns are the rails of the true carry, and so are the bits of
the sum. Read off the code: MLP 2 of every width has exactly these units (checked for 1, 2, 3, 5, 8 bits).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from unmask.numerics.arithmetic import Precision, add, multiply, relu
from unmask.paper.lemmas.gadget_programs import Emit
from unmask.paper.lemmas.lemma import LemmaOutcome, NotRepeated, Read, Replayed, Unit, offsets_of, units_of, writers
from unmask.paper.lemmas.mlp_lemmas import SIZES, column, final_residual_row
from unmask.programs.program import Program
from unmask.verification.lengths.obligations import reachable_closure

NAME = "sum"
Carry = Callable[[int, int, int], int]
"""(a_i, b_i, carry into i) → carry out of i."""


@dataclass(frozen=True)
class Operation:
    """The specification: the carry into position 0, its recurrence, and bit i of the result if there is one."""

    carry_in: int
    carry: Carry
    bit: Callable[[int, int, int], int] | None


ADDITION = Operation(0, lambda a, b, c: int(a + b + c >= 2), lambda a, b, c: (a + b + c) % 2)
SUBTRACTION = Operation(1, lambda a, b, c: int(a + c > b), lambda a, b, c: (a - b - (1 - c)) % 2)
COMPARISON = Operation(1, SUBTRACTION.carry, None)
"""The carry of a difference is [a >= b] for the bits so far: a_i > b_i, or a_i = b_i and it was 1 before."""


def decide(emit: Emit, operation: Operation, precision: Precision) -> LemmaOutcome:
    """Decide whether the gadget computes the operation for numbers of any number of bits."""
    local = _LocalMlps(emit, operation, precision)
    has_closing_unit = _has_closing_unit(emit, precision)
    gate = _nor_outcome(emit, precision)
    if gate.counterexample is not None:
        return gate
    rails = [(writers_of[0][1], bias) for writers_of, bias in _carry_rails(emit(1), precision)[1]]
    closure = reachable_closure(*_automaton(local, operation, has_closing_unit, rails, precision))
    states = gate.states + closure.states
    if closure.witness is None:
        return LemmaOutcome(states, states)
    bits = [(a, b) for a, b, _ in closure.witness.letters]
    text = f"{_numbers_text(bits)}: {closure.witness.flaw}"
    return LemmaOutcome(states, states, text, _replay(emit, operation, bits, precision))


def _automaton(
    local: "_LocalMlps",
    operation: Operation,
    has_closing_unit: bool,
    rails: list[tuple[int, int]],
    precision: Precision,
):
    """Return (starts, moves, flaw) of the fold over positions; `rails` has (weight, bias) of the two carry columns."""
    one = precision.one
    fired_terms = [int(multiply(one, weight, precision)) for weight, _ in rails]

    def fire(sums: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(add(s, t, precision)) for s, t in zip(sums, fired_terms, strict=True))

    def moves(state) -> Iterable:
        sums, carry, fired, must_follow, had_equal = state
        for a, b in product((0, 1), repeat=2):
            survives, equal = local.flags[a, b]
            if fired and equal:
                continue  # contradicts the guess that a unit below fires
            carry_out = operation.carry(a, b, carry)
            still_must_follow = must_follow and not equal
            if survives:
                yield (a, b, ""), (sums, carry_out, fired, still_must_follow, had_equal or equal)
            else:
                yield (a, b, "fires"), (fire(sums), carry_out, True, still_must_follow, had_equal or equal)
                yield (a, b, "does not"), (sums, carry_out, fired, True, had_equal or equal)

    def flaw(state) -> str | None:
        sums, carry, _, must_follow, had_equal = state
        if must_follow:
            return None
        total = fire(sums) if has_closing_unit and not had_equal else sums
        columns = tuple(int(column(s, bias, precision)) for s, (_, bias) in zip(total, rails, strict=True))
        if columns != (one * carry, one * (1 - carry)):
            return f"the carry is {carry}, its columns hold {', '.join(str(precision.meaning(c)) for c in columns)}"
        wrong = [(a, b) for a, b in local.flags if local.is_digit_correct(a, b, carry) is False]
        return f"bits {wrong[0]} above it give a wrong digit" if wrong else None

    return [((0, 0), operation.carry_in, False, False, False)], moves, flaw


class _LocalMlps:
    """MLP 1 and MLP 3; at every position of every width they are the same as for a number of one bit."""

    def __init__(self, emit: Emit, operation: Operation, precision: Precision) -> None:
        self.operation, self.precision = operation, precision
        one_bit = emit(1)
        layers = (0, 2) if operation.bit else (0,)
        self.templates = {layer: _positions(one_bit, layer, precision)[0] for layer in layers}
        for width, layer in product(SIZES, layers):
            if _positions(emit(width), layer, precision) != [self.templates[layer]] * width:
                raise NotRepeated(f"MLP {layer + 1} of {width} bits is not that of one bit at every position")
        self.first = {
            (a, b): _evaluate(self.templates[0], _rail("a", a, precision) | _rail("b", b, precision), precision)
            for a, b in product((0, 1), repeat=2)
        }
        names = (f"{NAME}.survives", f"{NAME}.equal")
        self.flags = {
            pair: tuple(_as_flag(columns[name], precision) for name in names) for pair, columns in self.first.items()
        }

    def is_digit_correct(self, a: int, b: int, carry: int) -> bool | None:
        """Return whether the rails of the digit are correct if the carry is; None if there are no digits."""
        if self.operation.bit is None:
            return None
        one = self.precision.one
        contents = {**self.first[a, b], f"{NAME}.carry": one * carry, f"{NAME}.no_carry": one * (1 - carry)}
        columns = _evaluate(self.templates[2], contents, self.precision)
        digit = self.operation.bit(a, b, carry)
        return (columns[f"{NAME}.bit:1"], columns[f"{NAME}.bit:0"]) == (one * digit, one * (1 - digit))


Template = tuple[tuple[tuple[tuple[str, int], ...], int, tuple[tuple[str, int], ...]], ...]
"""The units of one position as (reads, bias, writes); names of registers do not contain the position."""


def _positions(
    program: Program, layer: int, precision: Precision
) -> list[tuple[Template, tuple[tuple[str, int], ...]]]:
    """Return the units of a local MLP and its columns with their biases, position by position from the lowest.

    Raise if a unit reads or writes more than one position.
    """
    width = len(program.registers[f"{NAME}.xor"])
    units: list[list] = [[] for _ in range(width)]
    biases: list[dict[str, int]] = [{} for _ in range(width)]
    for unit in units_of(program, precision, layer):
        reads, writes = ([_local_name(edge) for edge in edges] for edges in (unit.reads, unit.writes))
        positions = {position for _, position, _ in (*reads, *writes)}
        if len(positions) != 1:
            raise NotRepeated(f"a unit of MLP {layer + 1} belongs to the positions {sorted(positions)}")
        (position,) = positions
        units[position].append((_without_position(reads), unit.bias, _without_position(writes)))
    for (name, i), bias in offsets_of(program, precision, layer).items():
        local, position, _ = _local_name((name, i, 0))
        if bias or any(local == w for unit in units[min(position, width - 1)] for w, _ in unit[2]):
            biases[position][local] = bias
    return [(tuple(sorted(u)), tuple(sorted(b.items()))) for u, b in zip(units, biases, strict=True)]


def _local_name(read: Read) -> tuple[str, int, int]:
    """Return (register without the position, position, weight): `a.bit3`, 1 is the rail `a.bit:1` of position 3."""
    name, index, weight = read
    digit = re.fullmatch(r"(.*\.bit)(\d+)", name)
    return (f"{digit[1]}:{index}", int(digit[2]), weight) if digit else (name, index, weight)


def _without_position(reads: list[tuple[str, int, int]]) -> tuple[tuple[str, int], ...]:
    return tuple((name, weight) for name, _, weight in reads)


def _evaluate(template, contents: dict[str, int], precision: Precision) -> dict[str, int]:
    """Return the columns that a local MLP writes at one position, for these contents of the position."""
    units, columns = template
    sums = dict.fromkeys((name for name, _ in columns), 0)
    for reads, bias, writes in units:
        so_far = 0
        for name, weight in reads:
            so_far = int(add(so_far, multiply(contents[name], weight, precision), precision))
        value = int(relu(add(so_far, bias, precision)))
        for name, weight in writes:
            sums[name] = int(add(sums[name], multiply(value, weight, precision), precision))
    return {name: int(column(sums[name], bias, precision)) for name, bias in columns}


def _rail(name: str, digit: int, precision: Precision) -> dict[str, int]:
    return {f"{name}.bit:1": precision.one * digit, f"{name}.bit:0": precision.one * (1 - digit)}


def _as_flag(value: int, precision: Precision) -> bool:
    if value not in (0, precision.one):
        raise NotRepeated(f"a flag of MLP 1 is {precision.meaning(value)}")
    return value == precision.one


def _carry_rails(program: Program, precision: Precision) -> list[list[tuple[list[tuple[Unit, int]], int]]]:
    """Return (units with weights, bias) of carry_i and of no_carry_i, for every i."""
    units, offsets = units_of(program, precision, 1), offsets_of(program, precision, 1)
    names = (f"{NAME}.carry", f"{NAME}.no_carry")
    return [
        [(writers(units, name, i), offsets[name, i]) for name in names] for i in range(len(program.registers[names[0]]))
    ]


def _has_closing_unit(emit: Emit, precision: Precision) -> bool:
    """Return whether every carry has a closing unit; raise if MLP 2 is not as described above."""
    into_first, into_second = _carry_rails(emit(1), precision)
    closing = len(into_first[0][0]) == 1
    weights = [(units[0][1], bias) for units, bias in into_second]
    for width in SIZES:
        for i, carry in enumerate(_carry_rails(emit(width), precision)):
            expected = [[("survives", j), *(("equal", k) for k in range(j + 1, i))] for j in range(i)]
            expected += [[("equal", k) for k in range(i)]] if closing else []
            for (units, bias), (weight, bias_of_one) in zip(carry, weights, strict=True):
                reads = [[(name.removeprefix(f"{NAME}."), k) for name, k, _ in unit.reads] for unit, _ in units]
                if reads != expected or any(w != weight for _, w in units) or bias != bias_of_one:
                    raise NotRepeated(f"the carry into position {i} of {width} bits has other units")
    return closing


def _nor_outcome(emit: Emit, precision: Precision) -> LemmaOutcome:
    """Decide that the units of MLP 2 are NORs of any fan-in; raise unless they have the same weights and biases."""
    shapes = {
        (unit.bias, weight)
        for width in SIZES
        for unit in units_of(emit(width), precision, 1)
        for weight in {w for _, _, w in unit.reads} or {None}
    }
    biases, weights = {bias for bias, _ in shapes}, {weight for _, weight in shapes} - {None}
    if len(biases) != 1 or len(weights) != 1:
        raise NotRepeated(f"the units of MLP 2 have biases {sorted(biases)} and more than one weight")
    (bias,), (weight,) = biases, weights
    assert weight is not None
    terms = {flag: int(multiply(precision.one * flag, weight, precision)) for flag in (0, 1)}

    def flaw(state: tuple[int, bool]) -> str | None:
        value = int(relu(add(state[0], bias, precision)))
        return None if value == precision.one * (not state[1]) else f"a unit has the value {precision.meaning(value)}"

    closure = reachable_closure(
        [(0, False)],
        lambda state: [(f, (int(add(state[0], t, precision)), state[1] or bool(f))) for f, t in terms.items()],
        flaw,
    )
    text = None if closure.witness is None else f"flags {closure.witness.letters}: {closure.witness.flaw}"
    return LemmaOutcome(closure.states, closure.states, text)


def _numbers_text(bits: list[tuple[int, int]]) -> str:
    a, b = (sum(pair[operand] << i for i, pair in enumerate(bits)) for operand in (0, 1))
    return f"a = {a}, b = {b}, {len(bits)} bits"


def _replay(emit: Emit, operation: Operation, bits: list[tuple[int, int]], precision: Precision) -> Replayed:
    """Run the engine on the counterexample, and with one more bit, since a wrong digit may be one position higher."""
    for pairs in (bits, *([*bits, (a, b)] for a in (0, 1) for b in (0, 1))):
        if not pairs:
            continue
        program = emit(len(pairs))
        rails = {}
        for i, pair in enumerate(pairs):
            for name, digit in zip("ab", pair, strict=True):
                rails[f"{name}.bit{i}"] = [precision.one * (1 - digit), precision.one * digit]
        residual = final_residual_row(program, rails, precision)
        carry, digits = operation.carry_in, []
        for a, b in pairs:
            digits.append(None if operation.bit is None else operation.bit(a, b, carry))
            carry = operation.carry(a, b, carry)
        actual = [residual[program.columns(f"{NAME}.{rail}")[-1]] for rail in ("carry", "no_carry")]
        expected = [precision.one * carry, precision.one * (1 - carry)]
        for i, digit in enumerate(digits):
            if digit is not None:
                actual += residual[program.columns(f"{NAME}.bit{i}")].tolist()
                expected += [precision.one * (1 - digit), precision.one * digit]
        if [int(value) for value in actual] != expected:
            return Replayed(f"the engine's result for {_numbers_text(pairs)} is wrong", True)
    return Replayed("the engine's result is right", False)
