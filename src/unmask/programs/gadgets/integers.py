"""Integers in binary: a + b, a - b, 2^s·a, [a >= b], [a = 0] and [a]_+, by MLPs (lem:mlp-arithmetic-operations).

Construction: a bit is two columns, one for each of its values (dual rail), so that every gate is a NOR:
                  MLP 1   generate = NOR(ā, b̄), kill = NOR(a, b), xor = NOR(generate, kill)
                  MLP 2   carry_i  = NOR over j < i of NOR(¬kill_j, ¬xor_(j+1 … i-1)), and of NOR(¬xor_(0 … i-1))
                                     if no carry comes in: no position j < i stops every carry into i
                  MLP 3   sum_i    = NOR(NOR(xor_i, carry_i), NOR(¬xor_i, ¬carry_i))
              A complement needs no unit: the units under an outer NOR exclude each other, so their plain sum is the
              complement of this NOR. a - b = a + b̄ + 1, and its carry out is [a >= b].
Bounds:       k bits: hidden units 2k, (k + 1)(k + 2)/2, 2k; 7k + 2 columns, the sum included. Least p: 1.
              So the hidden width is O(log² N), the residual width O(log N).
Exactness:    exact for every fan-in, because each gate only subtracts from one 1.
Deviations:   (a) no MLP can output the -1 of a signed code: `signed` forms it in W_Q, as bit minus complement.
              (b) and (c) hold as printed; gates are NORs here, because an AND that adds up clips from fan-in 2^p on.
              (d) sbin has no sign bit; [a - b >= 0] is the carry out of the difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.expressions import Expression
from unmask.programs.declarations import OneHot
from unmask.programs.gadgets.mlp import conjunction, nor, write_nor
from unmask.programs.program import B, Coefficient, Columns, Form, MlpBuilder, Program


@dataclass(frozen=True, eq=False)
class Rails:
    """A number in binary, highest bit first: ones[i] = [bit i is 1], zeros[i] = [bit i is 0]."""

    ones: Columns
    zeros: Columns

    def __len__(self) -> int:
        return self.ones.size

    @property
    def complement(self) -> "Rails":
        """2^k - 1 - a: the same columns with their roles exchanged."""
        return Rails(self.zeros, self.ones)


@dataclass(frozen=True, eq=False)
class Sum:
    """The k low bits of a sum, and its carry out, one bit; for a difference a - b the carry is [a >= b]."""

    bits: Rails
    carry: Rails


def rails(program: Program, name: str, bits: int, expression: Expression | None = None) -> Rails:
    """Return a new number: all columns are 0 until they are written, or bit i is (expression div 2^i) mod 2."""
    columns = []
    for i in reversed(range(bits)):
        bit = None if expression is None else OneHot(expression // (1 << i) % 2)
        columns.append(program.register(f"{name}.bit{i}", ("0", "1"), bit))
    return Rails(np.array([c[1] for c in columns]), np.array([c[0] for c in columns]))


def signed(number: Rails, scale: Coefficient = B) -> list[Form]:
    """Return the signed bits of a number, times a coefficient, for the query side of `match`."""
    return [[(one, scale), (zero, -scale)] for one, zero in zip(number.ones, number.zeros, strict=True)]


def add(program: Program, mlps: Sequence[MlpBuilder], name: str, a: Rails, b: Rails) -> Sum:
    """Return a + b, in three MLPs."""
    return _sum(program, mlps, name, a, b, carry_in=False)


def subtract(program: Program, mlps: Sequence[MlpBuilder], name: str, a: Rails, b: Rails) -> Sum:
    """Return a - b mod 2^k and [a >= b], in three MLPs."""
    return _sum(program, mlps, name, a, b.complement, carry_in=True)


def at_least(program: Program, mlps: Sequence[MlpBuilder], name: str, a: Rails, b: Rails) -> Rails:
    """Return [a >= b], in two MLPs."""
    _, carry = _carries(program, mlps, name, a, b.complement, carry_in=True)
    return _bit(carry, -1)


def shift(mlp: MlpBuilder, a: Rails, exponent: int, target: Rails) -> None:
    """Write target = 2^exponent · a, with leading zeros where the target has more bits."""
    leading = len(target) - len(a) - exponent
    assert leading >= 0, f"2^{exponent} times {len(a)} bits does not fit {len(target)} bits"
    units = conjunction(mlp, a.ones, [[]] * len(a))
    mlp.write(units, target.ones[leading : leading + len(a)])
    write_nor(mlp, [*[[]] * leading, *units[:, None], *[[]] * exponent], target.zeros)


def is_zero(mlp: MlpBuilder, a: Rails, target: Rails) -> None:
    """Write target = [a = 0], one bit."""
    unit = nor(mlp, [a.ones])
    mlp.write(unit, target.ones)
    write_nor(mlp, [unit], target.zeros)


def positive_part(mlp: MlpBuilder, difference: Sum, target: Rails) -> None:
    """Write target = [a - b]_+ from a difference."""
    units = conjunction(mlp, difference.bits.ones, [difference.carry.zeros] * len(target))
    mlp.write(units, target.ones)
    write_nor(mlp, units[:, None], target.zeros)


def _sum(program: Program, mlps: Sequence[MlpBuilder], name: str, a: Rails, b: Rails, *, carry_in: bool) -> Sum:
    first, second, third = mlps
    xor, carry = _carries(program, (first, second), name, a, b, carry_in=carry_in)
    bits = rails(program, name, len(a))
    neither = nor(third, np.stack([xor.ones, carry.ones[:-1]], axis=1))
    both = nor(third, np.stack([xor.zeros, carry.zeros[:-1]], axis=1))
    write_nor(third, np.stack([neither, both], axis=1), bits.ones[::-1])
    third.write(neither, bits.zeros[::-1])
    third.write(both, bits.zeros[::-1])
    return Sum(bits, _bit(carry, -1))


def _carries(
    program: Program, mlps: Sequence[MlpBuilder], name: str, a: Rails, b: Rails, *, carry_in: bool
) -> tuple[Rails, Rails]:
    """Return the xor of every position, and the carry into every position and out of the last, lowest first."""
    first, second = mlps
    k = len(a)
    assert len(b) == k, f"{name} is made of {k} and of {len(b)} bits"
    survives = program.register(f"{name}.survives", k)
    xor = Rails(program.register(f"{name}.xor", k), program.register(f"{name}.equal", k))
    carry = Rails(program.register(f"{name}.carry", k + 1), program.register(f"{name}.no_carry", k + 1))

    generate = nor(first, np.stack([a.zeros, b.zeros], axis=1)[::-1])
    kill = nor(first, np.stack([a.ones, b.ones], axis=1)[::-1])
    write_nor(first, kill[:, None], survives)
    write_nor(first, np.stack([generate, kill], axis=1), xor.ones)
    first.write(generate, xor.zeros)
    first.write(kill, xor.zeros)

    for i in range(k + 1):
        stops = [[survives[j], *xor.zeros[j + 1 : i]] for j in range(i)]
        units = nor(second, stops if carry_in else [*stops, xor.zeros[:i]])
        write_nor(second, [units], carry.ones[i : i + 1])
        second.write(units, carry.zeros[i : i + 1])
    return xor, carry


def _bit(number: Rails, i: int) -> Rails:
    return Rails(number.ones[[i]], number.zeros[[i]])
