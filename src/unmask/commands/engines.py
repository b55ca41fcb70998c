"""The name of an engine → the engine; torch is imported only if it is asked for."""

from enum import StrEnum

from unmask.engines.engine import Engine


def engine_named(name: StrEnum) -> Engine:
    """The engine that a command was asked to use."""
    if name.value == "torch":
        from unmask.export.torch.engine import TorchEngine

        return TorchEngine()
    from unmask.pipeline import ENGINES

    return ENGINES[name.value]()
