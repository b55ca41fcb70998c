"""config.json of a model folder ↔ the fields of a Model, with every type checked."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import FolderError, shortened
from unmask.numerics.precision import LARGEST
from unmask.weights.model import KINDS, Model
from unmask.weights.transformer import Noise

FORMAT = "unmask-model/1"
LARGEST_CONFIG = 1 << 26


@dataclass(frozen=True)
class TransformerEntry:
    """One entry of `transformers`."""

    file: str
    attention: str
    loop: tuple[int, int] | None
    noise: Noise | None


@dataclass(frozen=True)
class Config:
    """config.json, read: the arguments of Model, and what is needed to read the tensors."""

    precision: int
    fields: dict[str, Any]
    transformers: dict[str, TransformerEntry]
    registers: dict[str, Any]


def config_of(model: Model) -> dict[str, Any]:
    """The content of config.json, in the order of the design page."""
    return {
        "format": FORMAT,
        "reasoner": model.kind,
        "precision": model.precision.p,
        **{name: getattr(model, name) for name in ("length", "steps", "padding", "block", "k")},
        "vocabulary": list(model.vocabulary),
        "input_symbols": list(model.input_symbols),
        **{name: getattr(model, name) for name in ("mask", "pad", "accept", "reject", "begin")},
        "aliases": model.aliases,
        "characters": None if model.characters is None else [list(r) for r in model.characters],
        "transformers": {
            name: {
                "file": f"{name}.safetensors",
                "attention": t.attention,
                "loop": None if t.loop is None else list(t.loop),
                "noise": t.noise and {"planner": list(t.noise.planner), "predictor": list(t.noise.predictor)},
            }
            for name, t in model.transformers.items()
        },
        "problem": model.problem,
        "provenance": model.provenance,
        "registers": {name: t.registers.to_json() for name, t in model.transformers.items() if t.registers is not None},
    }


def read_config(path: Path) -> Config:
    """config.json of a folder that may hold anything at all."""
    data = _read_json(path)
    at = f"{path.name} of {path.parent}"
    if not isinstance(data, dict):
        raise FolderError(f"{at} must be a JSON object")
    unknown = sorted(set(data) - set(_FIELDS) - {"format", "precision", "transformers", "registers"})
    if unknown:
        raise FolderError(f"{at} has the unknown key {shortened(unknown[0])!r}; remove it")
    if data.get("format") != FORMAT:
        raise FolderError(f'{at} must have "format": "{FORMAT}", not {shortened(repr(data.get("format")))}')
    precision = data.get("precision")
    if type(precision) is not int or not 1 <= precision <= LARGEST:
        raise FolderError(f"{at}: precision must be an integer from 1 to {LARGEST}")
    fields: dict[str, Any] = {}
    for key, (name, read, required) in _FIELDS.items():
        if key not in data:
            if required:
                raise FolderError(f"{at} lacks the key {key!r}")
            continue
        try:
            fields[name] = read(data[key])
        except _Mismatch as error:
            raise FolderError(f"{at}: {key} must be {error}") from None
    fields["characters"] = _tokens_as_symbols(fields.get("characters"), fields["vocabulary"], at)
    transformers = {}
    try:
        for name, entry in _mapping(data.get("transformers")).items():
            if name not in ("planner", "predictor", "model"):
                raise _Mismatch("an object with the keys planner and predictor, or the key model")
            transformers[name] = _transformer_entry(entry)
    except _Mismatch as error:
        raise FolderError(f"{at}: transformers must be {error}") from None
    registers = data.get("registers")
    return Config(precision, fields, transformers, registers if isinstance(registers, dict) else {})


class _Mismatch(Exception):
    """What a value should have been."""


def _read_json(path: Path) -> object:
    try:
        if not path.is_file() and path.exists():
            raise FolderError(f"{path.name} of {path.parent} is not a file")
        if path.stat().st_size > LARGEST_CONFIG:
            raise FolderError(f"{path.name} of {path.parent} is larger than {LARGEST_CONFIG >> 20} MB")
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except FileNotFoundError:
        raise FolderError(
            f"{path.parent} is not a model folder: it has no {path.name}; name a folder that holds one"
        ) from None
    except NotADirectoryError:
        raise FolderError(f"{path.parent} is not a folder") from None
    except OSError as error:
        raise FolderError(f"{path.name} of {path.parent} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise FolderError(f"{path.name} of {path.parent} is nested too deeply") from None
    except ValueError as error:  # bad UTF-8, bad JSON, an integer of too many digits
        raise FolderError(
            f"{path.name} of {path.parent} is not JSON: {shortened(str(error).split(';')[0], most=120)}"
        ) from None


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _integer(value: object) -> int:
    if type(value) is not int or abs(value) >= 1 << 53:
        raise _Mismatch("an integer below 2^53")
    return value


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _Mismatch("a string")
    return value


def _or_null(read: Callable[[object], Any]) -> Callable[[object], Any]:
    def optional(value: object) -> Any:
        return None if value is None else read(value)

    return optional


def _kind(value: object) -> str:
    if value not in KINDS:
        raise _Mismatch(f"one of {', '.join(KINDS)}")
    assert isinstance(value, str)
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(s, str) for s in value):
        raise _Mismatch("a list of strings")
    return tuple(value)


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Mismatch("an object")
    return value


def _aliases(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(s, str) for s in value.values()):
        raise _Mismatch("an object that maps symbols to symbols")
    return value


def _characters(value: object) -> tuple[tuple[int, int, Any], ...]:
    def fits(entry: object) -> bool:
        return isinstance(entry, list) and [type(x) for x in entry] in ([int, int, str], [int, int, int])

    if not isinstance(value, list) or not all(fits(entry) for entry in value):
        raise _Mismatch("a list of [first code point, last code point, token]")
    return tuple((first, last, token) for first, last, token in value)


def _tokens_as_symbols(ranges, vocabulary: tuple[str, ...], at: str):
    """Character ranges name a token by its symbol; a token id is understood too."""
    if ranges is None:
        return None
    if any(isinstance(t, int) and not 0 <= t < len(vocabulary) for _, _, t in ranges):
        raise FolderError(f"{at}: characters names a token id outside the vocabulary")
    return tuple((a, b, vocabulary[t] if isinstance(t, int) else t) for a, b, t in ranges)


def _transformer_entry(value: object) -> TransformerEntry:
    entry = _mapping(value)
    unknown = sorted(set(entry) - {"file", "attention", "loop", "noise"})
    if unknown:
        raise _Mismatch(f"objects with the keys file, attention, loop, noise, not {shortened(unknown[0])!r}")
    file = entry.get("file")
    if not isinstance(file, str) or not _is_file_name(file):
        raise _Mismatch('objects whose "file" names a file of this folder')
    attention = entry.get("attention")
    if attention not in ("unmasked", "causal"):
        raise _Mismatch('objects whose "attention" is "unmasked" or "causal"')
    return TransformerEntry(file, attention, _loop(entry.get("loop")), _noise(entry.get("noise")))


def _is_file_name(file: str) -> bool:
    """A plain name: nothing that leads out of the folder, or that no file can have."""
    plain = Path(file).name == file and file not in ("", "..") and len(file) <= 100
    return plain and "\0" not in file and not any("\ud800" <= c <= "\udfff" for c in file)


def _loop(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or [type(x) for x in value] != [int, int]:
        raise _Mismatch('objects whose "loop" is null or [first layer, last layer]')
    return value[0], value[1]


def _noise(value: object) -> Noise | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) - {"planner", "predictor"}:
        raise _Mismatch('objects whose "noise" is null or maps planner and predictor to columns')
    for columns in value.values():
        if not isinstance(columns, list) or not all(type(c) is int for c in columns):
            raise _Mismatch('objects whose "noise" holds lists of columns')
    return Noise(tuple(value.get("planner", ())), tuple(value.get("predictor", ())))


def _anything(value: object) -> object:
    return value


# key → (field of Model, reader, required)
_FIELDS: dict[str, tuple[str, Callable[[object], Any], bool]] = {
    "reasoner": ("kind", _kind, True),
    "length": ("length", _integer, True),
    "steps": ("steps", _integer, True),
    "padding": ("padding", _integer, True),
    "block": ("block", _or_null(_integer), False),
    "k": ("k", _or_null(_integer), False),
    "vocabulary": ("vocabulary", _strings, True),
    "input_symbols": ("input_symbols", _strings, True),
    "mask": ("mask", _or_null(_string), False),
    "pad": ("pad", _or_null(_string), False),
    "accept": ("accept", _string, True),
    "reject": ("reject", _string, True),
    "begin": ("begin", _or_null(_string), False),
    "aliases": ("aliases", _aliases, False),
    "characters": ("characters", _or_null(_characters), False),
    "problem": ("problem", _anything, False),
    "provenance": ("provenance", _anything, False),
}
