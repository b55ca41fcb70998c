"""Name of an engine → the engine; torch is imported only for the torch engine."""

from enum import StrEnum

from unmask.engines.engine import Engine


def engine_named(name: StrEnum) -> Engine:
    """Return the engine of this name."""
    if name.value == "torch":
        from unmask.export.torch.engine import TorchEngine

        return TorchEngine()
    from unmask.pipeline import ENGINES

    return ENGINES[name.value]()
