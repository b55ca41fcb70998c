"""Problems, without numbers or tensors: PROBLEM string → Problem.

`problem` is the interface that every problem implements. `catalogue` has one row for every prefix of a PROBLEM string.
The kinds of problems: `regular_problems`, `circuit_problems`, `expression_problems`, `grammar_problems`,
`program_problems`, `random_circuits`. Their parts: `automata`, `regexes`, `circuits`, `expression_shapes`,
`context_free_grammars`. docs/how-to/add-a-problem.md says what a new kind of problem needs.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.problems.automata.automaton import Automaton
    from unmask.problems.catalogue import CATALOGUE, Row
    from unmask.problems.circuits.circuit_files import write_aiger
    from unmask.problems.circuits.metered import RegisterBound, metered
    from unmask.problems.circuits.printed_circuits import AND, OR, printed_circuit
    from unmask.problems.problem import Outcome, Stored
    from unmask.problems.regular_problems import RegularProblem

__all__ = [
    "AND",
    "CATALOGUE",
    "OR",
    "Automaton",
    "Outcome",
    "RegisterBound",
    "RegularProblem",
    "Row",
    "Stored",
    "metered",
    "printed_circuit",
    "write_aiger",
]

_MODULES = {
    "AND": "unmask.problems.circuits.printed_circuits",
    "Automaton": "unmask.problems.automata.automaton",
    "CATALOGUE": "unmask.problems.catalogue",
    "OR": "unmask.problems.circuits.printed_circuits",
    "Outcome": "unmask.problems.problem",
    "RegularProblem": "unmask.problems.regular_problems",
    "RegisterBound": "unmask.problems.circuits.metered",
    "Row": "unmask.problems.catalogue",
    "Stored": "unmask.problems.problem",
    "metered": "unmask.problems.circuits.metered",
    "printed_circuit": "unmask.problems.circuits.printed_circuits",
    "write_aiger": "unmask.problems.circuits.circuit_files",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
