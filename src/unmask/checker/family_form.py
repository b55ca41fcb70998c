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
from bisect import bisect_right
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from unmask.checker.certificate import Refused, need
from unmask.errors import shortened

# Positions as formulas in (n, N): their values, and their text in SMT-LIB.
#
#     e ::= "n" | "N" | integer | [operator, e, …]
#
# x mod y by a y that is not constant is `near`: x mod y for x in [-y, 2y) and else unknown; x div y by such a y
# is an unknown `quotient`. K is the power of two with K <= N < 2K, T = ⌈log2 N⌉. So what follows from the text holds.


ARITHMETIC = {"+": ("+", np.add), "-": ("-", np.subtract), "·": ("*", np.multiply)}
COMPARED = {
    "<=": ("<=", np.less_equal),
    "<": ("<", np.less),
    ">=": (">=", np.greater_equal),
    ">": (">", np.greater),
    "=": ("=", np.equal),
}
OPERANDS = {"pos": 1, "power of two below": 1, "log2 above": 1, "if": 3, "mod": 2, "div": 2}
OPERANDS |= dict.fromkeys((*ARITHMETIC, *COMPARED), 2)
COMMUTATIVE = ("+", "·", "=")
OF_LENGTH = {"power of two below": "K", "log2 above": "T"}
MOST = 1 << 40
DEEPEST = 100


def checked(formula: Any, depth: int = 0) -> None:
    """A formula in the one form that it can have: operands that may be swapped are in order."""
    need(depth < DEEPEST, "a formula is too deep")
    if isinstance(formula, str):
        need(formula in ("n", "N"), f"{formula!r} is not a number that a row knows")
    elif type(formula) is int:
        need(abs(formula) < MOST, "a number in a formula is too large")
    else:
        need(isinstance(formula, list) and bool(formula) and isinstance(formula[0], str), "this is not a formula")
        operator, *operands = formula
        need(OPERANDS.get(operator) == len(operands), f"a formula has no operator {operator!r} with these operands")
        need(operator not in OF_LENGTH or operands == ["N"], f"{operator} is only known of N")
        for operand in operands:
            checked(operand, depth + 1)
        in_order = all(repr(a) <= repr(b) for a, b in pairwise(operands))
        need(operator not in COMMUTATIVE or in_order, f"the operands of {operator!r} are not in order")


def values(formula: Any, n: np.ndarray, length: int) -> np.ndarray:
    """The values at the rows n of a word of this length."""
    if isinstance(formula, str | int):
        return np.broadcast_to(np.int64({"N": length}.get(formula, formula)) if formula != "n" else n, n.shape)
    operator, *operands = formula
    if operator in OF_LENGTH:
        found = 1 << (length.bit_length() - 1) if operator == "power of two below" else (length - 1).bit_length()
        return np.broadcast_to(np.int64(found), n.shape)
    parts = [values(operand, n, length) for operand in operands]
    if operator in ("mod", "div"):
        need(bool((parts[1] > 0).all()), "a formula divides by what is not above 0")
    return _operation(operator)(*parts).astype(np.int64)


def number(formula: Any, length: int) -> int:
    """The value of a formula in N alone."""
    return int(values(formula, np.zeros(1, dtype=np.int64), length)[0])


def mentions(formula: Any, name: str) -> bool:
    return formula == name or (isinstance(formula, list) and any(mentions(part, name) for part in formula[1:]))


def _operation(operator: str) -> Callable:
    others = {
        "pos": lambda x: np.maximum(x, 0),
        "if": lambda condition, yes, no: np.where(condition != 0, yes, no),
        "mod": np.mod,
        "div": np.floor_divide,
    }
    return others[operator] if operator in others else (ARITHMETIC | COMPARED)[operator][1]


def text(formula: Any) -> str:
    """The formula in SMT-LIB."""
    if isinstance(formula, str):
        return formula
    if isinstance(formula, int):
        return str(formula) if formula >= 0 else f"(- {-formula})"
    operator, *operands = formula
    if operator in OF_LENGTH:
        return OF_LENGTH[operator]
    parts = [text(operand) for operand in operands]
    if operator in ("mod", "div"):
        constant = isinstance(operands[1], int) and operands[1] > 0
        return f"({operator if constant else {'mod': 'near', 'div': 'quotient'}[operator]} {' '.join(parts)})"
    if operator == "pos":
        return f"(ite (> {parts[0]} 0) {parts[0]} 0)"
    if operator == "if":
        return f"(ite (= {parts[0]} 0) {parts[2]} {parts[1]})"
    if operator in ARITHMETIC:
        return f"({ARITHMETIC[operator][0]} {' '.join(parts)})"
    if operator in COMPARED:
        return f"(ite ({COMPARED[operator][0]} {' '.join(parts)}) 1 0)"
    raise Refused(f"{operator!r} is not an operator")


FORMAT = "unmask-family/1"

Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Number = Annotated[int, msgspec.Meta(gt=-(1 << 17), lt=1 << 17)]
Entry = tuple[Natural, Natural, Number]
Bit = Annotated[int, msgspec.Meta(ge=0, le=1)]
Pair = tuple[Natural, Natural]
Formula = Any
"""Checked by `formulas`."""


class FamilyAutomaton(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The automaton that every model of the family is claimed to compute."""

    tokens: list[str] | None
    characters: list[tuple[Natural, Natural, Natural]] | None
    delta: list[list[Natural]]
    accepting: list[bool]


class FamilyHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attention head: its size, and the entries of its three matrices."""

    size: Natural
    query: list[Entry]
    key: list[Entry]
    value: list[Entry]


class FamilyMlp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One MLP: its number of units, and the entries of its matrices and vectors."""

    size: Natural
    w1: list[Entry]
    b1: list[tuple[Natural, Number]]
    w2: list[Entry]
    b2: list[tuple[Natural, Number]]


class FamilyLayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The heads of one layer, and its MLP."""

    heads: list[FamilyHead]
    mlp: FamilyMlp


class FamilyProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One transformer of the family, with formulas in N in place of sizes and positions."""

    attention: Literal["unmasked", "causal"]
    loop: tuple[Natural, Natural] | None
    rows: Formula
    columns: list[Formula]
    embed: list[Entry]
    layers: list[FamilyLayer]
    outputs: Natural
    out: list[Entry]


class FamilyFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every model of the family shares besides its transformers: sizes and symbols."""

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


class FamilyProof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the prover claims about the rows; the checker computes each claim again."""

    elements: list[list[Natural]]
    scores: dict[str, list[list[tuple[Number, bool]]]]
    flags: dict[str, dict[str, list[list[Bit]]]]
    held: list[list[tuple[Natural, Number]]] | None
    pairs: list[Pair]
    tables: dict[str, list[list[Natural]]]


class FamilyCertificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A certificate of the kind `unmask-family/1`, as it is written in JSON."""

    format: Literal["unmask-family/1"]
    kind: Literal["mdm", "smdm", "topk", "plt", "cot", "pcot"]
    precision: Annotated[int, msgspec.Meta(ge=2, le=8)]
    least: Natural
    frame: FamilyFrame
    programs: dict[str, FamilyProgram]
    automaton: FamilyAutomaton
    proof: FamilyProof
    seal: str


def seal_of(document: dict[str, Any]) -> str:
    """The hash of everything but the seal."""
    rest = {name: value for name, value in document.items() if name != "seal"}
    return sha256(json.dumps(rest, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def read(document: Any, *, sealed: bool = True) -> FamilyCertificate:
    """A document of this form, as it was written."""
    try:
        certificate = msgspec.convert(document, FamilyCertificate)
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


# What words are made of: (number of the model's symbol, map of the automaton's states) of every letter.


LAST_CODE_POINT = 0x10FFFF
Map = tuple[int, ...]
Letters = list[tuple[int, Map]]


def letters_of(automaton: FamilyAutomaton, frame: FamilyFrame) -> Letters:
    """Of every token of the automaton, or of every character: each is read as a symbol, by automaton and model."""
    delta, states = automaton.delta, range(len(automaton.delta))
    need(len(delta) == len(automaton.accepting) > 0, "accepting is not said of every state")
    need(len({len(row) for row in delta}) == 1, "delta is not a table of states and letters")
    need(all(q in states for row in delta for q in row), "delta leads out of the states")
    _check_symbols(frame)
    columns = [*zip(*delta, strict=True)]
    need((automaton.tokens is None) != (automaton.characters is None), "words are made of tokens, or of characters")
    need((automaton.characters is None) == (frame.characters is None), "model and automaton read different things")
    number = {name: frame.vocabulary.index(name) for name in frame.input_symbols}
    if automaton.tokens is not None:
        need(len(automaton.tokens) == len(columns), "the automaton has not one column for each token")
        need({*automaton.tokens} <= {*number}, "the model cannot read a letter of the automaton")
        numbers = [number[name] for name in automaton.tokens]
        need(all(a < b for a, b in pairwise(numbers)), "tokens are not in the order of the model's symbols")
        return [*zip(numbers, columns, strict=True)]
    ours, theirs = automaton.characters or [], frame.characters or []
    for ranges in (ours, theirs):
        starts = [0, *(last + 1 for _, last, _ in ranges)]
        whole = [first for first, *_ in ranges] == starts[:-1] and starts[-1] == LAST_CODE_POINT + 1
        need(whole and starts == sorted({*starts}), "characters are not all code points, in order")
    need(all(k < len(columns) for *_, k in ours), "a character leads to no column of the automaton")
    need(all(name in number for *_, name in theirs), "a character is read as no input symbol")
    points = {first for first, *_ in (*ours, *theirs)}
    return sorted({(number[_at(theirs, x)], columns[_at(ours, x)]) for x in points})


def _check_symbols(frame: FamilyFrame) -> None:
    special = [name for name in (frame.mask, frame.pad, frame.accept, frame.reject) if name is not None]
    need(len({*frame.vocabulary}) == len(frame.vocabulary), "a symbol occurs twice in the vocabulary")
    need(len({*special}) == len(special) and {*special} <= {*frame.vocabulary}, "special symbols are not in it, or one")
    need(len({*frame.input_symbols}) == len(frame.input_symbols), "an input symbol is listed twice")
    need({*frame.input_symbols} <= {*frame.vocabulary} - {*special}, "an input symbol is special, or not listed")


def _at(ranges: Sequence, point: int):
    """What ranges say of a code point."""
    return ranges[bisect_right(ranges, point, key=lambda part: part[0]) - 1][2]
