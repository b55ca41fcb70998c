"""Published samplers over any predictor, measured on problems and laws whose truth is known; floats are allowed here.

Predictor × Sampler × canvas ──sampling_loop──▶ Sample
PROBLEM × N ──problem_subject, problem_comparison──▶ right answers, orders, first wrong writes, least passes
law:FILE × N ──law_comparison──▶ the exact law of a sampler, KL and total variation
law:FILE × N × K ──pass_schedules──▶ the expected KL of schedules, and the best one

`write_once_rules`, `remasking_rules` and `editing_rules` contain the rules, and `sampler_names` their names;
`rule_interface` defines what a rule sees (CONTRIBUTING.md: add a sampler rule). `predictors` are compiled models or
models of Hugging Face. `string_law` reads laws. `masked_information` is the curve from which the cost of a schedule
follows, `exact_passes` the least number of passes for a law, and `write_once_parity` what two passes can do for strings
of even parity. `line_plot` and `report_page` write the page of `--out`.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.samplers.editing_rules import BlockRefinement, DiffusionGemma, JointThreshold, Llada21
    from unmask.samplers.exact_passes import is_linked, least_passes
    from unmask.samplers.law_comparison import Bench
    from unmask.samplers.masked_information import InformationCurve, information_curve
    from unmask.samplers.pass_schedules import (
        PricedSchedule,
        ScheduleReport,
        expected_kl,
        optimal_schedule,
        published_schedules,
    )
    from unmask.samplers.predictors import CompiledPredictor, HuggingFacePredictor
    from unmask.samplers.problem_comparison import ExamReport, budgets_for, examine
    from unmask.samplers.problem_subject import Order, Subject
    from unmask.samplers.remasking_rules import P2, Remdm
    from unmask.samplers.rule_interface import Beliefs, Predictor, Sampler, State, surest
    from unmask.samplers.sampler_names import parse_sampler
    from unmask.samplers.sampling_loop import Sample, masks, sample
    from unmask.samplers.string_law import LawPredictor, law_from_json, read_law
    from unmask.samplers.write_once_parity import write_once_distance
    from unmask.samplers.write_once_rules import Bisection, Dream, EntropyBound, FastDllm, Llada, PlannedSampler

__all__ = [
    "P2",
    "Beliefs",
    "Bench",
    "Bisection",
    "BlockRefinement",
    "CompiledPredictor",
    "DiffusionGemma",
    "Dream",
    "EntropyBound",
    "ExamReport",
    "FastDllm",
    "HuggingFacePredictor",
    "InformationCurve",
    "JointThreshold",
    "LawPredictor",
    "Llada",
    "Llada21",
    "Order",
    "PlannedSampler",
    "Predictor",
    "PricedSchedule",
    "Remdm",
    "Sample",
    "Sampler",
    "ScheduleReport",
    "State",
    "Subject",
    "budgets_for",
    "examine",
    "expected_kl",
    "information_curve",
    "is_linked",
    "law_from_json",
    "least_passes",
    "masks",
    "optimal_schedule",
    "parse_sampler",
    "published_schedules",
    "read_law",
    "sample",
    "surest",
    "write_once_distance",
]

_MODULES = {
    "Beliefs": "unmask.samplers.rule_interface",
    "Bench": "unmask.samplers.law_comparison",
    "Bisection": "unmask.samplers.write_once_rules",
    "BlockRefinement": "unmask.samplers.editing_rules",
    "CompiledPredictor": "unmask.samplers.predictors",
    "DiffusionGemma": "unmask.samplers.editing_rules",
    "Dream": "unmask.samplers.write_once_rules",
    "EntropyBound": "unmask.samplers.write_once_rules",
    "ExamReport": "unmask.samplers.problem_comparison",
    "FastDllm": "unmask.samplers.write_once_rules",
    "HuggingFacePredictor": "unmask.samplers.predictors",
    "InformationCurve": "unmask.samplers.masked_information",
    "JointThreshold": "unmask.samplers.editing_rules",
    "LawPredictor": "unmask.samplers.string_law",
    "Llada": "unmask.samplers.write_once_rules",
    "Llada21": "unmask.samplers.editing_rules",
    "Order": "unmask.samplers.problem_subject",
    "P2": "unmask.samplers.remasking_rules",
    "PlannedSampler": "unmask.samplers.write_once_rules",
    "Predictor": "unmask.samplers.rule_interface",
    "PricedSchedule": "unmask.samplers.pass_schedules",
    "Remdm": "unmask.samplers.remasking_rules",
    "Sample": "unmask.samplers.sampling_loop",
    "Sampler": "unmask.samplers.rule_interface",
    "ScheduleReport": "unmask.samplers.pass_schedules",
    "State": "unmask.samplers.rule_interface",
    "Subject": "unmask.samplers.problem_subject",
    "budgets_for": "unmask.samplers.problem_comparison",
    "examine": "unmask.samplers.problem_comparison",
    "expected_kl": "unmask.samplers.pass_schedules",
    "information_curve": "unmask.samplers.masked_information",
    "is_linked": "unmask.samplers.exact_passes",
    "law_from_json": "unmask.samplers.string_law",
    "least_passes": "unmask.samplers.exact_passes",
    "masks": "unmask.samplers.sampling_loop",
    "optimal_schedule": "unmask.samplers.pass_schedules",
    "parse_sampler": "unmask.samplers.sampler_names",
    "published_schedules": "unmask.samplers.pass_schedules",
    "read_law": "unmask.samplers.string_law",
    "sample": "unmask.samplers.sampling_loop",
    "surest": "unmask.samplers.rule_interface",
    "write_once_distance": "unmask.samplers.write_once_parity",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
