"""unmask: compile problems into masked diffusion models, run them bit by bit, prove what they can do.

Problem ──▶ Program ──▶ Transformer weights ──▶ Reasoner ──▶ Trace ──▶ Verdict
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unmask.traces.notebook import draw_with

if TYPE_CHECKING:
    from unmask.errors import UnmaskError
    from unmask.pipeline import (
        compare_frameworks,
        compile_problem,
        compile_program,
        convert_model,
        generate,
        load_model,
        run_word,
        save_model,
        verify_model,
    )
    from unmask.traces.compare import first_difference
    from unmask.traces.trace import Trace
    from unmask.weights.model import Model

__all__ = [
    "Model",
    "Trace",
    "UnmaskError",
    "compare_frameworks",
    "compile_problem",
    "compile_program",
    "convert_model",
    "first_difference",
    "generate",
    "load_model",
    "run_word",
    "save_model",
    "verify_model",
]
__version__ = "0.2.0"

_ELSEWHERE = {
    "Model": "unmask.weights.model",
    "Trace": "unmask.traces.trace",
    "UnmaskError": "unmask.errors",
    "first_difference": "unmask.traces.compare",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first used: `unmask --help` needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
    found = getattr(import_module(_ELSEWHERE.get(name, "unmask.pipeline")), name)
    globals()[name] = found
    return found


def _framed(trace: "Trace") -> str:
    """How a notebook shows a trace."""
    from unmask.viewer.notebook import framed

    return framed(trace)


draw_with(_framed)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
