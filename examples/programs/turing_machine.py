"""A Turing machine on a bounded tape: does the word have the form aⁿbⁿ? Each denoising step is one step of the machine.

A cell holds a symbol. The cell under the head also holds the state. In a step, the cell under the head changes, and one
of its neighbours receives the head. The machine crosses out an a and then a b, walks back, and accepts when nothing is
left.
"""

from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter, some

MOVES = {  # (state, symbol) → (symbol, state, direction); anything else: stay and reject
    ("start", "a"): ("x", "right", 1),
    ("start", "y"): ("y", "check", 1),
    ("start", "_"): ("_", "yes", 0),
    ("right", "a"): ("a", "right", 1),
    ("right", "y"): ("y", "right", 1),
    ("right", "b"): ("y", "left", -1),
    ("left", "a"): ("a", "left", -1),
    ("left", "y"): ("y", "left", -1),
    ("left", "x"): ("x", "start", 1),
    ("check", "y"): ("y", "check", 1),
    ("check", "_"): ("_", "yes", 0),
}
STATES = ("start", "right", "left", "check", "yes", "no")


def moved(cell):
    """(symbol, state, direction) after the head on this cell has done its work; direction 0 without a head."""
    symbol, state = cell
    stays = symbol, "yes" if state == "yes" else "no", 0
    return (symbol, None, 0) if state is None else MOVES.get((state, symbol), stays)


def head_from(direction):
    """The state in which a neighbour's head comes to a cell, walking in this direction; None if it does not."""
    return lambda cell: moved(cell)[1] if moved(cell)[2] == direction else None


def next_cell(own, from_left, from_right):
    symbol, state, direction = moved(own)
    return symbol, from_left or from_right or (state if direction == 0 else None)


(i,) = indices("i")
tape = Slots("tape", i.range(N + 1), [(symbol, state) for symbol in "abxy_" for state in (None, *STATES)])
tape.start(letter(i).or_else("_"), lambda x: (x, "start"), where=i.equals(0))
tape.start(letter(i).or_else("_"), lambda x: (x, None))
tape.rule(
    (tape[i], tape[i - 1].or_else(("_", None)).map(head_from(1)), tape[i + 1].or_else(("_", None)).map(head_from(-1))),
    next_cell,
)
accepted = Slots("accepted", (), BOOLEAN)
accepted.start((), lambda: False)
accepted.rule(some(i.range(N + 1), tape[i], lambda cell: cell[1] == "yes"), lambda yes: yes)
program = System("ab", (tape, accepted), answer=accepted[()], steps=N * (N + 4) // 2 + 3)
