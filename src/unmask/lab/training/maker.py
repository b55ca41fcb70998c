"""What a run's last digits depend on beside its config: the versions, and the instructions that torch uses here."""

from importlib.metadata import version

import torch


def maker() -> dict[str, str]:
    return {
        "unmask": version("unmask"),
        "torch": torch.__version__,
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }
