"""The form of a certificate for every length: a family of models, and the claims of its proof.

    columns     of the residual stream: null, ["flag", e] or ["code", e, capacity]; a code represents all its bits
    weights     nonzero entries [row, column, integer of F_p], ordered by row and column; query and key of a head are
                those of one bit of its codes
    elements    maps of the automaton's states, in increasing order; pairs refer to them by number
    flags       per region of rows, the combinations of values that its flags can have, in the order of the columns
    scores      per head, in order: (score after some bits, whether the codes differ in these bits)
    held        for plt, the contents that rows may have: nonzero [column, number] in the columns that heads read
    pairs       (content of a row: a symbol, or the number of a vector; element), in order; for cot (symbol, state)
    tables      what a row that reads contents x and y writes, over all contents; for cot over symbols and letters

The other modules check what the fields say. Only one form of a certificate is valid, and `seal` is its SHA-256.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from unmask.checker.certificate import Map, Refused, letter_maps, letters_of_characters, letters_of_tokens, need
from unmask.errors import shortened

# Positions as formulas in (n, N): their values, and their text in SMT-LIB.
#
#     e ::= "n" | "N" | integer | [operator, e, …]
#
# If y is not a constant, x mod y is translated to `near`, which is x mod y for x in [-y, 2y) and unknown otherwise, and
# x div y to an unknown `quotient`. K is the power of two with K <= N < 2K, and T = ⌈log2 N⌉. So whatever follows from
# the SMT-LIB text holds for the formulas.


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
LARGEST_CONSTANT = 1 << 40
DEEPEST = 100


def check_formula(formula: Any, depth: int = 0) -> None:
    """Refuse what is not a formula, and one whose operands are not in order although their order does not matter."""
    need(depth < DEEPEST, "a formula is too deep")
    if isinstance(formula, str):
        need(formula in ("n", "N"), f"{formula!r} is not a variable of a formula")
    elif type(formula) is int:
        need(abs(formula) < LARGEST_CONSTANT, "a number in a formula is too large")
    else:
        need(isinstance(formula, list) and bool(formula) and isinstance(formula[0], str), "this is not a formula")
        operator, *operands = formula
        need(OPERANDS.get(operator) == len(operands), f"a formula has no operator {operator!r} with these operands")
        need(operator not in OF_LENGTH or operands == ["N"], f"{operator} is only allowed of N")
        for operand in operands:
            check_formula(operand, depth + 1)
        in_order = all(repr(a) <= repr(b) for a, b in pairwise(operands))
        need(operator not in COMMUTATIVE or in_order, f"the operands of {operator!r} are not in order")


def formula_values(formula: Any, n: np.ndarray, length: int) -> np.ndarray:
    """Return the values at the rows n for N = length."""
    if isinstance(formula, str | int):
        return np.broadcast_to(np.int64({"N": length}.get(formula, formula)) if formula != "n" else n, n.shape)
    operator, *operands = formula
    if operator in OF_LENGTH:
        value = 1 << (length.bit_length() - 1) if operator == "power of two below" else (length - 1).bit_length()
        return np.broadcast_to(np.int64(value), n.shape)
    operand_values = [formula_values(operand, n, length) for operand in operands]
    if operator in ("mod", "div"):
        need(bool((operand_values[1] > 0).all()), "a formula divides by a number that is not positive")
    return _operation(operator)(*operand_values).astype(np.int64)


def size_at(formula: Any, length: int) -> int:
    """Return the value of a formula in N alone for N = length."""
    return int(formula_values(formula, np.zeros(1, dtype=np.int64), length)[0])


def mentions(formula: Any, name: str) -> bool:
    """Return whether the variable occurs in the formula."""
    return formula == name or (isinstance(formula, list) and any(mentions(operand, name) for operand in formula[1:]))


def _operation(operator: str) -> Callable:
    functions = {
        "pos": lambda x: np.maximum(x, 0),
        "if": lambda condition, yes, no: np.where(condition != 0, yes, no),
        "mod": np.mod,
        "div": np.floor_divide,
    }
    return functions[operator] if operator in functions else (ARITHMETIC | COMPARED)[operator][1]


def smt_text(formula: Any) -> str:
    """Return the formula in SMT-LIB."""
    if isinstance(formula, str):
        return formula
    if isinstance(formula, int):
        return str(formula) if formula >= 0 else f"(- {-formula})"
    operator, *operands = formula
    if operator in OF_LENGTH:
        return OF_LENGTH[operator]
    texts = [smt_text(operand) for operand in operands]
    if operator in ("mod", "div"):
        constant = isinstance(operands[1], int) and operands[1] > 0
        return f"({operator if constant else {'mod': 'near', 'div': 'quotient'}[operator]} {' '.join(texts)})"
    if operator == "pos":
        return f"(ite (> {texts[0]} 0) {texts[0]} 0)"
    if operator == "if":
        return f"(ite (= {texts[0]} 0) {texts[2]} {texts[1]})"
    if operator in ARITHMETIC:
        return f"({ARITHMETIC[operator][0]} {' '.join(texts)})"
    if operator in COMPARED:
        return f"(ite ({COMPARED[operator][0]} {' '.join(texts)}) 1 0)"
    raise Refused(f"{operator!r} is not an operator")


FORMAT = "unmask-family/1"

Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Number = Annotated[int, msgspec.Meta(gt=-(1 << 17), lt=1 << 17)]
Entry = tuple[Natural, Natural, Number]
Bit = Annotated[int, msgspec.Meta(ge=0, le=1)]
Pair = tuple[Natural, Natural]
Formula = Any
"""Checked by `check_formula`."""


class FamilyAutomaton(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The automaton that every model of the family is claimed to compute."""

    tokens: list[str] | None
    characters: list[tuple[Natural, Natural, Natural]] | None
    delta: list[list[Natural]]
    accepting: list[bool]


class FamilyHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An attention head: the number of its query columns per bit, and the entries of its three matrices."""

    size: Natural
    query: list[Entry]
    key: list[Entry]
    value: list[Entry]


class FamilyMlp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An MLP: its number of hidden units, and the entries of its matrices and vectors."""

    size: Natural
    w1: list[Entry]
    b1: list[tuple[Natural, Number]]
    w2: list[Entry]
    b2: list[tuple[Natural, Number]]


class FamilyLayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The heads and the MLP of a layer."""

    heads: list[FamilyHead]
    mlp: FamilyMlp


class FamilyProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A transformer of the family, whose sizes and positions are formulas in N and n."""

    attention: Literal["unmasked", "causal"]
    loop: tuple[Natural, Natural] | None
    rows: Formula
    columns: list[Formula]
    embed: list[Entry]
    layers: list[FamilyLayer]
    outputs: Natural
    out: list[Entry]


class FamilyFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sizes and symbols of the models of the family."""

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
    """The prover's claims about the rows; the checker computes each of them again."""

    elements: list[list[Natural]]
    scores: dict[str, list[list[tuple[Number, bool]]]]
    flags: dict[str, dict[str, list[list[Bit]]]]
    held: list[list[tuple[Natural, Number]]] | None
    pairs: list[Pair]
    tables: dict[str, list[list[Natural]]]


class FamilyCertificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A certificate of the format `unmask-family/1`, as stored in JSON."""

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
    """Return the hash of all fields except the seal."""
    rest = {name: value for name, value in document.items() if name != "seal"}
    return sha256(json.dumps(rest, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def read_family(document: Any, *, sealed: bool = True) -> FamilyCertificate:
    """Convert a parsed document to typed fields; refuse any other form, and a changed document by its seal."""
    try:
        certificate = msgspec.convert(document, FamilyCertificate)
        need(not sealed or certificate.seal == seal_of(document), "the seal does not match the certificate")
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
    check_formula(formula)
    need(not mentions(formula, "n"), "a size depends on n")


def _check_column(column: Formula) -> None:
    if column is None:
        return
    need(isinstance(column, list) and column[:1] in (["flag"], ["code"]), "a column is not null, a flag or a code")
    need(len(column) == (2 if column[0] == "flag" else 3), "a flag does not have one formula, or a code two")
    check_formula(column[1])
    if column[0] == "code":
        _check_size(column[2])


Letters = list[tuple[int, Map]]
"""(number of the model's symbol, map of the automaton's states)."""


def letters_of(automaton: FamilyAutomaton, frame: FamilyFrame) -> Letters:
    """Return the letters of the automaton, as the models of the family read them."""
    maps = letter_maps(automaton.delta)
    need(len(automaton.delta) == len(automaton.accepting), "accepting does not have one entry for each state")
    _check_symbols(frame)
    one_kind = (automaton.tokens is None) != (automaton.characters is None)
    need(one_kind, "the automaton reads neither tokens nor characters, or both")
    need((automaton.characters is None) == (frame.characters is None), "only model or automaton reads characters")
    numbers = {name: frame.vocabulary.index(name) for name in frame.input_symbols}
    if automaton.tokens is not None:
        return sorted(letters_of_tokens(automaton.tokens, maps, numbers))
    return sorted(letters_of_characters(automaton.characters or [], frame.characters or [], maps, numbers))


def _check_symbols(frame: FamilyFrame) -> None:
    special = [name for name in (frame.mask, frame.pad, frame.accept, frame.reject) if name is not None]
    need(len({*frame.vocabulary}) == len(frame.vocabulary), "a symbol occurs twice in the vocabulary")
    need(len({*special}) == len(special), "two special symbols are equal")
    need({*special} <= {*frame.vocabulary}, "a special symbol is not in the vocabulary")
    need(len({*frame.input_symbols}) == len(frame.input_symbols), "an input symbol is listed twice")
    need({*frame.input_symbols} <= {*frame.vocabulary} - {*special}, "an input symbol is special or unknown")
