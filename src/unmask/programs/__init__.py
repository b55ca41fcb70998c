"""Problem → Program → Transformer: what a transformer does, over named registers, before numbers are chosen.

`language/` is what programs are written in, `gadgets/` what one head or one MLP can do, `planners/` the programs that
choose which slots to write. Each kind of problem has a room of programs (`regular/`, `circuits/`, `expressions/`,
`reachability/`, `addition/`): a description of the problem and a vocabulary come in, a `Program` goes out.
`recurrences/` does the same for any system of recurrences: a user's program, a grammar, and circuits, whose looped
model is made there, too.
`compilers/` puts programs into models. `simulation/` runs a given transformer inside a larger program, for theorems.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.expressions import N, constant, n
    from unmask.programs.assembly import assemble
    from unmask.programs.declarations import SignedBits
    from unmask.programs.gadgets.mlp import conjunction
    from unmask.programs.program import Program
    from unmask.programs.uniform_positions import growth, uniformity

__all__ = [
    "N",
    "Program",
    "SignedBits",
    "assemble",
    "conjunction",
    "constant",
    "growth",
    "n",
    "uniformity",
]

_MODULES = {
    "N": "unmask.expressions",
    "Program": "unmask.programs.program",
    "SignedBits": "unmask.programs.declarations",
    "assemble": "unmask.programs.assembly",
    "conjunction": "unmask.programs.gadgets.mlp",
    "constant": "unmask.expressions",
    "growth": "unmask.programs.uniform_positions",
    "n": "unmask.expressions",
    "uniformity": "unmask.programs.uniform_positions",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
