"""Model ↔ model folder: written completely or not at all, the same bytes for the same model."""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from unmask.errors import FolderError, TooLarge, UnmaskError, WeightsError, shortened
from unmask.files import joined_names, write_folder
from unmask.numerics.arithmetic import Precision
from unmask.weights.config_json import FileEntry, FolderConfig, config_of, read_config
from unmask.weights.model import Model
from unmask.weights.size_limits import LARGEST_CONFIG, LARGEST_STEPS, LARGEST_TABLE
from unmask.weights.tensors import read_transformer, tensor_bytes
from unmask.weights.transformer import Transformer

CONFIG = "config.json"
SUMS = "SHA256SUMS"
"""The file that lists the files of `save` with their digests. It is not needed to read a model."""
SUMS_HEADING = "# unmask replaces this folder only if it holds these files, unchanged, and no others\n"
LARGEST_SUMS_FILE = 1 << 16


def save(model: Model, folder: str | os.PathLike[str]) -> Path:
    """Write a model folder completely or not at all.

    A model folder that unmask wrote is replaced if none of its files was changed or added. Any other folder is refused.

    Examples:
        >>> folder = save_model(compile_problem("(a|b)*abb", "mdm", length=9), "models/abb")
        >>> sorted(path.name for path in folder.iterdir())
        ['SHA256SUMS', 'config.json', 'planner.safetensors', 'predictor.safetensors']
    """
    return write_folder(Path(folder), _with_sums(_files(model)), check=check_replaceable)


def load(folder: str | os.PathLike[str]) -> Model:
    """Read a model folder from anywhere: every shape, index, value and type is checked, and nothing is run.

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


def _check_files(path: Path, config: FolderConfig) -> None:
    """Check that the files are those that config.json describes, if it contains their hashes."""
    read = {expected.file for expected in config.transformers.values()}
    for name, expected in (config.files or {}).items():
        if name not in read:
            raise FolderError(f"config.json of {path} describes the file {shortened(name)!r}, which no transformer has")
        with (path / name).open("rb") as file:
            actual = FileEntry(os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest())
        if actual != expected:
            raise FolderError(
                f"{name} of {path} is not the file that config.json describes: it has {actual.size:,} bytes with the "
                f"SHA-256 {actual.sha256[:12]}…, not {expected.size:,} with {expected.sha256[:12]}…; "
                'make the folder again, or remove "files" from config.json if the change is meant'
            )


def content_hash(model: Model) -> str:
    """Return the SHA-256 over the files of the model's folder; equal models have equal hashes."""
    return _hash(_files(model))


def stored_hash(model: Model, folder: Path) -> str:
    """Return the same hash for a model that was just saved, from the bytes in its folder."""
    names = (*(f"{name}.safetensors" for name in model.transformers), CONFIG)
    return _hash((name, (folder / name).read_bytes()) for name in names)


def _hash(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(model: Model) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file; config.json comes last and describes the others."""
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
    """Return JSON with one key per line; a list is on the line of its key."""
    entries = (f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in config.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def check_replaceable(target: Path) -> set[str]:
    """Return the names of the files in a folder that `save` may replace; raise FolderError if it may not.

    `save` replaces an empty folder, and a model folder in which every file is as unmask wrote it: listed in
    SHA256SUMS with its digest, and named by config.json. Call this before long work, too.
    """
    if not target.name:  # the current folder, which cannot be replaced
        raise FolderError(f"{target} is not a name that a folder can get; give one such as {target / 'model'}")
    try:
        if not target.exists() and not target.is_symlink():
            return set()
        if not target.is_dir() or target.is_symlink():
            raise FolderError(f"{target} exists and is not a folder; choose another name")
        present = {path.name for path in target.iterdir()}
        if not present:
            return present
        if SUMS not in present:
            raise FolderError(
                f"{target} exists and is not a model folder that unmask may replace: it has no {SUMS}, which lists the "
                f"files that unmask wrote (version 0.2 wrote none), and it holds {joined_names(present)}; "
                "choose another name, or remove the folder yourself"
            )
        foreign = _not_as_written(target, present)
    except OSError as error:
        raise FolderError(f"{target} cannot be written: {error.strerror}") from None
    if foreign:
        raise FolderError(
            f"{target} exists and is not a model folder that unmask may replace: it holds files that unmask did not "
            f"write, or that were changed ({joined_names(foreign)}); choose another name, or remove the folder yourself"
        )
    return present


def _not_as_written(folder: Path, present: set[str]) -> set[str]:
    """Return the names of files that `save` did not write or that were changed; a folder's name ends with a slash."""
    try:
        sums = _read_sums((folder / SUMS).read_bytes()) if _is_small_file(folder / SUMS) else {}
    except FolderError:
        sums = {}
    if not sums:
        return {SUMS}
    named = {CONFIG, SUMS}
    with suppress(UnmaskError):
        named |= {entry.file for entry in read_config(folder / CONFIG).transformers.values()}
    as_written = {name for name in present & named if name == SUMS or _has_digest(folder / name, sums.get(name))}
    foreign = present - as_written
    missing = sums.keys() - present
    return {name + "/" if (folder / name).is_dir() else name for name in foreign} | missing


def _has_digest(path: Path, digest: str | None) -> bool:
    """Return whether this is an ordinary file, not a link, with this SHA-256."""
    if digest is None or not stat.S_ISREG(path.lstat().st_mode):
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _is_small_file(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_SUMS_FILE


def _with_sums(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a model, then SHA256SUMS, which lists all of them."""
    sums = {}
    for name, content in files:
        sums[name] = hashlib.sha256(content).hexdigest()
        yield name, content
    yield SUMS, _sums(sums)


def _sums(sums: dict[str, str]) -> bytes:
    """Return the content of SHA256SUMS: lines that `sha256sum --check` reads."""
    return (SUMS_HEADING + "".join(f"{digest}  {name}\n" for name, digest in sums.items())).encode()


def _read_sums(content: bytes) -> dict[str, str]:
    """Return name → digest; raise FolderError unless the content is exactly what `_sums` writes."""
    lines = content.decode("utf-8", "replace").removeprefix(SUMS_HEADING).splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if _sums(sums) != content:
        raise FolderError(f"{SUMS} was changed")
    return sums
