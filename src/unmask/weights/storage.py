"""Model ↔ model folder: written whole or not at all, the same bytes for the same model."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from unmask.errors import FolderError, TooLarge, UnmaskError, WeightsError, shortened
from unmask.files import read_file
from unmask.numerics.precision import Precision
from unmask.weights.config import FORMAT, Config, FileEntry, config_of, read_config
from unmask.weights.limits import LARGEST_CONFIG, LARGEST_STEPS, LARGEST_TABLE
from unmask.weights.model import Model
from unmask.weights.tensors import read_transformer, tensor_bytes
from unmask.weights.transformer import Transformer
from unmask.writing import write_folder

CONFIG = "config.json"


def save(model: Model, folder: str | os.PathLike[str]) -> Path:
    """Write the folder whole or not at all.

    A model folder that stands there already is replaced; anything else is left alone.

    Examples:
        >>> folder = save_model(compile_problem("(a|b)*abb", "mdm", length=9), "models/abb")
        >>> sorted(path.name for path in folder.iterdir())
        ['config.json', 'planner.safetensors', 'predictor.safetensors']
    """
    return write_folder(Path(folder), _files(model), check=check_replaceable)


def load(folder: str | os.PathLike[str]) -> Model:
    """Read a folder from anywhere: every shape, index, value and type is checked, nothing in it is run.

    Examples:
        >>> load_model(save_model(compile_problem("group:A5", "cot", length=4), "models/a5"))
        Model(cot, N = 4, P = 4, T = 4, F_2, group:A5)
    """
    path = Path(folder)
    config = read_config(path / CONFIG)
    rows = config.length + config.padding
    if rows > LARGEST_TABLE:
        raise TooLarge(
            f"config.json of {path} asks for {rows} rows, beyond the limit of {LARGEST_TABLE}; use a smaller model"
        )
    if config.steps > LARGEST_STEPS:
        raise TooLarge(f"config.json of {path} asks for {config.steps} steps, beyond {LARGEST_STEPS}; use fewer")
    precision = Precision(config.precision)
    registers = config.registers if isinstance(config.registers, dict) else {}
    transformers: dict[str, Transformer] = {
        name: read_transformer(path / entry.file, entry, precision, registers.get(name))
        for name, entry in config.transformers.items()
    }
    _check_files(path, config)
    try:
        return Model(**config.model_fields(), transformers=transformers)
    except WeightsError as error:
        raise FolderError(f"{path}: {error}") from None


def _check_files(path: Path, config: Config) -> None:
    """Are the files those that config.json was written with? Where it names none, nobody can tell."""
    read = {entry.file for entry in config.transformers.values()}
    for name, entry in (config.files or {}).items():
        if name not in read:
            raise FolderError(f"config.json of {path} describes the file {shortened(name)!r}, which no transformer has")
        with (path / name).open("rb") as file:
            found = FileEntry(os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest())
        if found != entry:
            raise FolderError(
                f"{name} of {path} is not the file that config.json describes: it has {found.size:,} bytes with the "
                f"SHA-256 {found.sha256[:12]}…, not {entry.size:,} with {entry.sha256[:12]}…; "
                'make the folder again, or remove "files" from config.json if the change is meant'
            )


def content_hash(model: Model) -> str:
    """SHA-256 over the files of the model's folder: equal models, equal hashes."""
    return _hash(_files(model))


def stored_hash(model: Model, folder: Path) -> str:
    """The same of a model that was just saved, from the bytes in its folder."""
    names = (*(f"{name}.safetensors" for name in model.transformers), CONFIG)
    return _hash((name, (folder / name).read_bytes()) for name in names)


def _hash(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(model: Model) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file; config.json comes last and describes the others."""
    described = {f"{name}.safetensors": _described(b"") for name in model.transformers}
    _check_config(_config(model, described))
    for name, transformer in model.transformers.items():
        content = tensor_bytes(transformer)
        described[f"{name}.safetensors"] = _described(content)
        yield f"{name}.safetensors", content
    yield CONFIG, _config(model, described)


def _described(content: bytes) -> dict[str, int | str]:
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _config(model: Model, files: dict[str, dict[str, int | str]]) -> bytes:
    return (_json({**config_of(model), "files": files}) + "\n").encode("utf-8", "backslashreplace")


def _check_config(config: bytes) -> None:
    if len(config) > LARGEST_CONFIG:
        raise TooLarge(
            f"config.json would take {len(config) >> 20} MB, beyond the limit of {LARGEST_CONFIG >> 20} MB; "
            "take a model with fewer symbols and columns"
        )


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
    if any(path.name != CONFIG and path.suffix != ".safetensors" for path in target.iterdir()):
        return False
    try:
        content = read_file(target / CONFIG, CONFIG, most=LARGEST_CONFIG, error=FolderError)
    except UnmaskError:
        return False
    return f'"format": "{FORMAT}"'.encode() in content[:200]
