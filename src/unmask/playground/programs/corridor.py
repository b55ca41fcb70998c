"""Does a walk up and down end where it began, never below, never more than three above?"""

from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

(i,) = indices("i")


def step(height, move):
    """The height after a move; None once the height has left the corridor."""
    if height is None:
        return None
    height += 1 if move == "u" else -1
    return height if 0 <= height <= 3 else None


height = Slots("height", i.range(N), [0, 1, 2, 3, None])
height.rule((height[i - 1].or_else(0), letter(i)), step)
home = Slots("home", (), BOOLEAN)
home.rule(height[N - 1], lambda last: last == 0)
program = System("ud", (height, home), answer=home[()])
