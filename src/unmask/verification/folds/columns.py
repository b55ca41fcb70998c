"""THRESH and ONEHOT of every number, ARGMAX of any number of numbers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import add, multiply, relu
from unmask.numerics.precision import Precision
from unmask.programs.language.assemble import assemble
from unmask.verification.folds import emitted
from unmask.verification.folds.assembled import NotRepeated, Unit, offset_of, units_of, writers
from unmask.verification.folds.closure import Closure, Witness, close
from unmask.verification.folds.emitted import Emit
from unmask.verification.folds.lemma import Outcome, Replayed
from unmask.verification.folds.mlps import SIZES, column, replay


def each_column(emit: Emit, wanted: Callable[[np.ndarray, Precision], np.ndarray], precision: Precision) -> Outcome:
    """y_i = wanted(x_i) for every number x_i, any number of columns side by side that do not touch each other."""
    template = writers(units_of(emit(1), precision), "y")
    for width in SIZES:
        program = emit(width)
        units = units_of(program, precision)
        for i in range(width):
            expected = [(_moved(unit, i), weight) for unit, weight in template]
            if writers(units, "y", i) != expected or len(units) != width * len(template):
                raise NotRepeated(f"column {i} of {width} is not what column 0 of 1 is")
    x = np.array(precision.numbers())
    so_far = np.zeros_like(x)
    for unit, weight in template:
        so_far = add(so_far, multiply(unit.value({"x": x}, precision), weight, precision), precision)
    got, right = column(so_far, offset_of(emit(1), precision, "y"), precision), wanted(x, precision)
    wrong = np.flatnonzero(got != right)
    if not wrong.size:
        return Outcome(x.size, x.size)
    k = int(wrong[0])
    text = f"x = {precision.meaning(x[k])}: {precision.meaning(got[k])}, not {precision.meaning(right[k])}"
    return Outcome(x.size, x.size, text, replay(emit(1), {"x": [int(x[k])]}, ("y", 0), int(right[k]), precision))


def one_hot(precision: Precision) -> Outcome:
    """y_v = [x = v], for all numbers x and v: the reference engine, on every x at once."""
    program = emitted.one_hot(precision)
    residual = np.zeros((precision.size, 1, program.width), dtype=np.int64)
    residual[:, 0, program.columns("x")[0]] = precision.numbers()
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)[:, 0, program.columns("y")]
    wrong = np.argwhere(after != precision.one * np.eye(precision.size, dtype=np.int64))
    text = None if not wrong.size else f"x and v number {wrong[0].tolist()}"
    return Outcome(precision.size, precision.size**2, text)


def is_positive(x: np.ndarray, precision: Precision) -> np.ndarray:
    return precision.one * (x > 0)


def _moved(unit: Unit, index: int) -> Unit:
    return Unit(
        tuple((name, index, w) for name, _, w in unit.reads),
        unit.bias,
        tuple((name, index, w) for name, _, w in unit.writes),
    )


def argmax(emit: Emit, precision: Precision) -> Outcome:
    """y_d = [x_d is the largest, the lowest index winning ties], for any number of entries.

    The column of d sums over its earlier rivals, once per copy, then over its later ones. The further passes are over
    the same rivals; here they may be any that have beaten d if and only if those of the first pass have, which is more
    than can happen, so that a proof is one. Entry d has any value, and so has every rival; values of d against which
    rivals can add the same terms have the same closure.
    """
    rivals = _rivals(emit, precision)
    states, done = 0, set()
    for x in precision.numbers():
        kinds = _terms(x, rivals, precision)
        if (key := tuple(frozenset(kind) for kind in kinds)) in done:
            continue
        done.add(key)
        closure = _against(kinds, rivals, precision)
        states += closure.states
        if closure.witness is not None:
            return Outcome(states, states, *_refuted_argmax(emit, x, rivals.copies, closure.witness, precision))
    return Outcome(states, states)


@dataclass(frozen=True)
class _Rivals:
    """The unit of an earlier and of a later rival, its weight, how many copies of each, and the column's bias."""

    earlier: tuple[Unit, int]
    later: tuple[Unit, int]
    copies: int
    bias: int


def _rivals(emit: Emit, precision: Precision) -> _Rivals:
    two = emit(2)
    of_second, of_first = (writers(units_of(two, precision), "y", d) for d in (1, 0))
    copies, bias = len(of_second), offset_of(two, precision, "y")
    for size in (1, 2, 3, 4, 6):
        program = emit(size)
        units = units_of(program, precision)
        for d in range(size):
            expected = [_rival(of_second[0], j, d) for _ in range(copies) for j in range(d)]
            expected += [_rival(of_first[0], j, d) for _ in range(copies) for j in range(d + 1, size)]
            if writers(units, "y", d) != expected or offset_of(program, precision, "y", d) != bias:
                raise NotRepeated(f"column {d} of {size} does not sum over its rivals in order")
    return _Rivals(of_second[0], of_first[0], copies, bias)


def _rival(template: tuple[Unit, int], j: int, d: int) -> tuple[Unit, int]:
    """The unit in which rival j beats d, made from that of a pair: the rival has the positive weight."""
    unit, weight = template
    reads = sorted(("x", j if w > 0 else d, w) for _, _, w in unit.reads)
    return Unit(tuple(reads), unit.bias, (("y", d, weight),)), weight


def _terms(x: int, rivals: _Rivals, precision: Precision) -> list[dict[tuple[int, bool], int]]:
    """For earlier and for later rivals of an entry x: (term, does it beat x) → the value of such a rival."""
    values = np.array(precision.numbers())
    kinds = []
    for (unit, weight), beats in ((rivals.earlier, values >= x), (rivals.later, values > x)):
        difference = np.zeros_like(values)
        for _, _, w in unit.reads:
            difference = add(difference, multiply(values if w > 0 else x, w, precision), precision)
        terms = multiply(relu(add(difference, unit.bias, precision)), weight, precision)
        different: dict[tuple[int, bool], int] = {}
        for value, term, beaten in zip(values.tolist(), terms.tolist(), beats.tolist(), strict=True):
            different.setdefault((term, beaten), value)
        kinds.append(different)
    return kinds


def _against(kinds: list[dict[tuple[int, bool], int]], rivals: _Rivals, precision: Precision) -> Closure:
    """State: (sum, phase, was d beaten in each first pass, is it in this one); phases: kinds of rivals × copies."""
    letters = [(np.array([t for t, _ in kind]), [b for _, b in kind], list(kind.values())) for kind in kinds]
    last = 2 * rivals.copies

    def moves(state):
        so_far, phase, known, beaten = state
        if phase == last:
            return
        terms, beats, values = letters[phase // rivals.copies]
        for value, after, beat in zip(values, add(so_far, terms, precision).tolist(), beats, strict=True):
            yield (phase, value), (after, phase, known, beaten or beat)
        if phase % rivals.copies == 0:
            yield None, (so_far, phase + 1, (*known, beaten), False)
        elif beaten == known[-1]:
            yield None, (so_far, phase + 1, known, False)

    def flaw(state):
        so_far, phase, known, _ = state
        got, wanted = int(column(so_far, rivals.bias, precision)), precision.one * (not any(known))
        return (got, wanted) if phase == last and got != wanted else None

    return close([(0, 0, (), False)], moves, flaw)


def _refuted_argmax(emit: Emit, x: int, copies: int, witness: Witness, precision: Precision) -> tuple[str, Replayed]:
    """The rivals of the first passes, around the entry."""
    earlier, later = ([v for phase, v in filter(None, witness.letters) if phase == first] for first in (0, copies))
    entries = [*earlier, x, *later]
    got, wanted = witness.flaw
    listed = ", ".join(str(precision.meaning(v)) for v in entries)
    text = f"{listed}: entry {len(earlier)} gets {precision.meaning(got)}, not {precision.meaning(wanted)}"
    return text, replay(emit(len(entries)), {"x": entries}, ("y", len(earlier)), wanted, precision)
