"""Addition by masked diffusion, in one step, for every even N.

Statement:    all h + 1 bits of the sum of two numbers of h = N/2 bits are computed by a masked diffusion model with
              1 step and 3h + 1 slots.
Construction: the carry into bit i is that of the last k < i whose two bits are equal: 1 generates it, 0 kills it, bits
              that differ pass it on. Two rows for every k look up x_k and y_k; slot i sees those of k < i, and
              determines which of the two came last (LATEST).  sum_i = x_i ⊕ y_i ⊕ carry_i,  sum_h = carry_h.
              rows   N letters, the low bit of each number first; N rows, k = ⌊r/2⌋; h + 1 slots
Bounds:       T = 1, P = 3h + 1; predictor 3 layers, planner 1; width O(log N).
Exactness:    for every even N >= 2 and p >= 1.
Deviations:   the circuit, by which other kinds add, has an AND for every pair of bits: depth 5, cubic in h.
"""

from itertools import product

import numpy as np

from unmask.expressions import Expression, N, both, choose, n
from unmask.programs.gadgets.attention import at_most, hide, latest, lookup
from unmask.programs.planner_programs import planner_logits
from unmask.programs.program import ONE, B, Columns, MlpBuilder, Program, Vocabulary, program_in_length

HALF_LENGTH = N // 2
SLOTS = N + HALF_LENGTH + 1
ROWS = 2 * N + HALF_LENGTH + 1
IS_LETTER, IS_CARRY, IS_SUM = n < N, both(n >= N, n < 2 * N), both(n >= 2 * N, n < 2 * N + HALF_LENGTH)
"""The letters, the rows that search for a carry, and the slots of the sum except the last, which is the carry out."""
IS_SLOT, IS_LAST = n >= 2 * N, n.equals(2 * N + HALF_LENGTH)


def addition_planner(vocabulary: Vocabulary) -> Program:
    """The planner: it chooses every masked slot."""
    program = program_in_length(vocabulary.symbols, 2, ROWS)
    masked, take = program.register("masked"), program.register("take")
    program.embed(vocabulary["mask"], masked)
    mlp = program.layer().mlp
    unit = mlp.units(1)
    mlp.read(unit, masked)
    mlp.read(unit, program.flag("no slot", ~IS_SLOT), -ONE)
    mlp.write(unit, take)
    planner_logits(program, take)
    return program


def addition_predictor(vocabulary: Vocabulary) -> Program:
    """The predictor: it computes the bits of the sum."""
    program = program_in_length(vocabulary.symbols, len(vocabulary.symbols), ROWS)
    row_code = program.code("here", n, capacity=ROWS)
    bit_index = choose(IS_CARRY, (n - N) // 2, choose(IS_SUM, n - 2 * N, 0))
    addresses = [choose(IS_LETTER, n, bit_index), choose(IS_LETTER, n, bit_index + choose(IS_LAST, 0, HALF_LENGTH))]
    bits = program.register("bit", ("0", "1"))
    program.embed((0, 1), bits)
    layer = program.layer()
    x, y = (_fetched(program, name, address, row_code, bits) for name, address in zip("xy", addresses, strict=True))
    flags = program.register("carry in row", ("generates", "kills"))
    halves = program.register("x ⊕ y", ("0", "1"))
    not_carry_row, not_sum_row = program.flag("no row", ~IS_CARRY), program.flag("no sum", ~IS_SUM)
    _neither(layer.mlp, x[0], y[0], not_carry_row, flags[0])
    _neither(layer.mlp, x[1], y[1], not_carry_row, flags[1])
    for a, b in product((0, 1), repeat=2):
        _neither(layer.mlp, x[a], y[b], not_sum_row, halves[a ^ b])
    unit = layer.mlp.units(1)  # the last slot is its carry
    layer.mlp.read(unit, program.flag("last", IS_LAST))
    layer.mlp.write(unit, halves[:1])
    carry = _carry(program, flags)
    _sum(program, vocabulary, halves, carry)
    return program


def _fetched(program: Program, name: str, address: Expression, row_code: Columns, bits: Columns) -> Columns:
    """Return (is 0, is 1) of the letter that a row looks up."""
    bit = program.register(f"{name} bit", ("0", "1"))
    address_code = program.code(f"{name} address", address, capacity=ROWS)
    lookup(program.layers[0], address_code, row_code).copy(bits, bit)
    return bit


def _neither(mlp: MlpBuilder, a: int, b: int, excluded: Columns, target: int) -> None:
    """target += ReLU(1 - a - b - excluded), which is 1 if no flag is set."""
    unit = mlp.units(1, bias=ONE)
    mlp.read(unit, np.array([a, b, *excluded]), -ONE)
    mlp.write(unit, np.array([target]))


def _carry(program: Program, flags: Columns) -> Columns:
    """Return (no carry, carry) into a slot: the flag of the last row that the slot sees."""
    order = choose(IS_CARRY, (n - N) // 2 + 1, choose(IS_SLOT, n - 2 * N, 0))
    number = program.code("order", order, capacity=ROWS)
    hidden = program.flag("hidden", choose(IS_CARRY, 0, choose(n.equals(0), 0, 1)))
    state = program.register("latest")
    layer = program.layer()
    head = layer.head()
    at_most(head, number, number)
    hide(head, hidden)
    latest(head, flags[:1], flags[1:], state)
    carry = program.register("carry", ("0", "1"))
    unit = layer.mlp.units(1, bias=ONE)  # ReLU(latest - B + 1)
    layer.mlp.read(unit, program.one, -B)
    layer.mlp.read(unit, state)
    layer.mlp.write(unit, carry[1:])
    layer.mlp.write(unit, carry[:1], -ONE)
    layer.mlp.offset(carry[:1], ONE)
    return carry


def _sum(program: Program, vocabulary: Vocabulary, halves: Columns, carry: Columns) -> None:
    """x ⊕ y ⊕ carry, twice, so that its symbol has the logit -B + B + B; all other symbols have -B."""
    copies = [program.register(f"sum, copy {k}", ("0", "1")) for k in (1, 2)]
    not_slot = program.flag("no answer", ~IS_SLOT)
    mlp = program.layer().mlp
    for a, b in product((0, 1), repeat=2):
        for copy in copies:
            _neither(mlp, halves[a], carry[b], not_slot, copy[a ^ b])
    program.read_out(vocabulary.all_tokens, program.one, -B)
    for column in program.flag("looks for a carry", IS_CARRY, 2):  # no row reads these rows, so any symbol is correct
        program.read_out(vocabulary["reject"], np.array([column]), B)
    for copy in copies:
        program.read_out(vocabulary.verdicts, copy, B)
