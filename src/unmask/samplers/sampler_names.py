"""Names → samplers: `llada:remasking=random,block_length=8` with the parameters of the published code.

`planner:left-to-right:1` is the sampler of a planner (`reasoners/planners.py`).

A sampler that takes `steps` gets them from a budget of passes unless the name fixes them; the others decide themselves
how many passes they make.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import ceil
from typing import Any

from unmask.errors import shortened
from unmask.reasoners.planners import parse_planner
from unmask.samplers.editing_rules import BlockRefinement, DiffusionGemma, JointThreshold, Llada21
from unmask.samplers.problem_subject import Subject
from unmask.samplers.remasking_rules import P2, Remdm
from unmask.samplers.rule_interface import Sampler, SamplerError, block_count, starts_from_noise
from unmask.samplers.sampling_loop import Sample, sample
from unmask.samplers.write_once_rules import Bisection, Dream, EntropyBound, FastDllm, Llada, PlannedSampler

PLANNED = "planner"
RULES: dict[str, type[Any]] = {
    "llada": Llada,
    "dream": Dream,
    "fast-dllm": FastDllm,
    "eb": EntropyBound,
    "p2": P2,
    "remdm": Remdm,
    "bisection": Bisection,
    "llada2.1": Llada21,
    "joint-threshold": JointThreshold,
    "diffusion-gemma": DiffusionGemma,
    "block-refinement": BlockRefinement,
    PLANNED: PlannedSampler,
}
STEPS = ("steps", "num_inference_steps")  # names of the number of passes in published code
NOT_TYPED = ("planner",)  # parameters that are functions
DEFAULT_SAMPLERS = (
    "llada:remasking=low_confidence",
    "llada:remasking=random",
    "llada:block_length=QUARTER",
    "llada:scheduler=linear",
    "llada:scheduler=cosine",
    "llada:scheduler=halving",
    "dream:alg=origin",
    "dream:alg=maskgit_plus",
    "dream:alg=topk_margin",
    "dream:alg=entropy",
    "dream:alg=maskgit_plus,scheduler=linear",
    "dream:alg=topk_margin,scheduler=linear",
    "dream:alg=entropy,scheduler=linear",
    "fast-dllm:threshold=0.9",
    "fast-dllm:factor=1",
    "eb:gamma=0.1",
    "p2:score=logP",
    "p2:score=logP,scored=xt",
    "remdm:variant=cap",
    "remdm:variant=rescale",
    "remdm:variant=conf",
    "bisection",
)
"""Samplers that are compared by default; QUARTER is a quarter of the slots, SLOTS their number."""
EDITING_SAMPLERS = (
    "llada2.1",
    "llada2.1:num_to_transfer=SLOTS",
    "joint-threshold",
    "diffusion-gemma",
    "block-refinement",
    "block-refinement:editing_threshold=0",
)
"""Samplers that change written slots. A law is not compared with them: given all slots, it says nothing new."""


@dataclass(frozen=True)
class NamedSampler:
    """A rule and the parameters that its name gives."""

    rule: type[Any]
    parameters: dict[str, Any]

    @property
    def takes_steps(self) -> bool:
        """Return whether a budget decides how many passes it makes."""
        names = {field.name for field in fields(self.rule)} & set(STEPS)
        return bool(names - set(self.parameters)) and self.parameters.get("scheduler") != "halving"

    @property
    def from_noise(self) -> bool:
        """Return whether it starts from random symbols instead of masks."""
        return starts_from_noise(self.rule)

    def make(self, steps: int = 1, **defaults: Any) -> Sampler:
        """Return the sampler; `defaults` are used for parameters that its name does not set."""
        names = {field.name for field in fields(self.rule)}
        values = {name: value for name, value in {**dict.fromkeys(STEPS, steps), **defaults}.items() if name in names}
        return self.rule(**{**values, **self.parameters})

    @property
    def label(self) -> str:
        return self.make().label

    @property
    def remasks(self) -> str:
        return self.make().remasks

    def sampled(self, subject: Subject, budget: int, seed: int) -> Sample | None:
        """Run the sampler on every word with at most this number of passes; None if it has more blocks than that."""
        sampler = self.within(budget, subject.slots)
        return None if sampler is None else sample(subject.predictor, sampler, subject.blank, seed=seed)

    def within(self, budget: int, slots: int, **defaults: Any) -> Sampler | None:
        """Return the sampler with at most this number of passes; None if it has more blocks than that.

        Steps are divided among blocks and rounded up, so only multiples of the number of blocks are met exactly.
        """
        blocks = block_count(slots, self.parameters.get("block_length")) if self.takes_steps else 1
        return self.make(budget // blocks * blocks, **defaults) if budget >= blocks else None


def named_samplers(slots: int, names: tuple[str, ...] = DEFAULT_SAMPLERS) -> list[NamedSampler]:
    """Return the samplers of these names, for a canvas of this number of slots."""
    sizes = {"QUARTER": max(1, ceil(slots / 4)), "SLOTS": slots}
    for word, size in sizes.items():
        names = tuple(name.replace(word, str(size)) for name in names)
    return [parse_sampler(name) for name in names]


def parse_sampler(text: str) -> NamedSampler:
    """Parse NAME, NAME:PARAMETER=VALUE,… or planner:PLANNER."""
    name, _, rest = text.partition(":")
    if name.endswith(".py"):
        raise SamplerError(
            f"{shortened(text)!r} is a function of your own, which a law cannot be compared with; give a problem"
        )
    if name not in RULES:
        raise SamplerError(f"unknown sampler {shortened(name)!r}; use one of {', '.join(RULES)}")
    if name == PLANNED:
        return NamedSampler(PlannedSampler, {"planner": parse_planner(rest, tape=None), "label": f"planner {rest}"})
    parameter_names = [field.name for field in fields(RULES[name]) if field.name not in NOT_TYPED]
    entry = NamedSampler(RULES[name], named_parameters(name, rest, parameter_names, number_or_text))
    entry.make()  # an invalid parameter is refused here
    return entry


def named_parameters(name: str, text: str, names: Sequence[str], read: Callable[[str], Any]) -> dict[str, Any]:
    """Parse PARAMETER=VALUE,… of the sampler `name`; refuse unknown and repeated parameters."""
    parameters: dict[str, Any] = {}
    for assignment in text.split(",") if text else ():
        key, equals, value = assignment.partition("=")
        if not equals or key not in names:
            raise SamplerError(
                f"{name} has no parameter {shortened(assignment)!r}; "
                f"write PARAMETER=VALUE with one of {', '.join(names)}"
            )
        if key in parameters:
            raise SamplerError(f"{name} is given {key} twice; give it once")
        parameters[key] = read(value)
    return parameters


CONSTANTS = {"None": None, "True": True, "False": False}


def parameter_value(text: str) -> int | float | str | bool | None:
    """Return a Python constant or a number if the text is one, otherwise the text."""
    return CONSTANTS[text] if text in CONSTANTS else number_or_text(text)


def number_or_text(text: str) -> int | float | str:
    """Return a number if the text is one, otherwise the text: our own rules take neither None nor truth values."""
    for number in (int, float):
        try:
            return number(text) if len(text) < 40 and text.isascii() else text
        except ValueError:
            continue
    return text
