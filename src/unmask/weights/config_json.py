"""config.json of a model folder ↔ the fields of a Model, with every type checked."""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from unmask.errors import FolderError, WeightsError, shortened
from unmask.files import DocumentErrors, distinct_keys, must_be, read_document, read_file
from unmask.limits import check_memory
from unmask.numerics.arithmetic import LARGEST_PRECISION
from unmask.weights.kinds import KINDS, Kind
from unmask.weights.model import Model
from unmask.weights.size_limits import LARGEST_CONFIG
from unmask.weights.transformer import Noise

# `characters` of a folder → the readable code points, with the input symbol of each.
#
#     [[first, last, token], …]  ↦  disjoint ranges in increasing order
#
# A code point in two ranges, or with a token that is not an input symbol, is not readable: no token is chosen for it.


LAST_CODE_POINT = 0x10FFFF

Range = tuple[int, int, str]


def readable(ranges: Iterable[Range], input_symbols: Collection[str]) -> tuple[Range, ...]:
    """Return the ranges of code points that have exactly one token, which is an input symbol."""
    inputs = set(input_symbols)
    edges: dict[int, list[tuple[int, str | None]]] = {}
    for number, (first, last, symbol) in enumerate(ranges):
        if not 0 <= first <= last <= LAST_CODE_POINT:
            raise WeightsError(
                f"characters must be ranges of code points, and [{first}, {last}] is not one; correct config.json"
            )
        edges.setdefault(first, []).append((number, symbol))
        edges.setdefault(last + 1, []).append((number, None))
    readable_ranges: list[Range] = []
    open_ranges: dict[int, str] = {}  # the ranges that name a code point
    since = 0
    for edge in sorted(edges):
        symbols = list(open_ranges.values())
        if len(symbols) == 1 and symbols[0] in inputs:
            readable_ranges.append((since, edge - 1, symbols[0]))
        for number, symbol in edges[edge]:
            if symbol is None:
                del open_ranges[number]
            else:
                open_ranges[number] = symbol
        since = edge
    return tuple(readable_ranges)


FORMAT = "unmask-model/1"
OBJECTS = 40  # bytes of memory per byte of JSON, at most: the three bytes `[],` become a list of 80 bytes
ERRORS = DocumentErrors(
    no_object="{name} must be a JSON object",
    unknown="{name} has the unknown key {key!r}; remove it",
    missing="{name} lacks the key {key!r}",
    wrong="{name}: {key} must be {expected}",
    error=FolderError,
)

FileName = Annotated[str, msgspec.Meta(pattern=r"\A(?!\.{1,2}\Z)[^/\\:\0\ud800-\udfff]{1,100}\Z")]
"""A plain file name: it must be valid and must not lead out of the folder."""
Whole = Annotated[int, msgspec.Meta(gt=-(1 << 53), lt=1 << 53), must_be("an integer below 2^53")]
Symbol = Annotated[str, must_be("a string")]
Symbols = Annotated[tuple[str, ...], must_be("a list of strings")]
Columns = Annotated[tuple[int, ...], must_be('objects whose "noise" holds lists of columns')]
Ranges = Annotated[
    tuple[tuple[int, int, int | str], ...] | None, must_be("a list of [first code point, last code point, token]")
]


class NoiseEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`noise` of a transformer."""

    planner: Columns = ()
    predictor: Columns = ()


class TransformerEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `transformers`."""

    file: Annotated[FileName, must_be('objects whose "file" names a file of this folder')]
    attention: Annotated[Literal["unmasked", "causal"], must_be('objects whose "attention" is "unmasked" or "causal"')]
    loop: Annotated[tuple[int, int] | None, must_be('objects whose "loop" is null or [first layer, last layer]')] = None
    noise: Annotated[
        NoiseEntry | None, must_be('objects whose "noise" is null or maps planner and predictor to columns')
    ] = None

    @property
    def noise_columns(self) -> Noise | None:
        return None if self.noise is None else Noise(self.noise.planner, self.noise.predictor)


class FileEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `files`: the required size and hash of a file."""

    size: Whole
    sha256: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z"), must_be("64 hexadecimal digits")]


class FolderConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A parsed config.json: the arguments of Model, and the fields needed to read the tensors."""

    format: Literal["unmask-model/1"]
    precision: Annotated[
        int, msgspec.Meta(ge=1, le=LARGEST_PRECISION), must_be(f"an integer from 1 to {LARGEST_PRECISION}")
    ]
    transformers: Annotated[
        dict[Literal["planner", "predictor", "model"], TransformerEntry],
        must_be("an object with the keys planner and predictor, or the key model"),
    ]
    registers: Any = None
    files: Annotated[
        dict[str, FileEntry] | None, must_be('objects with the "size" and the "sha256" of a file of this folder')
    ] = None
    kind: Annotated[Kind, must_be(f"one of {', '.join(KINDS)}")] = msgspec.field(name="reasoner")
    length: Whole
    steps: Whole
    padding: Whole
    block: Whole | None = None
    k: Whole | None = None
    outputs: Whole | None = None
    vocabulary: Symbols
    input_symbols: Symbols
    mask: Symbol | None = None
    pad: Symbol | None = None
    accept: Symbol
    reject: Symbol
    begin: Symbol | None = None
    aliases: Annotated[dict[str, str], must_be("an object that maps symbols to symbols")] = {}
    characters: Ranges = None
    problem: Any = msgspec.field(default_factory=dict)
    provenance: Any = msgspec.field(default_factory=list)

    def model_fields(self) -> dict[str, Any]:
        """The arguments of Model, except its transformers."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name not in _OF_THE_FOLDER}


_OF_THE_FOLDER = ("format", "precision", "transformers", "registers", "files")


def config_of(model: Model) -> dict[str, Any]:
    """Return the content of config.json, in the order of the design page."""
    return {
        "format": FORMAT,
        "reasoner": model.kind,
        "precision": model.precision.p,
        **{name: getattr(model, name) for name in ("length", "steps", "padding", "block", "k")},
        **({} if model.outputs is None else {"outputs": model.outputs}),
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


def read_config(path: Path) -> FolderConfig:
    """Read config.json of a folder with arbitrary content."""
    document = _read_json(path)
    name = f"{path.name} of {path.parent}"
    if isinstance(document, dict) and document.get("format") != FORMAT:
        actual = shortened(repr(document.get("format")))
        raise FolderError(f'{name} must have "format": "{FORMAT}", not {actual}')
    config = read_document(document, FolderConfig, ERRORS, name=name)
    return msgspec.structs.replace(config, characters=_tokens_as_symbols(config, name))


def _read_json(path: Path) -> object:
    missing = _missing(path)
    if missing is not None:
        raise FolderError(missing)
    content = read_file(path, f"{path.name} of {path.parent}", most=LARGEST_CONFIG, error=FolderError)
    check_memory(OBJECTS * len(content), f"reading {path.name}")
    once = distinct_keys(FolderError, f" in {path.name} of {path.parent}")
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=once, parse_constant=_no_constant)
    except RecursionError:
        raise FolderError(f"{path.name} of {path.parent} is nested too deeply") from None
    except ValueError as error:  # invalid UTF-8, invalid JSON, or an integer with too many digits
        raise FolderError(
            f"{path.name} of {path.parent} is not JSON: {shortened(str(error).split(';')[0], most=120)}"
        ) from None


def _missing(path: Path) -> str | None:
    """Return the error message for a missing config.json, or None: it names the first missing part of the path."""
    try:
        path.stat()
    except FileNotFoundError:
        return f"{path.parent} is not a model folder: it has no {path.name}; name a folder that holds one"
    except NotADirectoryError:
        return f"{path.parent} is not a folder"
    except (OSError, ValueError):  # `read_file` raises the error message
        return None
    return None


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _tokens_as_symbols(config: FolderConfig, name: str) -> tuple[tuple[int, int, str], ...] | None:
    """Return the readable character ranges with symbols as tokens; the folder may also use token ids."""
    if config.characters is None:
        return None
    vocabulary = config.vocabulary
    if any(isinstance(t, int) and not 0 <= t < len(vocabulary) for _, _, t in config.characters):
        raise FolderError(f"{name}: characters names a token id outside the vocabulary")
    ranges = ((a, b, vocabulary[t] if isinstance(t, int) else t) for a, b, t in config.characters)
    try:
        return readable(ranges, config.input_symbols)
    except WeightsError as error:
        raise FolderError(f"{name}: {error}") from None
