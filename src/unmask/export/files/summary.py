"""Model → what every export.json begins with."""

from typing import Any

from unmask.pipeline import problem_accepts, problem_name, problem_states
from unmask.weights.model import Model
from unmask.weights.storage import content_hash

FORMAT = "unmask-export/1"


def summary(model: Model, form: str, part: str, *, exact: bool = False) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "form": form,
        "exact": exact,
        "part": part,
        "problem": problem_name(model),
        "accepts": problem_accepts(model),
        **({"states": states} if (states := problem_states(model)) else {}),
        "kind": model.kind,
        "precision": model.precision.p,
        "length": model.length,
        "padding": model.padding,
        "steps": model.steps,
        "model_sha256": content_hash(model),
    }
