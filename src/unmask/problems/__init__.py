"""What is to be computed, without numbers or tensors: PROBLEM string → Problem.

`problem.py` is the protocol: what every problem offers to the rest of the package. Each kind of problem is one file
here (`regex.py`, `dfa.py`, `group.py`, `circuit.py`, `family.py`, `expression.py`, `grammar.py`, `program.py`,
`law.py`, `random.py`) and one row for each of its prefixes in `catalogue.py`. The rooms hold what several kinds are
made of: `automata/`, `regexes/`, `circuits/`, `expressions/`, `grammars/`.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.problems.automata.automaton import Automaton
    from unmask.problems.catalogue import CATALOGUE, Row
    from unmask.problems.circuits.circuit_files import write_aiger
    from unmask.problems.problem import Outcome, Stored
    from unmask.problems.regular_problems import RegularProblem

__all__ = [
    "CATALOGUE",
    "Automaton",
    "Outcome",
    "RegularProblem",
    "Row",
    "Stored",
    "write_aiger",
]

_MODULES = {
    "Automaton": "unmask.problems.automata.automaton",
    "CATALOGUE": "unmask.problems.catalogue",
    "Outcome": "unmask.problems.problem",
    "RegularProblem": "unmask.problems.regular_problems",
    "Row": "unmask.problems.catalogue",
    "Stored": "unmask.problems.problem",
    "write_aiger": "unmask.problems.circuits.circuit_files",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
