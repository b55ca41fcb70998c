"""The folder of a training run: its config, its checkpoint, its progress and its result."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import safetensors
import safetensors.torch
import torch

from unmask.errors import FolderError
from unmask.files import check_file, check_file_replaceable, is_partial, make_folders, remove_folders, write_file
from unmask.lab.settings import Config, read_run_config
from unmask.lab.trained_network import TrainedNetwork
from unmask.weights.tensors import check_distinct_names


class TrainingMoment(msgspec.Struct, frozen=True):
    """The state after `step` batches: the loss of the last one, and the share of right answers on the watched words."""

    step: int
    loss: float
    right: float
    cpu_seconds: float


class TrainingProgress(msgspec.Struct, frozen=True):
    """The progress of a run; `ended` says why it is over: converged, steps or seconds."""

    step: int = 0
    cpu_seconds: float = 0.0
    history: tuple[TrainingMoment, ...] = ()
    ended: str | None = None

    def to_json(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


# Checkpoint: weights, moments of the optimiser and progress in one folder, each file written completely or not at all.
#
#     config.json               the run
#     checkpoint.safetensors    weights and the optimiser's moments; its metadata holds the progress and the config
#     model.safetensors         the weights of a run that is over, and its config
#     result.json               the result
#
# One file holds all that a run continues from, so that a kill between two files cannot separate them.


CONFIG, CHECKPOINT, WEIGHTS, RESULT = "config.json", "checkpoint.safetensors", "model.safetensors", "result.json"
WEIGHTS_OF = "weights."  # prefix of their names in a checkpoint
MOMENTS = ("exp_avg", "exp_avg_sq")
LARGEST_WEIGHTS = 1 << 30  # most bytes of weights
EARLIER = {
    CONFIG: re.compile(rb"(?!)"),  # never replaced
    CHECKPOINT: re.compile(rb'[\s\S]{8}\{"__metadata__":\{[^\0]{0,9000}"progress":"'),
    WEIGHTS: re.compile(rb'[\s\S]{8}\{"__metadata__":\{[^\0]{0,9000}"config":"'),
    RESULT: re.compile(rb'\{\n "right": '),
}
"""Name prefixes of the files of a run that the next write may replace."""


def check_folder(folder: Path, config: Config) -> None:
    """Refuse a folder that is not of this run, or that contains files that no run wrote."""
    if (folder / CONFIG).exists():
        stored = read_run_config(folder / CONFIG)
        if stored != config:
            raise FolderError(
                f"{folder} contains another run, {config_difference(stored, config)}; choose another folder, or "
                "remove this one"
            )
        for name in (CHECKPOINT, WEIGHTS, RESULT):
            check_file_replaceable(folder / name, earlier=EARLIER[name])
        return
    if folder.exists() and (not folder.is_dir() or any(not _is_scratch(path) for path in folder.iterdir())):
        raise FolderError(f"{folder} is not a folder of the lab; choose a name that does not exist")


def open_folder(folder: Path, config: Config) -> None:
    """Create the folder unless the run was begun there; remove temporary files that a killed process left."""
    for path in folder.glob(".*") if folder.is_dir() else ():
        if _is_scratch(path):
            path.unlink(missing_ok=True)
    if (folder / CONFIG).exists():
        return
    created: list[Path] = []
    try:
        make_folders(folder, created)
        _write(folder, CONFIG, json.dumps(msgspec.to_builtins(config), indent=1).encode())
    except BaseException as error:
        remove_folders(created)
        if isinstance(error, OSError):
            raise FolderError(f"{folder} cannot be created: {error.strerror}; choose another name") from None
        raise


def remove_run(folder: Path) -> None:
    """Remove the files of a run, and the folder if it holds nothing else."""
    for name in EARLIER:
        with suppress(OSError, FolderError):
            check_file_replaceable(folder / name, earlier=EARLIER[name] if name != CONFIG else re.compile(rb"\{"))
            (folder / name).unlink()
    with suppress(OSError):
        folder.rmdir()


def _write(folder: Path, name: str, content: bytes) -> None:
    write_file(folder / name, content, earlier=EARLIER[name])


def _is_scratch(path: Path) -> bool:
    """Return whether this is a temporary file of a run that was killed."""
    return any(is_partial(path, name) for name in EARLIER)


def _named(config: Config) -> dict[str, str]:
    return {"config": json.dumps(msgspec.to_builtins(config), sort_keys=True)}


def config_difference(stored: Config, requested: Config) -> str:
    """Describe the first setting in which two runs differ: `of the problem group:S3, not group:A5`."""
    for left, right, prefix in ((stored, requested, ""), (stored.shape, requested.shape, "shape.")):
        for name in left.__struct_fields__:
            if name != "shape" and getattr(left, name) != getattr(right, name):
                return f"whose {prefix}{name} is {getattr(left, name)}, not {getattr(right, name)}"
    return "of the same config"


def save_checkpoint(
    folder: Path, config: Config, network: TrainedNetwork, optimizer: torch.optim.Optimizer, progress: TrainingProgress
) -> None:
    tensors = {f"{WEIGHTS_OF}{name}": tensor for name, tensor in network.state_dict().items()}
    for name, parameter in network.named_parameters():
        for moment in MOMENTS:
            if moment in optimizer.state.get(parameter, {}):
                tensors[f"{moment}.{name}"] = optimizer.state[parameter][moment]
    text = json.dumps(progress.to_json())
    _write(folder, CHECKPOINT, safetensors.torch.save(tensors, metadata={"progress": text, **_named(config)}))


def resume(folder: Path, config: Config, network: TrainedNetwork, optimizer: torch.optim.Optimizer) -> TrainingProgress:
    """Load the checkpoint of a folder, if it has one, into the network and its optimiser."""
    path = folder / CHECKPOINT
    if not path.exists():
        return TrainingProgress()
    tensors, metadata = _tensors(path)
    try:
        if metadata["config"] != _named(config)["config"]:
            raise ValueError(metadata["config"])
        progress = msgspec.convert(json.loads(metadata["progress"]), TrainingProgress)
        network.load_state_dict(_without_prefix(tensors, WEIGHTS_OF))
        for name, parameter in network.named_parameters():
            if f"exp_avg.{name}" in tensors:
                optimizer.state[parameter] = {
                    "step": torch.tensor(float(progress.step), device=parameter.device),
                    **{moment: tensors[f"{moment}.{name}"].to(parameter.device) for moment in MOMENTS},
                }
    except (KeyError, ValueError, RuntimeError, msgspec.ValidationError):
        raise FolderError(f"{path} is not a checkpoint of this run; remove it to start again") from None
    return progress


def finish_run(folder: Path, config: Config, network: TrainedNetwork, result: dict) -> None:
    tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    _write(folder, WEIGHTS, safetensors.torch.save(tensors, metadata=_named(config)))
    _write(folder, RESULT, json.dumps(result, indent=1).encode())


def load_weights(folder: Path, config: Config, network: TrainedNetwork) -> None:
    """Load the weights of a finished run, or of its last checkpoint."""
    path, prefix = folder / WEIGHTS, ""
    if not path.exists():
        path, prefix = folder / CHECKPOINT, WEIGHTS_OF
    if not path.exists():
        raise FolderError(f"{folder} has no weights yet; train them with `unmask lab train … --out {folder}`")
    tensors, metadata = _tensors(path)
    try:
        if metadata.get("config") != _named(config)["config"]:
            raise RuntimeError(metadata)
        network.load_state_dict(_without_prefix(tensors, prefix))
    except RuntimeError:
        raise FolderError(f"{path} contains weights that do not belong to its config.json; train it again") from None


def _without_prefix(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    check_file(path, str(path), most=LARGEST_WEIGHTS, error=FolderError)
    try:
        with safetensors.safe_open(path, "pt") as file:
            check_distinct_names(path)
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise FolderError(f"{path} is damaged ({str(error)[:80]}); remove it to start again") from None
