"""Progress: how a run went, as its folder keeps it."""

from typing import Any

import msgspec


class Moment(msgspec.Struct, frozen=True):
    """After `step` batches: the loss of the last one, and the share of right answers on words that are only watched."""

    step: int
    loss: float
    right: float
    cpu_seconds: float


class Progress(msgspec.Struct, frozen=True):
    """Where a run stands; `ended` says why it is over: converged, steps or seconds."""

    step: int = 0
    cpu_seconds: float = 0.0
    history: tuple[Moment, ...] = ()
    ended: str | None = None

    def to_json(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)
