"""Compile problems into masked diffusion models, run them bit by bit, prove what they can do.

Problem ──▶ Program ──▶ Transformer weights ──▶ Reasoner ──▶ Trace ──▶ Verdict

A first session:

    >>> from unmask import compile_problem, run_word, verify_model
    >>> model = compile_problem("(a|b)*abb", "mdm", length=9)
    >>> run_word(model, "aababbabb").accepted
    True
    >>> verify_model(model, method="prove").status
    'proved'

Functions, one per arrow:

    compile_problem, compile_program    problem or program → model
    save_model, load_model              model → model folder → model
    convert_model                       model → model of another framework
    run_word, generate, decide_words    model × words → trace, sample, answers
    verify_model                        model × problem → verdict, for one length
    prove_family, prove_conversion      problem or theorem → verdict, for every length
    compare_frameworks                  problem → steps and sizes in every framework
    export_model                        model → a checkpoint, GGUF, torch or ONNX
    first_difference                    trace × trace → the first place where they differ

Classes: `Model`, `Trace`, `UnmaskError`.

Packages with public names of their own: `unmask.recurrences` (write a program), `unmask.samplers` (samplers of masked
diffusion), `unmask.problems`, `unmask.programs`, `unmask.engines`, `unmask.numerics`, `unmask.weights`,
`unmask.verification`, `unmask.viewer`, `unmask.lab`.

`help(unmask.compile_problem)` shows the arguments and an example. `unmask --help` lists the commands.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names
from unmask.traces.notebook import draw_with

if TYPE_CHECKING:
    from unmask.api import (
        compare_frameworks,
        compile_problem,
        compile_program,
        convert_model,
        decide_words,
        generate,
        load_model,
        prove_conversion,
        prove_family,
        run_word,
        save_model,
        verify_model,
    )
    from unmask.errors import UnmaskError
    from unmask.export.export_model import export_model
    from unmask.traces.trace import Trace
    from unmask.traces.trace_differences import first_difference
    from unmask.weights.model import Model

__all__ = [
    "Model",
    "Trace",
    "UnmaskError",
    "compare_frameworks",
    "compile_problem",
    "compile_program",
    "convert_model",
    "decide_words",
    "export_model",
    "first_difference",
    "generate",
    "load_model",
    "prove_conversion",
    "prove_family",
    "run_word",
    "save_model",
    "verify_model",
]
__version__ = "0.3.0"

_ELSEWHERE = {
    "Model": "unmask.weights.model",
    "Trace": "unmask.traces.trace",
    "UnmaskError": "unmask.errors",
    "export_model": "unmask.export.export_model",
    "first_difference": "unmask.traces.trace_differences",
}
__getattr__, __dir__ = lazy_names(__name__, {name: _ELSEWHERE.get(name, "unmask.api") for name in __all__})


def _html_frame(trace: "Trace") -> str:
    """How a notebook shows a trace."""
    from unmask.viewer.html_page import html_frame

    return html_frame(trace)


draw_with(_html_frame)
