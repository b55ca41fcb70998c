"""The form of a certificate for every length: a family of models, and what its proof found.

    columns     of the residual stream, null, ["flag", e] or ["code", e, room]: a code stands for all its bits
    weights     entries [row, column, integer of F_p], by row and then column, none of them 0; a head's query and key
                are those of one bit of its codes
    elements    maps of the automaton's states, in increasing order; pairs name them by number
    flags       per region of rows, what its flags can be together, in the order of the columns
    scores      of each head, in order: what the score can be after some bits, and whether the codes differ by then
    pairs       (what a row holds, element), in order; for cot (symbol, state)
    tables      what a row that reads x and y takes, over what is held in order; for cot over symbols and letters

What the fields must say is checked elsewhere. There is one way to write a certificate down, and `seal` is its SHA-256.
"""

import json
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec

from unmask.checker.certificate import Refused, need
from unmask.checker.families.formulas import checked, mentions
from unmask.errors import shortened

FORMAT = "unmask-family/1"

Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Number = Annotated[int, msgspec.Meta(gt=-(1 << 17), lt=1 << 17)]
Entry = tuple[Natural, Natural, Number]
Bit = Annotated[int, msgspec.Meta(ge=0, le=1)]
Pair = tuple[Natural, Natural]
Formula = Any
"""Checked by `formulas`."""


class Automaton(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: list[str] | None
    characters: list[tuple[Natural, Natural, Natural]] | None
    delta: list[list[Natural]]
    accepting: list[bool]


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: Natural
    query: list[Entry]
    key: list[Entry]
    value: list[Entry]


class Mlp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: Natural
    w1: list[Entry]
    b1: list[tuple[Natural, Number]]
    w2: list[Entry]
    b2: list[tuple[Natural, Number]]


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    heads: list[Head]
    mlp: Mlp


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attention: Literal["unmasked", "causal"]
    loop: tuple[Natural, Natural] | None
    rows: Formula
    columns: list[Formula]
    embed: list[Entry]
    layers: list[Layer]
    outputs: Natural
    out: list[Entry]


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    steps: Formula
    padding: Formula
    block: Formula
    vocabulary: list[str]
    input_symbols: list[str]
    mask: str | None
    pad: str | None
    accept: str
    reject: str
    characters: list[tuple[Natural, Natural, str]] | None


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    elements: list[list[Natural]]
    scores: dict[str, list[list[tuple[Number, bool]]]]
    flags: dict[str, dict[str, list[list[Bit]]]]
    held: list[list[tuple[Natural, Number]]] | None
    pairs: list[Pair]
    tables: dict[str, list[list[Natural]]]


class Certificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["unmask-family/1"]
    kind: Literal["mdm", "smdm", "topk", "plt", "cot", "pcot"]
    precision: Annotated[int, msgspec.Meta(ge=2, le=8)]
    least: Natural
    frame: Frame
    programs: dict[str, Program]
    automaton: Automaton
    proof: Proof
    seal: str


def seal_of(document: dict[str, Any]) -> str:
    """The hash of everything but the seal."""
    rest = {name: value for name, value in document.items() if name != "seal"}
    return sha256(json.dumps(rest, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def read(document: Any, *, sealed: bool = True) -> Certificate:
    """A document of this form, as it was written."""
    try:
        certificate = msgspec.convert(document, Certificate)
        need(not sealed or certificate.seal == seal_of(document), "the certificate is not as it was written: its seal")
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise Refused(f"this is not a certificate of the format {FORMAT}: {shortened(str(error), most=200)}") from None
    frame, programs = certificate.frame, certificate.programs.values()
    for size in (frame.steps, frame.padding, *(program.rows for program in programs)):
        _check_size(size)
    if frame.block is not None:
        _check_size(frame.block)
    for column in (column for program in programs for column in program.columns):
        _check_column(column)
    return certificate


def _check_size(formula: Formula) -> None:
    checked(formula)
    need(not mentions(formula, "n"), "a size is a formula in N alone")


def _check_column(column: Formula) -> None:
    if column is None:
        return
    need(isinstance(column, list) and column[:1] in (["flag"], ["code"]), "a column is null, a flag or a code")
    need(len(column) == (2 if column[0] == "flag" else 3), "a flag has a formula, a code two")
    checked(column[1])
    if column[0] == "code":
        _check_size(column[2])
