"""Outputs: how many of the last symbols of a model are its answer. A circuit has several, all others one."""

from unmask.errors import ProblemError, UnmaskError, shortened
from unmask.problems.boolean import CircuitProblem
from unmask.problems.families import FamilyProblem
from unmask.problems.problem import Problem, problem_from_json
from unmask.weights.model import Model


def output_count(model: Model) -> int:
    """How many outputs the circuit has that the folder names; 1 where it names none."""
    try:
        return _outputs_of(problem_from_json(model.problem), model.length)
    except ProblemError:
        return 1


def compared_outputs(model: Model, against: Problem | Model) -> int:
    """How many outputs a comparison is about: those of the problem, or those that both models name.

    A looped model has only the last one.
    """
    if isinstance(against, Model):
        return min(1 if m.kind == "plt" else min(output_count(m), m.padding) for m in (model, against))
    if model.kind == "plt":
        return 1
    outputs = _outputs_of(against, model.length)
    if outputs > model.padding:
        raise UnmaskError(
            f"the model writes {model.padding} symbols and {shortened(against.name)} has {outputs} outputs; "
            "compare like with like"
        )
    return outputs


def _outputs_of(problem: Problem, length: int) -> int:
    if isinstance(problem, FamilyProblem):
        problem.check_length(length)
        return len(problem.outputs(problem.letters[0] * length))
    return len(problem.circuit.outputs) if isinstance(problem, CircuitProblem) else 1
