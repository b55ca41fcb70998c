"""The programs that a request can choose by name, one per file, each written as a user would write it.

A program is code, so none is taken from the network: `program:NAME` chooses one of these, and nothing else.
"""

from unmask.playground.programs import corridor, palindrome, rook, traffic
from unmask.recurrences.system import System

KNOWN: dict[str, System] = {
    "palindrome": palindrome.program,
    "corridor": corridor.program,
    "rook": rook.program,
    "traffic": traffic.program,
}
"""Name → program; NAME.py in this folder is its text."""
