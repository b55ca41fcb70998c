"""unmask: compile problems into masked diffusion models, run them bit by bit, prove what they can do.

Problem ──▶ Program ──▶ Transformer weights ──▶ Reasoner ──▶ Trace ──▶ Verdict
"""

from unmask.errors import UnmaskError
from unmask.pipeline import compile_problem, generate, load_model, run_word, save_model
from unmask.traces.compare import first_difference
from unmask.traces.trace import Trace
from unmask.weights.model import Model

__all__ = [
    "Model",
    "Trace",
    "UnmaskError",
    "compile_problem",
    "first_difference",
    "generate",
    "load_model",
    "run_word",
    "save_model",
]
__version__ = "0.1.0"
