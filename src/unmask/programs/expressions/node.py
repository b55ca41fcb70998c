"""Expressions by masked diffusion in as many steps as they are deep, and by chains of thought (fig:expression-tree).

Statement:    an expression with + - * over finitely many values is evaluated by a masked diffusion model in as many
              steps as its tree is high, with a slot per operator, or with a slot for every symbol of what is left of
              the expression after each step; by a chain of thought in as many steps as there are slots; by a parallel
              one in as many steps as masked diffusion.
Construction: numbers are single symbols. A slot looks up its operands and its operator, or the symbol that it copies,
              and one MLP holds the table of all operations (`parts`). The planner chooses a masked slot
              once nothing that it reads is masked. In a chain the row before a symbol acts for it.
              The last slot holds the value; if the word has another shape, it holds the reject symbol.
Bounds:       T = depth, P = operators (compact) or symbols written (figure); chain of thought T = P; parallel chain
              P' = the most symbols that a step writes. 2 layers, 4 heads; width O(log(N + P) + values).
Exactness:    for every shape and range, p >= 2.
Deviations:   the figure has no word of another shape.
"""

import numpy as np

from unmask.programs.expressions.parts import embed_symbols, expression_registers, fetch, rewrite, see_shape
from unmask.programs.expressions.plan import ExpressionPlan
from unmask.programs.expressions.symbols import ExpressionSymbols
from unmask.programs.language.coefficients import B
from unmask.programs.language.program import Program
from unmask.programs.planners.readiness import readiness_planner
from unmask.weights.transformer import Attention


def expression_planner(plan: ExpressionPlan, symbols: ExpressionSymbols) -> Program:
    """u = masked ∧ none of the three rows that it reads is masked."""
    inputs = np.arange(plan.length)
    sources = tuple(np.concatenate([inputs, plan.sources[:, side]]) for side in range(3))
    return readiness_planner(symbols.vocabulary, plan.length, plan.rows, sources)


def expression_node(
    plan: ExpressionPlan,
    symbols: ExpressionSymbols,
    shape: tuple[str | None, ...],
    *,
    ahead: int = 0,
    own_slot: bool = False,
    attention: Attention = "unmasked",
) -> Program:
    """Logits: the chosen symbol B, the others -B; while a row waits, what may be written ties at 0.

    With `own_slot` (a topk model) a row that waits, or is written already, gives every symbol -B.
    """
    vocabulary = symbols.vocabulary
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows, attention)
    registers = expression_registers(program, plan, symbols, shape, ahead=ahead)
    held = symbols.register(program, "held", symbols.fetched)
    unmasked = program.register("unmasked")
    decided = program.register("decided")
    results = [symbols.register(program, f"result, copy {i}", symbols.written) for i in (1, 2)]
    misshapen = program.register("misshapen", 2)
    embed_symbols(program, registers, symbols, held)
    blocks = (unmasked,) if own_slot else ()
    if own_slot:
        program.embed(np.delete(vocabulary.everything, vocabulary["mask"]), unmasked)

    first, second = program.layer(), program.layer()
    fetch(first, registers, held)
    rewrite(first.mlp, registers, symbols, results, decided=decided, blocks=blocks)
    see_shape(second, registers, misshapen, blocks)

    # in the order of the columns: -B, then B twice for the choice, then -B twice if the word has another shape
    never = np.setdiff1d(vocabulary.everything, symbols.written)
    program.read_out(vocabulary.everything if own_slot else never, program.one, -B)
    if not own_slot:
        program.read_out(symbols.written, decided, -B)
    for column in registers.fills:
        program.read_out(vocabulary["pad"], column, B)
    for result in results:
        program.read_out(result.tokens, result.columns, B)
    for column in misshapen:
        program.read_out(symbols.written, column, -B)
        program.read_out(vocabulary["reject"], column, B)
    return program
