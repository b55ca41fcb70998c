"""Expressions by a looped transformer in as many loops as they are deep.

Statement:    an expression whose tree has height d is evaluated by a looped transformer with d loops.
Construction: as by masked diffusion, but every row is computed anew in every loop from what its sources hold; after k
              loops all operations of height k are right and stay so.
Bounds:       T = depth, P as for masked diffusion; 1 looped layer and 1 after; width O(log(N + P) + values).
Exactness:    for every shape and range, p >= 2.
"""

from unmask.programs.attention import clear
from unmask.programs.buffers import itself
from unmask.programs.coefficients import B
from unmask.programs.expression_parts import embed_symbols, expression_registers, fetch, rewrite, see_shape
from unmask.programs.expression_plan import ExpressionPlan
from unmask.programs.expression_symbols import ExpressionSymbols
from unmask.programs.program import Program


def expression_loop(plan: ExpressionPlan, symbols: ExpressionSymbols, shape: tuple[str | None, ...]) -> Program:
    """Loop the layers [0, 1); the last row holds the value."""
    vocabulary = symbols.vocabulary
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows)
    registers = expression_registers(program, plan, symbols, shape)
    given = symbols.register(program, "given", symbols.fetched)
    computed = symbols.register(program, "computed", symbols.written)
    misshapen = program.register("misshapen", 2)
    embed_symbols(program, registers, symbols, given)

    loop, last = program.layer(), program.layer()
    fetch(loop, registers, given, computed)
    gathered = (registers.left, registers.operator, registers.right)
    stale = [register.columns for register in (*gathered, computed)]
    clear(itself(loop, registers.here, registers.one), *stale, registers.strange)
    rewrite(loop.mlp, registers, symbols, [computed])
    see_shape(last, registers, misshapen)

    program.read_out(vocabulary.everything, registers.one, -B)
    program.read_out(computed.tokens, computed.columns, B)
    for column in misshapen:
        program.read_out(symbols.written, column, -B)
        program.read_out(vocabulary["reject"], column, B)
    return program
