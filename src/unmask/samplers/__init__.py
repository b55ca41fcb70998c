"""The field's samplers, under the field's names, over any predictor; floats are allowed here.

Predictor × Sampler × canvas ──passes/──▶ Sample
PROBLEM × N ──exam/──▶ right answers, orders, first wrong writes, least passes
law:FILE × N ──laws/──▶ the exact law of a sampler, KL and total variation

`rules/` holds the samplers and `zoo` finds them by name, `predictors/` are what they sample from, `report/` shows what
was measured.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.samplers.exam.measure import budgets_for, examine
    from unmask.samplers.exam.order import Order
    from unmask.samplers.exam.report import ExamReport
    from unmask.samplers.exam.subject import Subject
    from unmask.samplers.laws.conditionals import LawPredictor
    from unmask.samplers.laws.law_file import law_from_json, read_law
    from unmask.samplers.laws.measure import Bench
    from unmask.samplers.passes.beliefs import Beliefs, surest
    from unmask.samplers.passes.predictor import Predictor
    from unmask.samplers.passes.sample import Sample, masks, sample
    from unmask.samplers.passes.state import Sampler, State
    from unmask.samplers.predictors.compiled import CompiledPredictor
    from unmask.samplers.predictors.hugging_face import HuggingFacePredictor
    from unmask.samplers.rules.dream import Dream
    from unmask.samplers.rules.entropy_bound import EntropyBound
    from unmask.samplers.rules.fast_dllm import FastDllm
    from unmask.samplers.rules.llada import Llada
    from unmask.samplers.rules.p2 import P2
    from unmask.samplers.rules.remdm import Remdm
    from unmask.samplers.zoo import parse_sampler

__all__ = [
    "P2",
    "Beliefs",
    "Bench",
    "CompiledPredictor",
    "Dream",
    "EntropyBound",
    "ExamReport",
    "FastDllm",
    "HuggingFacePredictor",
    "LawPredictor",
    "Llada",
    "Order",
    "Predictor",
    "Remdm",
    "Sample",
    "Sampler",
    "State",
    "Subject",
    "budgets_for",
    "examine",
    "law_from_json",
    "masks",
    "parse_sampler",
    "read_law",
    "sample",
    "surest",
]

_MODULES = {
    "Beliefs": "unmask.samplers.passes.beliefs",
    "Bench": "unmask.samplers.laws.measure",
    "CompiledPredictor": "unmask.samplers.predictors.compiled",
    "Dream": "unmask.samplers.rules.dream",
    "EntropyBound": "unmask.samplers.rules.entropy_bound",
    "ExamReport": "unmask.samplers.exam.report",
    "FastDllm": "unmask.samplers.rules.fast_dllm",
    "HuggingFacePredictor": "unmask.samplers.predictors.hugging_face",
    "LawPredictor": "unmask.samplers.laws.conditionals",
    "Llada": "unmask.samplers.rules.llada",
    "Order": "unmask.samplers.exam.order",
    "P2": "unmask.samplers.rules.p2",
    "Predictor": "unmask.samplers.passes.predictor",
    "Remdm": "unmask.samplers.rules.remdm",
    "Sample": "unmask.samplers.passes.sample",
    "Sampler": "unmask.samplers.passes.state",
    "State": "unmask.samplers.passes.state",
    "Subject": "unmask.samplers.exam.subject",
    "budgets_for": "unmask.samplers.exam.measure",
    "examine": "unmask.samplers.exam.measure",
    "law_from_json": "unmask.samplers.laws.law_file",
    "masks": "unmask.samplers.passes.sample",
    "parse_sampler": "unmask.samplers.zoo",
    "read_law": "unmask.samplers.laws.law_file",
    "sample": "unmask.samplers.passes.sample",
    "surest": "unmask.samplers.passes.beliefs",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
