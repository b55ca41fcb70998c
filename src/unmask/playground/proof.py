"""Subject → a proof about all words of the length of the one that was typed, or a counterexample."""

import time
from typing import Any

from unmask.errors import UnmaskError
from unmask.pipeline import verify_model
from unmask.playground.subject import Subject


def proof(subject: Subject) -> dict[str, Any]:
    """The verdict of `unmask verify --method prove`, for the model with its own planner."""
    if not subject.problem.has_answers:
        raise UnmaskError("random weights do not solve a problem, so there is nothing to prove; type another problem")
    model = subject.model(subject.question.kind)
    start = time.perf_counter()
    verdict = verify_model(model, method="prove")
    return {
        **verdict.to_json(),
        "kind": model.kind,
        "length": model.length,
        "letters": len(model.input_symbols),
        "seconds": time.perf_counter() - start,
    }
