"""Model → the problem that its folder names: a comment of whoever made it, so not a proof of anything."""

from unmask.errors import ProblemError
from unmask.problems.catalogue import problem_from_json
from unmask.weights.kinds import Kind
from unmask.weights.model import Model


def problem_name(model: Model) -> str | None:
    """The problem that a folder names, as a person writes it."""
    try:
        return problem_from_json(model.problem).name
    except ProblemError:
        return None


def problem_accepts(model: Model) -> str | None:
    """Which words that problem accepts, where its name does not say it."""
    try:
        return problem_from_json(model.problem).accepts
    except ProblemError:
        return None


def problem_states(model: Model) -> dict[str, str]:
    """State symbol of a chain of thought → a shortest word that leads to it; {} for models without states."""
    from unmask.compilers.regular_compiler import state_names

    try:
        automaton = problem_from_json(model.problem).automaton
    except ProblemError:
        return {}
    if automaton is None or model.kind not in ("cot", "pcot"):
        return {}
    words: dict[int, list[int]] = {automaton.start: []}
    waiting = [automaton.start]
    for state in waiting:
        for letter, following in enumerate(automaton.delta[state].tolist()):
            if following not in words:
                words[following] = [*words[state], letter]
                waiting.append(following)
    names = state_names(automaton)
    found = {names[state]: automaton.spelled(word) for state, word in sorted(words.items())}
    return found if set(found) <= set(model.vocabulary) else {}


def compile_again(model: Model, kind: Kind) -> Model:
    """The problem that a folder names, compiled into another kind for the same words; a comment, so not a proof."""
    from unmask.compilers.compiler import compiler_for

    compiler = compiler_for(problem_from_json(model.problem))
    if kind not in compiler.kinds:
        raise ProblemError(f"{problem_name(model)} does not compile to {kind}; choose {', '.join(compiler.kinds)}")
    return compiler.compile(kind, model.length, model.precision)
