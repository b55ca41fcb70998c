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
    from unmask.programs.gadgets.logic import conjunction
    from unmask.programs.language.assemble import assemble
    from unmask.programs.language.declarations import SignedBits
    from unmask.programs.language.positions import N, constant, n
    from unmask.programs.language.program import Program
    from unmask.programs.language.uniformity import growth, uniformity

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
    "N": "unmask.programs.language.positions",
    "Program": "unmask.programs.language.program",
    "SignedBits": "unmask.programs.language.declarations",
    "assemble": "unmask.programs.language.assemble",
    "conjunction": "unmask.programs.gadgets.logic",
    "constant": "unmask.programs.language.positions",
    "growth": "unmask.programs.language.uniformity",
    "n": "unmask.programs.language.positions",
    "uniformity": "unmask.programs.language.uniformity",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
