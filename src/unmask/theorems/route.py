"""Kind → kind: one theorem, or the shortest chain of them."""

from collections import deque
from collections.abc import Iterator

from unmask.budget import check
from unmask.errors import UnmaskError
from unmask.theorems.catalogue import THEOREMS, VARIANTS
from unmask.theorems.theorem import Conversion, Theorem
from unmask.weights.model import Kind, Model


def route(source: Kind, target: Kind) -> list[Theorem]:
    """The shortest chain of theorems; among equals, the one that comes first in THEOREMS."""
    came: dict[Kind, Theorem | None] = {source: None}
    waiting = deque([source])
    while waiting:
        kind = waiting.popleft()
        for theorem in THEOREMS:
            if theorem.source == kind and theorem.target not in came:
                came[theorem.target] = theorem
                waiting.append(theorem.target)
    chain: list[Theorem] = []
    while (step := came.get(target)) is not None:
        chain.insert(0, step)
        target = step.source
    if not chain or chain[0].source != source:
        raise UnmaskError(f"the model is of kind {source} already; name another kind")
    return chain


def named(stem: str, source: Kind, target: Kind) -> Theorem:
    """The theorem of that stem, if it leads from one kind to the other."""
    for theorem in (*THEOREMS, *VARIANTS):
        if theorem.stem == stem:
            if (theorem.source, theorem.target) != (source, target):
                raise UnmaskError(f"{stem} takes {theorem.source} to {theorem.target}, not {source} to {target}")
            return theorem
    known = ", ".join(theorem.stem for theorem in (*THEOREMS, *VARIANTS))
    raise UnmaskError(f"there is no conversion {stem!r}; use one of {known}")


def convert(model: Model, target: Kind, *, by: str | None = None) -> Iterator[tuple[Theorem, Conversion]]:
    """Every hop of a conversion, as it is made."""
    chain = route(model.kind, target) if by is None else [named(by, model.kind, target)]
    for theorem in chain:
        conversion = theorem.convert(model)
        check()
        yield theorem, conversion
        model = conversion.model
