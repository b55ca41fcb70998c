"""Problem or Model → what is right about a word, for models that read the same words."""

from unmask.engines.engine import Engine
from unmask.errors import UnmaskError, shortened
from unmask.problems.automaton import Automaton
from unmask.problems.boolean import CircuitProblem
from unmask.problems.expression import ExpressionProblem
from unmask.problems.families import FamilyProblem
from unmask.problems.problem import Problem, automaton_of
from unmask.verification.cases import Oracle, outcome, outcomes, value_outcome
from unmask.weights.model import Model


def what_is_right(
    model: Model, against: Problem | Model, engine: Engine, outputs: int
) -> tuple[Oracle, Automaton | None, ExpressionProblem | None]:
    """What is right, and what knows which words to try."""
    if isinstance(against, Model):
        if against.length != model.length:
            raise UnmaskError(
                f"the models read words of length {model.length} and {against.length}; compare like with like"
            )
        other = against
        return lambda word: outcomes(other, [word], engine, outputs=outputs)[0], None, None
    problem = against
    automaton = automaton_of(problem) if hasattr(type(problem), "automaton") else None
    if automaton is not None and automaton.characters is None:
        _check_alphabets(model, set(automaton.tokens), problem.name)
    if isinstance(problem, CircuitProblem):
        _check_alphabets(model, {"0", "1"}, problem.name)
    if isinstance(problem, FamilyProblem):
        _check_alphabets(model, set(problem.letters), problem.name)
    expression = problem if isinstance(problem, ExpressionProblem) else None
    if expression is not None:
        _check_alphabets(model, set(expression.letters), expression.name)
    if isinstance(problem, CircuitProblem | ExpressionProblem) and problem.length != model.length:
        raise UnmaskError(
            f"the model reads {model.length} symbols and {shortened(problem.name)} has {problem.length}; "
            "compare like with like"
        )
    return oracle_of(problem, outputs), automaton, expression


def _check_alphabets(model: Model, letters: set[str], name: str) -> None:
    if model.characters is not None or set(model.input_symbols) != letters:
        raise UnmaskError(
            f"the model and {shortened(name)} read different alphabets, {shortened(' '.join(model.input_symbols))} "
            f"and {shortened(' '.join(sorted(letters)))}; compare like with like"
        )


def oracle_of(problem: Problem, outputs: int = 1) -> Oracle:
    """What is right, from the problem itself; with `outputs`, that many bits of its circuit."""
    if outputs > 1 and isinstance(problem, CircuitProblem | FamilyProblem):
        return lambda word: outcome(problem.answer(word), problem.outputs(word)[-outputs:])
    if isinstance(problem, ExpressionProblem):
        return lambda word: value_outcome(problem.value(word))
    return lambda word: outcome(problem.answer(word), [])
