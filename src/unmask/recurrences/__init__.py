"""Systems of recurrences: programs for masked diffusion, as plain Python objects, independent of transformers.

Groups of slots (`slots`) over ranges of indices (`unmask.expressions`), with rules that read letters and other slots,
make a `System` (`system`). `unfolding` lists all slots and reads for one N, and `interpreter` computes the value of
every slot. Both report errors in a system. `rule_functions` calls the user's rules and checks that they are pure.

>>> i, = indices("i")
>>> prefix = Slots("prefix", i.range(N), BOOLEAN)
>>> prefix.rule((prefix[i - 1].or_else(False), letter(i)), lambda odd, x: odd != (x == "b"))
>>> parity = System("ab", prefix, answer=prefix[N - 1])
>>> Interpreter(parity, 4).run("abab").answers
[False]
"""

from unmask.expressions import (
    N,
    both,
    choose,
    either,
    indices,
    log2_above,
    maximum,
    minimum,
    power_of_two_below,
    table,
)
from unmask.recurrences.interpreter import Interpreter
from unmask.recurrences.slots import BOOLEAN, Slots, collect, each, every, letter, number, pick, some, subsets
from unmask.recurrences.system import System

__all__ = [
    "BOOLEAN",
    "Interpreter",
    "N",
    "Slots",
    "System",
    "both",
    "choose",
    "collect",
    "each",
    "either",
    "every",
    "indices",
    "letter",
    "log2_above",
    "maximum",
    "minimum",
    "number",
    "pick",
    "power_of_two_below",
    "some",
    "subsets",
    "table",
]
