"""A test bench for samplers and engines of masked diffusion models: models whose truth is known, and named checks.

ROW ──reference_models──▶ compiled, exported, described ──bench_folder──▶ a folder that grades without unmask
folder ──loaded_model──▶ LoadedModel
generate × LoadedModel ──trial, observed_run──▶ canvases, predictions, writes ──checks, run_checks──▶ Report
Report ──checks_page──▶ HTML page

ROW ──circuits──▶ which heads and MLPs decide what, found by switching them off (`ablated_bert`); a proposal → a score

A check goes into `checks` or `comparison_checks`, a model into `reference_models`, a call of a published sampler into
`adapters`. `check_sampler` runs everything; `pytest_plugin` runs it as tests. `user_function` makes a sampler of
`unmask samplers` from a function of the user. `programs` contains the programs of some reference models.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.bench.ablated_bert import AblatedBert
    from unmask.bench.adapters import check_sampler, sampler_named
    from unmask.bench.bench_folder import cached_model, write_bench_folder
    from unmask.bench.circuits import CircuitScore, circuit_files, read_circuit, score_circuit
    from unmask.bench.loaded_model import LoadedModel, load_reference
    from unmask.bench.observed_run import NotApplicable
    from unmask.bench.pytest_plugin import parametrize_with_checks
    from unmask.bench.reference_models import REFERENCE_MODELS, ReferenceRow, reference_row
    from unmask.bench.run_checks import Report, run_checks

__all__ = [
    "REFERENCE_MODELS",
    "AblatedBert",
    "CircuitScore",
    "LoadedModel",
    "NotApplicable",
    "ReferenceRow",
    "Report",
    "cached_model",
    "check_sampler",
    "circuit_files",
    "load_reference",
    "parametrize_with_checks",
    "read_circuit",
    "reference_row",
    "run_checks",
    "sampler_named",
    "score_circuit",
    "write_bench_folder",
]

_MODULES = {
    "AblatedBert": "unmask.bench.ablated_bert",
    "CircuitScore": "unmask.bench.circuits",
    "LoadedModel": "unmask.bench.loaded_model",
    "NotApplicable": "unmask.bench.observed_run",
    "REFERENCE_MODELS": "unmask.bench.reference_models",
    "ReferenceRow": "unmask.bench.reference_models",
    "Report": "unmask.bench.run_checks",
    "cached_model": "unmask.bench.bench_folder",
    "check_sampler": "unmask.bench.adapters",
    "circuit_files": "unmask.bench.circuits",
    "load_reference": "unmask.bench.loaded_model",
    "parametrize_with_checks": "unmask.bench.pytest_plugin",
    "read_circuit": "unmask.bench.circuits",
    "reference_row": "unmask.bench.reference_models",
    "run_checks": "unmask.bench.run_checks",
    "sampler_named": "unmask.bench.adapters",
    "score_circuit": "unmask.bench.circuits",
    "write_bench_folder": "unmask.bench.bench_folder",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
