"""Subject → the run of its word, what is right about it, and a page that shows it beside other runs.

Where another planner drives the predictor, the model's own run stands beside it: the same weights, the right order.
"""

import time
from typing import Any

from unmask.errors import UnmaskError
from unmask.pipeline import problem_name
from unmask.playground.subject import Subject
from unmask.playground.suggestions import suggestions
from unmask.traces.trace import Trace
from unmask.verification.question.standard import answer_count
from unmask.weights.model import Kind, Model


def denoise(subject: Subject) -> dict[str, Any]:
    """The run that was asked for; `page` is the view of it."""
    from unmask.viewer.render import View, render
    from unmask.views import panel_of

    question = subject.question
    start = time.perf_counter()
    model = subject.model(question.kind)
    compiled = time.perf_counter() - start
    outputs = answer_count(model)
    panels = [panel_of(model, question.word, planner=question.planner_name, seed=question.seed)]
    if question.planner_name is not None:
        panels.append(panel_of(model, question.word))
    remarks = []
    for kind in _beside(subject):
        try:
            panels.append(panel_of(subject.model(kind), question.word))
        except UnmaskError as error:
            remarks.append(f"No {kind} is shown for comparison: {error}.")
    name = problem_name(model) or question.problem
    trace = panels[0].trace
    return {
        **_sizes(model),
        "compile_seconds": compiled,
        "layout": subject.compiler.layout_of(model.kind, model.length),
        "planner": question.planner_name,
        "steps": trace.steps_taken,
        "answer": subject.said(model, trace.output[-outputs:]),
        "right": subject.right(question.word, outputs),
        "own": _own(subject, model, panels[1].trace, outputs) if question.planner_name is not None else None,
        "beside": [{"kind": p.trace.kind, "steps": p.trace.steps_taken} for p in panels[1:]],
        **suggestions(subject),
        "page": render(View(name, question.word, tuple(panels), tuple(remarks))),
    }


def _beside(subject: Subject) -> tuple[Kind, ...]:
    """A chain of thought, or masked diffusion beside a chain of thought; nothing beside two planners.

    Of random weights, one kind has nothing to do with another.
    """
    if subject.question.planner_name is not None or not subject.problem.has_answers:
        return ()
    wanted: Kind = "mdm" if subject.question.kind == "cot" else "cot"
    return (wanted,) if wanted in subject.kinds else ()


def _own(subject: Subject, model: Model, trace: Trace, outputs: int) -> dict[str, Any]:
    return {"answer": subject.said(model, trace.output[-outputs:]), "steps": trace.steps_taken}


def _sizes(model: Model) -> dict[str, Any]:
    transformers = model.transformers.values()
    return {
        "kind": model.kind,
        "length": model.length,
        "padding": model.padding,
        "width": max(t.width for t in transformers),
        "layers": max(len(t.layers) for t in transformers),
        "weights": sum(t.parameters for t in transformers),
        "precision": model.precision.p,
    }
