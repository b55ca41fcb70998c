"""Reachability by repeated squaring in place, R ← R·R over ∨ and ∧, for a matrix R of v·v bits.

    rows 0 … v² - 1                 the input A, row by row
    then v³ rows (i, j, k)          products R[i,k] ∧ R[k,j], never written
    then v² rows (i, j)             the entries of R, those of i = 0 last, so that R[0, v-1] is the very last

R starts as A with 1 on the diagonal; after t squarings R[i,j] = [a path of at most 2^t edges leads from i to j]. All
positions are formulas in n and N with v = √N. `squaring_planner` and `squaring_predictor` edit the slots of a masked
diffusion model, `squaring_loop` is the looped transformer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.expressions import Expression, N, both, choose, n
from unmask.programs.gadgets.attention import clear, eq, hide, itself, lookup
from unmask.programs.gadgets.mlp import conjunction, nor
from unmask.programs.planner_programs import planner_logits
from unmask.programs.program import ONE, TOP, B, Columns, LayerBuilder, MlpBuilder, Program, Vocabulary


def squarings(vertices: int) -> int:
    """⌈log2 v⌉: a path visits no vertex twice, so it has fewer than v edges."""
    return (vertices - 1).bit_length()


def squaring_slots(vertices: int) -> int:
    return vertices**2 + vertices**3


@dataclass(frozen=True, eq=False)
class SquaringRegisters:
    """Codes and flags of the rows; `zero` flags the entries that are 0."""

    row_code: Columns
    input_address: Columns  # of an entry: its bit of the input
    factor_addresses: list[Columns]  # of a product: its two entries
    entry: Columns  # of a product: the entry that it belongs to; of an entry: itself
    is_entry: Columns
    no_product: Columns
    diagonal: Columns
    input_is_zero: Columns
    zero: Columns
    factor_is_zero: Columns
    product: Columns
    share: Columns


def squaring_registers(program: Program, vertices: int) -> SquaringRegisters:
    """Add all registers. A row that does not need an address has its own address there, so that it reads itself."""
    v = vertices
    first_entry = N + v**3
    is_entry, is_product = n >= first_entry, both(n >= N, n < first_entry)
    i, j, k = (n - N) // v**2, (n - N) // v % v, (n - N) % v
    entry_index = n - first_entry
    entry_i, entry_j = v - 1 - entry_index // v, entry_index % v

    def number(row: Expression, column: Expression) -> Expression:
        return (v - 1 - row) * v + column

    program.registers["one"] = ("0",)  # named like the other flags of these programs, which folders name by a number
    factors = [first_entry + number(i, k), first_entry + number(k, j)]
    return SquaringRegisters(
        row_code=program.code("here", n),
        input_address=program.code("input address", choose(is_entry, entry_i * v + entry_j, n)),
        factor_addresses=[
            program.code(f"factor {side} address", choose(is_product, factor, n)) for side, factor in enumerate(factors)
        ],
        entry=program.code("entry", choose(is_entry, entry_index, choose(is_product, number(i, j), 0))),
        is_entry=program.flag("is an entry", is_entry, 1),
        no_product=program.flag("no product", choose(is_product, 0, 1), 1),
        diagonal=program.flag("on the diagonal", both(is_entry, entry_i.equals(entry_j)), 1),
        input_is_zero=program.register("given 0"),
        zero=program.register("zero", 2),
        factor_is_zero=program.register("factor is zero", 2),
        product=program.register("product"),
        share=program.register("share of products", 2),
    )


def multiply_entries(layer: LayerBuilder, registers: SquaringRegisters) -> None:
    """product = ¬(left factor is 0) ∧ ¬(right factor is 0)."""
    for address, target in zip(registers.factor_addresses, registers.factor_is_zero, strict=True):
        lookup(layer, address, registers.row_code).copy(registers.zero[0], target)
    layer.mlp.write(nor(layer.mlp, [registers.factor_is_zero]), registers.product)


def gather_products(layer: LayerBuilder, registers: SquaringRegisters) -> None:
    """An entry attends equally to all its products: its share is 0 or at least 2^-p (lem:detection)."""
    head = layer.head()
    eq(head, registers.entry, registers.entry)
    hide(head, registers.no_product, copies=1)
    head.copy(registers.product, registers.share)


def load_entries(mlp: MlpBuilder, registers: SquaringRegisters, *, unless: Sequence[Columns] = ()) -> None:
    """An entry is 0 if its bit of the input is 0, except on the diagonal and in rows that `unless` flags."""
    unit = conjunction(mlp, registers.input_is_zero, [np.concatenate([registers.diagonal, *unless])])
    mlp.write(unit, registers.zero)


def look_up_input(layer: LayerBuilder, registers: SquaringRegisters, bit_is_zero: Columns) -> None:
    """input_is_zero = [the bit of the input is 0]."""
    lookup(layer, registers.input_address, registers.row_code).copy(bit_is_zero, registers.input_is_zero)


def squaring_planner(vertices: int, vocabulary: Vocabulary) -> Program:
    """u = [the row is an entry]."""
    length = vertices**2
    program = Program(vocabulary.symbols, 2, length, length + squaring_slots(vertices))
    planner_logits(program, program.flag("is an entry", n >= N + vertices**3))
    return program


def squaring_predictor(vertices: int, vocabulary: Vocabulary) -> Program:
    """Return the predictor whose step replaces R by R·R: entry (i, j) of R·R.

    Statement:    whether a path leads from vertex 0 to vertex v - 1 of a graph of v vertices is decided by a masked
                  diffusion model with ⌈log2 v⌉ steps and v² + v³ slots. A circuit of AND and OR takes twice the steps.
    Construction: v² slots hold the matrix R, v³ slots are workspace for its products and stay masked. An entry is the
                  value of its slot or, while that is masked, the bit of the input, 1 on the diagonal. The predictor
                  replaces R by R·R; the planner chooses every entry in every step, including those already written.
    Bounds:       T = ⌈log2 v⌉ (1 for v = 1), P = v² + v³; predictor 3 layers, planner none; width O(log v).
    Exactness:    for every v >= 1 and p >= 1.
    Deviations:   directly from the matrix, without a circuit. A model that may not edit needs new slots for every
                  squaring: smdm is compiled from the circuit.
    """
    length = vertices**2
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, length + squaring_slots(vertices))
    registers = squaring_registers(program, vertices)
    bit_is_zero, holds_zero = program.register("bit is 0"), program.register("holds 0")
    written, reachable = program.register("written"), program.register("reachable", 2)
    program.embed(0, bit_is_zero)
    program.embed(vocabulary["reject"], holds_zero)
    program.embed(vocabulary.verdicts, written)

    first, second, third = (program.layer() for _ in range(3))
    look_up_input(first, registers, bit_is_zero)
    load_entries(first.mlp, registers, unless=[written])
    first.mlp.write(conjunction(first.mlp, holds_zero, [[]]), registers.zero)
    multiply_entries(second, registers)
    gather_products(third, registers)
    _flag_reachable(third.mlp, registers, reachable)

    program.read_out(np.setdiff1d(vocabulary.all_tokens, vocabulary["reject"]), program.one, -B)
    program.read_out(vocabulary["reject"], program.one, B)
    for column in reachable:
        program.read_out(vocabulary["accept"], column, B)
        program.read_out(vocabulary["reject"], column, -B)
    return program


def _flag_reachable(mlp: MlpBuilder, registers: SquaringRegisters, reachable: Columns) -> None:
    """reachable = [the share of products is above 0] = 1 - [it is 0]."""
    unit = mlp.units(1, bias=ONE)
    mlp.read(unit, registers.share, -TOP)
    mlp.write(unit, reachable, -ONE)
    mlp.offset(reachable, ONE)


def squaring_loop(vertices: int, vocabulary: Vocabulary) -> Program:
    """Return the looped transformer that squares the matrix in place; the last row is the entry (0, v - 1).

    Statement:    whether a path leads from vertex 0 to vertex v - 1 of a graph of v vertices is decided by a looped
                  transformer with ⌈log2 v⌉ loops and v² + v³ pads.
    Construction: one layer loads the matrix with 1 on its diagonal; two looped layers multiply and gather.
    Bounds:       T = ⌈log2 v⌉, P = v² + v³, 3 layers, 2 of them looped; width O(log v).
    Exactness:    for every v >= 1 and p >= 1.
    """
    length = vertices**2
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, length + squaring_slots(vertices))
    registers = squaring_registers(program, vertices)
    bit_is_zero = program.register("bit is 0")
    program.embed(0, bit_is_zero)

    first, second, third = (program.layer() for _ in range(3))
    look_up_input(first, registers, bit_is_zero)
    load_entries(first.mlp, registers)
    multiply_entries(second, registers)
    clear(itself(second, registers.row_code), registers.factor_is_zero, registers.product)
    gather_products(third, registers)
    clear(itself(third, registers.row_code), registers.share, registers.zero)
    unit = third.mlp.units(1)
    third.mlp.read(unit, registers.is_entry)
    third.mlp.read(unit, registers.share, -TOP)
    third.mlp.write(unit, registers.zero)
    program.loop = 1, len(program.layers)

    program.read_out(np.setdiff1d(vocabulary.all_tokens, vocabulary["accept"]), program.one, -B)
    program.read_out(vocabulary["accept"], program.one, B)
    for column in registers.zero:
        program.read_out(vocabulary["reject"], column, B)
        program.read_out(vocabulary["accept"], column, -B)
    return program
