"""Expressions by a looped transformer in as many loops as they are deep.

Statement:    an expression whose tree has height d is evaluated by a looped transformer with d loops.
Construction: as by masked diffusion, but every row is computed anew in every loop from what its sources hold; after k
              loops all operations of height k are right and stay so.
Bounds:       T = depth, P as for masked diffusion; 1 looped layer and 1 after; width O(log(N + P) + values).
Exactness:    for every shape and range, p >= 2.
"""

from unmask.programs.expressions.parts import embed_symbols, expression_registers, fetch, rewrite, see_shape
from unmask.programs.expressions.plan import ExpressionPlan
from unmask.programs.expressions.symbols import ExpressionSymbols
from unmask.programs.gadgets.lookup import clear, itself
from unmask.programs.language.coefficients import B
from unmask.programs.language.program import Program


def expression_loop(plan: ExpressionPlan, symbols: ExpressionSymbols, shape: tuple[str | None, ...]) -> Program:
    """One looped layer, and one that sees whether the word has its shape; the last row holds the value."""
    vocabulary = symbols.vocabulary
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows)
    registers = expression_registers(program, plan, symbols, shape)
    given = symbols.register(program, "given", symbols.fetched)
    computed = symbols.register(program, "computed", symbols.written)
    misshapen = program.register("misshapen", 2)
    embed_symbols(program, registers, symbols, given)

    loop = program.layer()
    fetch(loop, registers, given, computed)
    gathered = (registers.left, registers.operator, registers.right)
    stale = [register.columns for register in (*gathered, computed)]
    clear(itself(loop, registers.here), *stale, registers.strange)
    rewrite(loop.mlp, registers, symbols, [computed])
    program.loop = 0, len(program.layers)
    see_shape(program.layer(), registers, misshapen)

    program.read_out(vocabulary.everything, program.one, -B)
    program.read_out(computed.tokens, computed.columns, B)
    for column in misshapen:
        program.read_out(symbols.written, column, -B)
        program.read_out(vocabulary["reject"], column, B)
    return program
