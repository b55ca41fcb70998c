"""The list of all theorems that are converters, and the shortest chain of them from one kind to another."""

from collections import deque
from collections.abc import Iterator

from unmask.errors import UnmaskError
from unmask.limits import check
from unmask.theorems.causal_and_unmasked import CAUSAL_TO_UNMASKED, CAUSAL_TO_UNMASKED_BY_BLOCKS, UNMASKED_TO_CAUSAL
from unmask.theorems.cot_and_pcot import COT_TO_PCOT, PCOT_TO_COT, PCOT_TO_COT_ANSWER_ONLY
from unmask.theorems.mdm_and_smdm import MDM_TO_SMDM, SMDM_TO_MDM
from unmask.theorems.mdm_and_topk import MDM_TO_FIXED_K, PLANNER_AND_PREDICTOR_TO_TOPK, TOPK_TO_MDM
from unmask.theorems.mdm_speed_up import MDM_SPEED_UP, STEM, speed_up_by
from unmask.theorems.mdm_to_pcot import MDM_TO_PCOT, MDM_TO_PCOT_PADDED
from unmask.theorems.mdm_to_plt import MDM_TO_PLT
from unmask.theorems.pcot_to_cot_hosted import PCOT_TO_COT_HOSTED
from unmask.theorems.pcot_to_mdm import PCOT_TO_MDM
from unmask.theorems.pcot_to_mdm_mirrored import COT_TO_MDM_MIRRORED, PCOT_TO_MDM_MIRRORED
from unmask.theorems.plt_to_mdm import PLT_TO_MDM, PLT_TO_MDM_PACKED
from unmask.theorems.theorem import Conversion, Theorem, TransformerTheorem
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

THEOREMS: tuple[Theorem, ...] = (
    PLANNER_AND_PREDICTOR_TO_TOPK,
    MDM_TO_SMDM,
    MDM_TO_PLT,
    PLT_TO_MDM,
    COT_TO_PCOT,
    PCOT_TO_COT,
    PCOT_TO_MDM,
    MDM_TO_PCOT,
    SMDM_TO_MDM,
    TOPK_TO_MDM,
)

VARIANTS: tuple[Theorem, ...] = (
    PLT_TO_MDM_PACKED,
    MDM_TO_PCOT_PADDED,
    MDM_TO_FIXED_K,
    PCOT_TO_COT_ANSWER_ONLY,
    PCOT_TO_COT_HOSTED,
    PCOT_TO_MDM_MIRRORED,
    COT_TO_MDM_MIRRORED,
    MDM_SPEED_UP,
)
"""Other converters, which are used only if they are requested by name."""

TRANSFORMER_THEOREMS: tuple[TransformerTheorem, ...] = (
    UNMASKED_TO_CAUSAL,
    CAUSAL_TO_UNMASKED,
    CAUSAL_TO_UNMASKED_BY_BLOCKS,
)


def route(source: Kind, target: Kind) -> list[Theorem]:
    """Return the shortest chain of theorems between two kinds; ties are broken by the order of THEOREMS."""
    last_theorem: dict[Kind, Theorem | None] = {source: None}
    waiting = deque([source])
    while waiting:
        kind = waiting.popleft()
        for theorem in THEOREMS:
            if theorem.source == kind and theorem.target not in last_theorem:
                last_theorem[theorem.target] = theorem
                waiting.append(theorem.target)
    chain: list[Theorem] = []
    while (theorem := last_theorem.get(target)) is not None:
        chain.insert(0, theorem)
        target = theorem.source
    if not chain or chain[0].source != source:
        raise UnmaskError(f"the model is of kind {source} already; name another kind")
    return chain


def theorem_with_option(stem: str) -> tuple[Theorem, ...]:
    """Return the theorem that a stem with an option names, such as `mdm_speed_up:3`; empty for any other stem."""
    name, _, factor = stem.partition(":")
    return (speed_up_by(int(factor)),) if name == STEM and factor.isascii() and factor.isdigit() else ()


def named_theorem(stem: str, source: Kind, target: Kind) -> Theorem:
    """Return the theorem with this stem; raise if it does not convert `source` to `target`."""
    for theorem in (*THEOREMS, *VARIANTS, *theorem_with_option(stem)):
        if theorem.stem == stem:
            if (theorem.source, theorem.target) != (source, target):
                raise UnmaskError(f"{stem} takes {theorem.source} to {theorem.target}, not {source} to {target}")
            return theorem
    stems = ", ".join(theorem.stem for theorem in (*THEOREMS, *VARIANTS))
    raise UnmaskError(f"unknown conversion {stem!r}; use one of {stems}")


def convert(model: Model, target: Kind, *, by: str | None = None) -> Iterator[tuple[Theorem, Conversion]]:
    """Yield each theorem of the chain with its conversion, one after the other."""
    chain = route(model.kind, target) if by is None else [named_theorem(by, model.kind, target)]
    for theorem in chain:
        conversion = theorem.convert(model)
        check()
        yield theorem, conversion
        model = conversion.model
