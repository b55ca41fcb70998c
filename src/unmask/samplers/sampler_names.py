"""Names → samplers: `llada:remasking=random,block_length=8` with the parameters of the published code.

A sampler that takes `steps` gets them from a budget of passes unless the name fixes them; the others decide themselves
how many passes they make.
"""

from dataclasses import dataclass, fields
from math import ceil
from typing import Any

from unmask.errors import shortened
from unmask.samplers.remasking_rules import P2, Remdm
from unmask.samplers.rule_interface import Sampler, SamplerError, block_count
from unmask.samplers.write_once_rules import Bisection, Dream, EntropyBound, FastDllm, Llada

RULES: dict[str, type[Any]] = {
    "llada": Llada,
    "dream": Dream,
    "fast-dllm": FastDllm,
    "eb": EntropyBound,
    "p2": P2,
    "remdm": Remdm,
    "bisection": Bisection,
}
NOT_TYPED = ("planner",)  # parameters that are functions
ZOO = (
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
"""What is compared by default; QUARTER is a quarter of the slots."""


@dataclass(frozen=True)
class Entry:
    """A rule and the parameters that its name gives."""

    rule: type[Any]
    parameters: dict[str, Any]

    @property
    def takes_steps(self) -> bool:
        """Whether a budget decides how many passes it makes."""
        names = {field.name for field in fields(self.rule)}
        return "steps" in names and "steps" not in self.parameters and self.parameters.get("scheduler") != "halving"

    def make(self, steps: int = 1, **defaults: Any) -> Sampler:
        """The sampler; `defaults` are taken for parameters that it has and its name does not give."""
        names = {field.name for field in fields(self.rule)}
        given = {name: value for name, value in {"steps": steps, **defaults}.items() if name in names}
        return self.rule(**{**given, **self.parameters})

    def within(self, budget: int, slots: int, **defaults: Any) -> Sampler | None:
        """Return the sampler with at most this number of passes; None if it has more blocks than that.

        Steps are shared among blocks and rounded up, so that only a multiple of the blocks is kept to.
        """
        blocks = block_count(slots, self.parameters.get("block_length")) if self.takes_steps else 1
        return self.make(budget // blocks * blocks, **defaults) if budget >= blocks else None


def zoo(slots: int, names: tuple[str, ...] = ZOO) -> list[Entry]:
    """Return the samplers of these names, for a canvas of this number of slots."""
    return [parse_sampler(name.replace("QUARTER", str(max(1, ceil(slots / 4))))) for name in names]


def parse_sampler(text: str) -> Entry:
    """NAME or NAME:PARAMETER=VALUE,…"""
    name, _, rest = text.partition(":")
    if name.endswith(".py"):
        raise SamplerError(
            f"{shortened(text)!r} is a function of your own; test it with `unmask bench run --sampler FILE.py:NAME`"
        )
    if name not in RULES:
        raise SamplerError(f"unknown sampler {shortened(name)!r}; use one of {', '.join(RULES)}")
    known = [field.name for field in fields(RULES[name]) if field.name not in NOT_TYPED]
    parameters: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not equals or key not in known:
            raise SamplerError(
                f"{name} has no parameter {shortened(part)!r}; write PARAMETER=VALUE with one of {', '.join(known)}"
            )
        if key in parameters:
            raise SamplerError(f"{name} is given {key} twice; give it once")
        parameters[key] = parameter_value(value)
    entry = Entry(RULES[name], parameters)
    entry.make()  # a parameter that it cannot have is refused here
    return entry


def parameter_value(text: str) -> int | float | str:
    """A number, if the text is one."""
    for number in (int, float):
        try:
            return number(text) if len(text) < 40 and text.isascii() else text
        except ValueError:
            continue
    return text
