"""Model ↔ model folder: written whole or not at all, the same bytes for the same model."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from unmask.errors import FolderError, TooLarge, WeightsError
from unmask.numerics.precision import Precision
from unmask.weights.config import FORMAT, config_of, read_config
from unmask.weights.model import Model
from unmask.weights.tensors import LARGEST_TABLE, read_transformer, tensor_bytes

LARGEST_STEPS = 1 << 20


def save(model: Model, folder: str | os.PathLike[str]) -> Path:
    """Write the folder under a temporary name beside its place, then move it there.

    A model folder that stands there already is replaced; anything else is left alone.

    Examples:
        >>> folder = save_model(compile_problem("(a|b)*abb", "mdm", length=9), "models/abb")
        >>> sorted(path.name for path in folder.iterdir())
        ['config.json', 'planner.safetensors', 'predictor.safetensors']
    """
    target = Path(folder)
    check_replaceable(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise FolderError(f"{target} cannot be written: {error.strerror}") from None
    try:
        for name, content in _files(model):
            (scratch / name).write_bytes(content)
        scratch.chmod(0o755)
        _move_into_place(scratch, target)
    except OSError as error:
        raise FolderError(f"{target} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def load(folder: str | os.PathLike[str]) -> Model:
    """Read a folder from anywhere: every shape, index, value and type is checked, nothing in it is run.

    Examples:
        >>> load_model(save_model(compile_problem("group:A5", "cot", length=4), "models/a5"))
        Model(cot, N = 4, P = 4, T = 4, F_2, group:A5)
    """
    path = Path(folder)
    config = read_config(path / "config.json")
    rows = config.fields["length"] + config.fields["padding"]
    if rows > LARGEST_TABLE:
        raise TooLarge(
            f"config.json of {path} asks for {rows} rows, beyond the limit of {LARGEST_TABLE}; use a smaller model"
        )
    if config.fields["steps"] > LARGEST_STEPS:
        raise TooLarge(
            f"config.json of {path} asks for {config.fields['steps']} steps, beyond {LARGEST_STEPS}; use fewer"
        )
    precision = Precision(config.precision)
    transformers = {
        name: read_transformer(path / entry.file, entry, precision, config.registers.get(name))
        for name, entry in config.transformers.items()
    }
    try:
        return Model(**config.fields, transformers=transformers)
    except WeightsError as error:
        raise FolderError(f"{path}: {error}") from None


def content_hash(model: Model) -> str:
    """SHA-256 over the files of the model's folder: equal models, equal hashes."""
    digest = hashlib.sha256()
    for name, content in _files(model):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(model: Model) -> Iterator[tuple[str, bytes]]:
    for name, transformer in model.transformers.items():
        yield f"{name}.safetensors", tensor_bytes(transformer)
    yield "config.json", (_json(config_of(model)) + "\n").encode("utf-8", "backslashreplace")


def _json(config: dict) -> str:
    """One key per line; lists stay on theirs."""
    entries = (f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in config.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def check_replaceable(target: Path) -> None:
    """Refuse a place where a folder must not be written, so that long work can ask before it begins."""
    try:
        if not target.exists() and not target.is_symlink():
            return
        if not target.is_dir() or target.is_symlink():
            raise FolderError(f"{target} exists and is not a folder; choose another name")
        if any(target.iterdir()) and not _is_model_folder(target):
            raise FolderError(f"{target} exists and is not a model folder; choose another name or empty it")
    except OSError as error:
        raise FolderError(f"{target} cannot be written: {error.strerror}") from None


def _is_model_folder(target: Path) -> bool:
    """Holds a config.json of ours, and nothing that would be lost beside the files of a model."""
    if any(path.name != "config.json" and path.suffix != ".safetensors" for path in target.iterdir()):
        return False
    try:
        with (target / "config.json").open(encoding="utf-8") as file:
            return f'"format": "{FORMAT}"' in file.read(200)
    except (OSError, UnicodeDecodeError):
        return False


def _move_into_place(scratch: Path, target: Path) -> None:
    if not target.exists():
        scratch.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        target.rename(old / "old")
        scratch.rename(target)
    except BaseException:  # an interrupt between the two moves must not lose the old folder either
        if (old / "old").exists() and not target.exists():
            (old / "old").rename(target)
        shutil.rmtree(old, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
