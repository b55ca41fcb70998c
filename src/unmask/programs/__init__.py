"""Problem → Program → Transformer: a transformer over named registers, before its weights are numbers.

program, declarations          registers, heads and MLPs; the values of registers at a position n of a word of length N
instance, assembly             program in N → program of one N → weights
gadgets                        functions that one head or one MLP computes
planner_programs               planners, which choose the slots that are written next
regular                        regular languages
recurrences                    any system of recurrences: user programs, grammars, circuits
circuit_systems                circuits and circuit families as systems of recurrences
printed_circuit_programs       circuit families that a machine with logarithmic space prints
arithmetic_expressions, reachability, one_step_addition, sampling_programs       one kind of problem each
simulation                     a given transformer inside a larger program, for theorems; with it:
  residual_slots               its residual stream, stored in slots
  mirrored_rows                a causal transformer in an unmasked program
  hosted_masks                 a parallel chain of thought, with its rows of masks, in a causal program
  addressed_rows               heads that find single keys of a simulated head
uniform_positions              check that positions can be computed in logarithmic space
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
