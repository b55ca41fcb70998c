"""A 4 × 4 Sudoku by elimination: a cell drops the digits of solved cells in its row, column and square.

A slot holds the digits that are still possible. This solves every Sudoku for which the rule of naked singles suffices.
A contradiction leaves a cell without digits.
"""

from unmask.recurrences import Slots, System, collect, either, indices, letter, subsets

DIGITS = frozenset("1234")
i, k = indices("i k")
same_row, same_column = (i // 4).equals(k // 4), (i % 4).equals(k % 4)
same_square = (2 * (i // 8) + i % 4 // 2).equals(2 * (k // 8) + k % 4 // 2)
peer = i.differs(k) * either(same_row, same_column, same_square)

cell = Slots("cell", i.range(16), subsets("1234"))
cell.start(letter(i), lambda given: DIGITS if given == "." else frozenset(given))
settled = collect(
    k.range(16),
    cell[k].map(lambda digits: digits if len(digits) == 1 else frozenset()),
    lambda digits: digits,
    where=peer,
)
cell.rule((cell[i], settled), lambda own, taken: own - taken)
program = System("1234.", cell, answer=cell, steps=12)
