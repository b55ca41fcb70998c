"""Systems of recurrences by chain of thought, one slot per step, and by parallel chain of thought, a level per step.

Statement:    a system of recurrences with P slots, rows of reads over ranges included, and depth T is computed by a
              chain of thought with P steps, and by a parallel chain of thought with T steps of as many symbols as the
              widest level has slots and rows.
Construction: the rows of masked diffusion in an order in which everything that a row reads stands before it; nothing
              has to wait. A row that finds holds some symbol that nobody reads. In a chain, row n acts for the slot in
              row n + 1; where a slot reads an answer, the answers are repeated at the end.
Bounds:       cot T = P, and the answers once more where they are repeated; pcot T = depth, or one more; 1 layer, 3 with
              reads over a range; width O(log N).
Exactness:    for every N and p >= 1, where the program is right for N; with reads over a range from N = 1 on.
"""

from unmask.programs.language.program import Program
from unmask.programs.recurrences.diffusion import predictor_of
from unmask.programs.recurrences.placement import Placement


def system_string(placement: Placement) -> Program:
    """The program of all steps."""
    plan = placement.plan
    symbols = plan.symbols.vocabulary.symbols
    program = Program(symbols, len(symbols), plan.length, placement.rows, "causal")
    return predictor_of(program, plan, placement, waits=False)
