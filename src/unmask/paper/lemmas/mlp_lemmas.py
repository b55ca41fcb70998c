"""Lemmas about MLP gadgets of every width: NOR, AND, THRESH, ONEHOT, ARGMAX, SELECT, PROJECT and GATE.

    unit = ReLU(SUM_i [w·x_i] + b1),        column = ReLU(SUM_h [w·unit_h] + b2)

A letter is the term that one input, or one unit, adds. Letters may come in any order, so the order of the columns in
the residual stream, which is the order of summation, does not matter. Proved by closure: every reachable sum gives the
expected column, for all inputs. Read off the code: every width has the units of the template, which is taken from the
weights of a small width and compared with those of several others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision, add, multiply, relu
from unmask.paper.lemmas import gadget_programs
from unmask.paper.lemmas.gadget_programs import Emit
from unmask.paper.lemmas.lemma import LemmaOutcome, NotRepeated, Replayed, Unit, form, offset_of, units_of, writers
from unmask.programs.assembly import assemble
from unmask.programs.program import Program
from unmask.verification.lengths.obligations import Closure, Witness, reachable_closure

SIZES = (1, 2, 3, 5, 8)
Inputs = Mapping[str, Sequence[int]]
"""Integers of F_p, by register."""


def final_residual_row(program: Program, inputs: Inputs, precision: Precision) -> np.ndarray:
    """Return one row of the residual stream after all layers of the program, by the reference engine."""
    residual = np.zeros((1, 1, program.width), dtype=np.int64)
    for name, values in inputs.items():
        if values:
            residual[0, 0, program.columns(name)] = values
    transformer = assemble(program, precision)
    return ReferenceEngine().session(transformer).layers(residual, 0, len(transformer.layers))[0, 0]


def replay(program: Program, inputs: Inputs, target: tuple[str, int], expected: int, precision: Precision) -> Replayed:
    """Run the engine and compare the value of a column with the expected value."""
    actual = int(final_residual_row(program, inputs, precision)[program.columns(target[0])[target[1]]])
    text = f"the engine writes {precision.meaning(actual)}, not {precision.meaning(expected)}"
    return Replayed(text, actual != expected)


def column(total, bias: int, precision: Precision):
    """Return the value of an output column for a sum over its units."""
    return relu(add(total, bias, precision))


# NOR, AND and their relatives, of any number of flags.


@dataclass(frozen=True)
class FlagGate:
    """A gadget whose output y depends only on whether some of the flags x_0, x_1, … are 1, and whether all are."""

    emit: Emit
    expected: Callable[[bool, bool], bool]
    """(is some flag 1, is every flag 1) → y."""

    def decide(self, precision: Precision) -> LemmaOutcome:
        fold = _FlagFold(self.emit, precision)

        def moves(state):
            so_far, some, every, width = state
            if fold.may_grow(width):
                for flag, term in fold.terms.items():
                    after = int(add(so_far, term, precision))
                    yield flag, (after, some or bool(flag), every and bool(flag), fold.state_width(width + 1))

        def flaw(state):
            so_far, some, every, width = state
            expected = precision.one * self.expected(some, every)
            actual = fold.output(so_far, width)
            return (actual, expected) if width and actual != expected else None

        closure = reachable_closure([(0, False, True, 0)], moves, flaw)
        if closure.witness is None:
            if not fold.has_constant_bias:
                raise NotRepeated("its bias depends on the width: correct only for the widths that were tried")
            return LemmaOutcome(closure.states, closure.states)
        flags, (actual, expected) = closure.witness.letters, closure.witness.flaw
        inputs = {"x": [precision.one * flag for flag in flags]}
        text = f"flags {''.join(map(str, flags))}: {precision.meaning(actual)}, not {precision.meaning(expected)}"
        replayed = replay(self.emit(len(flags)), inputs, ("y", 0), expected, precision)
        return LemmaOutcome(closure.states, closure.states, text, replayed)


class _FlagFold:
    """A fold over flags: of one unit that reads all flags (`one_unit`), or of one column that sums a unit per flag.

    Its weights are read off several widths. If the bias depends on the width, the width is part of the state, up to the
    largest width whose bias is in F_p.
    """

    def __init__(self, emit: Emit, precision: Precision) -> None:
        self.precision = precision
        unit = units_of(emit(1), precision)[0]
        self.one_unit = len(units_of(emit(2), precision)) == 1
        self.unit = unit
        self.biases = {width: self._biases(emit, width) for width in self._fitting(emit)}
        self.has_constant_bias = len(set(self.biases.values())) == 1
        if self.has_constant_bias:
            self.biases = {1: self.biases[1]}
        (self.weight,) = (w for _, _, w in unit.writes)
        all_contents = {flag: {"x": precision.one * flag} for flag in (0, 1)}
        if self.one_unit:
            self.terms = {flag: int(form(unit.reads, contents, precision)) for flag, contents in all_contents.items()}
        else:
            self.terms = {
                flag: int(multiply(unit.value(contents, precision), self.weight, precision))
                for flag, contents in all_contents.items()
            }

    def may_grow(self, width: int) -> bool:
        return self.has_constant_bias or width + 1 in self.biases

    def state_width(self, width: int) -> int:
        return 1 if self.has_constant_bias else width

    def output(self, so_far: int, width: int) -> int:
        if width == 0:
            return 0
        unit_bias, column_bias = self.biases[width]
        if self.one_unit:
            unit = relu(add(so_far, unit_bias, self.precision))
            so_far = multiply(unit, self.weight, self.precision)
        return int(column(so_far, column_bias, self.precision))

    def _fitting(self, emit: Emit) -> Iterable[int]:
        """Yield the widths to compare: as long as the bias is in F_p, and then those of SIZES."""
        for width in range(1, self.precision.one + 2):
            try:
                assemble(emit(width), self.precision)
            except ProblemError:
                return
            yield width
        yield from (size for size in SIZES if size > self.precision.one + 1)

    def _biases(self, emit: Emit, width: int) -> tuple[int, int]:
        """Return (bias of the unit, bias of the column); raise unless the units are those of width 1, per index."""
        program, ((name, _, weight),) = emit(width), self.unit.reads
        units = units_of(program, self.precision)
        groups = [range(width)] if self.one_unit else [[i] for i in range(width)]
        if [u.reads for u in units] != [tuple((name, i, weight) for i in group) for group in groups]:
            raise NotRepeated(f"the units of width {width} do not read what those of width 1 read")
        if any(u.writes != self.unit.writes or (not self.one_unit and u.bias != self.unit.bias) for u in units):
            raise NotRepeated(f"the units of width {width} do not write what those of width 1 write")
        return units[0].bias, offset_of(program, self.precision, "y")


def conjunction(emit_at: Callable[[int], Emit], precision: Precision) -> LemmaOutcome:
    """Decide x ∧ ¬y_1 ∧ … ∧ ¬y_k for every order of the literals; in `emit_at(i)` there are i literals before x."""
    negated, positive, bias = _literals(emit_at, precision)

    def moves(state):
        so_far, x, some = state
        for flag in (0, 1):
            term = int(multiply(precision.one * flag, negated, precision))
            yield ("y", flag), (int(add(so_far, term, precision)), x, some or bool(flag))
            if x is None:
                term = int(multiply(precision.one * flag, positive, precision))
                yield ("x", flag), (int(add(so_far, term, precision)), flag, some)

    def flaw(state):
        so_far, x, some = state
        expected = precision.one * (x == 1 and not some)
        actual = int(relu(add(so_far, bias, precision)))
        return (actual, expected) if x is not None and actual != expected else None

    closure = reachable_closure([(0, None, False)], moves, flaw)
    if closure.witness is None:
        return LemmaOutcome(closure.states, closure.states)
    letters, (actual, expected) = closure.witness.letters, closure.witness.flaw
    position = [name for name, _ in letters].index("x")
    x, y = letters[position][1], [flag for name, flag in letters if name == "y"]
    inputs = {"x": [precision.one * x], "y": [precision.one * f for f in y[:position]]}
    inputs["z"] = [precision.one * f for f in y[position:]]
    text = f"{' '.join(f'{name}={flag}' for name, flag in letters)}: {precision.meaning(actual)}"
    replayed = replay(emit_at(position)(len(y)), inputs, ("result", 0), expected, precision)
    return LemmaOutcome(closure.states, closure.states, text, replayed)


def _literals(emit_at: Callable[[int], Emit], precision: Precision) -> tuple[int, int, int]:
    """Return the weights of a negated and of the positive literal and the bias; check that no width changes them."""
    shapes = set()
    for width, position in ((w, p) for w in SIZES for p in {0, w // 2, w}):
        program = emit_at(position)(width)
        (unit,) = units_of(program, precision)
        if offset_of(program, precision, "result"):
            raise NotRepeated(f"with {width} negated literals the column has a bias")
        order = ["y"] * position + ["x"] + ["z"] * (width - position)
        if [name for name, _, _ in unit.reads] != order or unit.writes != (("result", 0, precision.one),):
            raise NotRepeated(f"with {width} negated literals the unit reads something else")
        weights = {name: weight for name, _, weight in unit.reads}
        if any(weights[name] != weight for name, _, weight in unit.reads):
            raise NotRepeated(f"with {width} negated literals the weights differ")
        shapes.add((weights.get("y", weights.get("z")), weights["x"], unit.bias))
    if len(shapes) != 1:
        raise NotRepeated("the weights of a conjunction depend on the number of its literals")
    ((negated, positive, bias),) = shapes
    assert negated is not None
    return negated, positive, bias


# THRESH and ONEHOT of every number, ARGMAX of any number of numbers.


def each_column(
    emit: Emit, function: Callable[[np.ndarray, Precision], np.ndarray], precision: Precision
) -> LemmaOutcome:
    """Decide y_i = function(x_i) for every number x_i and any number of columns that do not affect each other."""
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
    actual, expected = column(so_far, offset_of(emit(1), precision, "y"), precision), function(x, precision)
    wrong = np.flatnonzero(actual != expected)
    if not wrong.size:
        return LemmaOutcome(x.size, x.size)
    k = int(wrong[0])
    text = f"x = {precision.meaning(x[k])}: {precision.meaning(actual[k])}, not {precision.meaning(expected[k])}"
    replayed = replay(emit(1), {"x": [int(x[k])]}, ("y", 0), int(expected[k]), precision)
    return LemmaOutcome(x.size, x.size, text, replayed)


def one_hot(precision: Precision) -> LemmaOutcome:
    """Decide y_v = [x = v] for all numbers x and v, by the reference engine on every x at once."""
    program = gadget_programs.one_hot(precision)
    residual = np.zeros((precision.size, 1, program.width), dtype=np.int64)
    residual[:, 0, program.columns("x")[0]] = precision.numbers()
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)[:, 0, program.columns("y")]
    wrong = np.argwhere(after != precision.one * np.eye(precision.size, dtype=np.int64))
    text = None if not wrong.size else f"x and v number {wrong[0].tolist()}"
    return LemmaOutcome(precision.size, precision.size**2, text)


def is_positive(x: np.ndarray, precision: Precision) -> np.ndarray:
    return precision.one * (x > 0)


def _moved(unit: Unit, index: int) -> Unit:
    return Unit(
        tuple((name, index, w) for name, _, w in unit.reads),
        unit.bias,
        tuple((name, index, w) for name, _, w in unit.writes),
    )


def argmax(emit: Emit, precision: Precision) -> LemmaOutcome:
    """Decide y_d = [x_d is the largest; the lowest index wins ties], for any number of entries.

    The rivals of entry d are all other entries. The column of d sums over its earlier rivals, once per copy, then over
    its later ones. In the weights, further passes are over the same rivals as the first. Here they may be over any
    rivals that beat d if and only if those of the first pass do. This covers more cases than occur, so a proof remains
    valid. Entry d and its rivals may have any values. Values of d with the same terms of rivals have the same closure,
    so it is computed once.
    """
    rivals = _rivals(emit, precision)
    states, decided = 0, set()
    for x in precision.numbers():
        kinds = _rival_terms(x, rivals, precision)
        if (key := tuple(frozenset(kind) for kind in kinds)) in decided:
            continue
        decided.add(key)
        closure = _rival_closure(kinds, rivals, precision)
        states += closure.states
        if closure.witness is not None:
            return LemmaOutcome(states, states, *_refuted_argmax(emit, x, rivals.copies, closure.witness, precision))
    return LemmaOutcome(states, states)


@dataclass(frozen=True)
class _Rivals:
    """The units of an earlier and of a later rival with their weights, the number of copies, and the column's bias."""

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
    """Return the unit in which rival j beats d, made from the unit of a pair: the rival has the positive weight."""
    unit, weight = template
    reads = sorted(("x", j if w > 0 else d, w) for _, _, w in unit.reads)
    return Unit(tuple(reads), unit.bias, (("y", d, weight),)), weight


def _rival_terms(x: int, rivals: _Rivals, precision: Precision) -> list[dict[tuple[int, bool], int]]:
    """Return, for earlier and for later rivals of an entry x: (term, does it beat x) → the value of such a rival."""
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


def _rival_closure(kinds: list[dict[tuple[int, bool], int]], rivals: _Rivals, precision: Precision) -> Closure:
    """Return the closure of the sum over rivals; a phase is one pass over one kind of rivals.

    State: (sum, phase, whether d was beaten in each first pass, whether it is beaten in this phase).
    """
    letters = [(np.array([t for t, _ in kind]), [b for _, b in kind], list(kind.values())) for kind in kinds]
    last = 2 * rivals.copies

    def moves(state):
        so_far, phase, first_passes, beaten = state
        if phase == last:
            return
        terms, beats, values = letters[phase // rivals.copies]
        for value, after, beat in zip(values, add(so_far, terms, precision).tolist(), beats, strict=True):
            yield (phase, value), (after, phase, first_passes, beaten or beat)
        if phase % rivals.copies == 0:
            yield None, (so_far, phase + 1, (*first_passes, beaten), False)
        elif beaten == first_passes[-1]:
            yield None, (so_far, phase + 1, first_passes, False)

    def flaw(state):
        so_far, phase, first_passes, _ = state
        actual, expected = int(column(so_far, rivals.bias, precision)), precision.one * (not any(first_passes))
        return (actual, expected) if phase == last and actual != expected else None

    return reachable_closure([(0, 0, (), False)], moves, flaw)


def _refuted_argmax(emit: Emit, x: int, copies: int, witness: Witness, precision: Precision) -> tuple[str, Replayed]:
    """Return the counterexample whose entries are the rivals of the first passes and, between them, entry d."""
    earlier, later = ([v for phase, v in filter(None, witness.letters) if phase == first] for first in (0, copies))
    entries = [*earlier, x, *later]
    actual, expected = witness.flaw
    listed = ", ".join(str(precision.meaning(v)) for v in entries)
    text = f"{listed}: entry {len(earlier)} gets {precision.meaning(actual)}, not {precision.meaning(expected)}"
    return text, replay(emit(len(entries)), {"x": entries}, ("y", len(earlier)), expected, precision)


# SELECT and PROJECT of any number of entries, GATE of any number of flags.


def select(emit: Emit, precision: Precision, *, bits: bool = False, target: str = "positive") -> LemmaOutcome:
    """Decide that the column `target` gets x_d⁺ (`negative`: x_d⁻), where d is the only index with others_d = 0.

    With `bits`, the numbers are 0 and 1.
    """
    unit, weight = _selection_unit(emit, target, precision)
    values = np.array([0, precision.one]) if bits else np.array(precision.numbers())
    sign, bias = -1 if target == "negative" else 1, offset_of(emit(1), precision, target)
    terms = {chosen: _entry_terms(unit, weight, values, precision, chosen=chosen) for chosen in (False, True)}
    ignored = {term: (value, False) for value, term in terms[False]}

    def moves(state):
        so_far, selected = state
        for term, letter in ignored.items():
            yield letter, (int(add(so_far, term, precision)), selected)
        if selected is None:
            for value, term in terms[True]:
                yield (value, True), (int(add(so_far, term, precision)), value)

    def flaw(state):
        so_far, selected = state
        if selected is None:
            return None
        actual, expected = int(column(so_far, bias, precision)), max(0, sign * selected)
        return (actual, expected) if actual != expected else None

    closure = reachable_closure([(0, None)], moves, flaw)
    if closure.witness is None:
        return LemmaOutcome(closure.states, closure.states)
    letters, (actual, expected) = closure.witness.letters, closure.witness.flaw
    chosen = [precision.one * is_chosen for _, is_chosen in letters]
    contents = {"x": [v for v, _ in letters], "others": [precision.one - c for c in chosen], "chosen": chosen}
    program = emit(len(letters))
    inputs = {name: values for name, values in contents.items() if name in program.registers}
    replayed = replay(program, inputs, (target, 0), expected, precision)
    listed = ", ".join(str(precision.meaning(v)) for v, _ in letters)
    values_text = f"{precision.meaning(actual)}, not {precision.meaning(expected)}"
    text = f"{listed}, entry {chosen.index(precision.one)}: {values_text}"
    return LemmaOutcome(closure.states, closure.states, text, replayed)


def _entry_terms(
    unit: Unit, weight: int, values: np.ndarray, precision: Precision, *, chosen: bool
) -> list[tuple[int, int]]:
    """Return (value, term of an entry with this value), for every order in which its unit may read its columns."""
    contents = {"x": values, "others": precision.one * (not chosen), "chosen": precision.one * chosen}
    pairs = set()
    for reads in permutations(unit.reads):
        terms = multiply(Unit(reads, unit.bias, ()).value(contents, precision), weight, precision)
        pairs.update(zip(values.tolist(), terms.tolist(), strict=True))
    return sorted(pairs)


def _selection_unit(emit: Emit, target: str, precision: Precision) -> tuple[Unit, int]:
    """Return the unit of one entry and its weight; check that they are the same for every entry and width."""
    ((template, weight),) = writers(units_of(emit(1), precision), target)
    for width in SIZES:
        units = writers(units_of(emit(width), precision), target)
        expected = [tuple((name, i, w) for name, _, w in template.reads) for i in range(width)]
        if [u.reads for u, _ in units] != expected or any(u.bias != template.bias or w != weight for u, w in units):
            raise NotRepeated(f"the units of {width} entries are not that of one entry, once each")
    return template, weight


def gate(emit: Emit, precision: Precision, *, target: str = "positive") -> LemmaOutcome:
    """Decide that the result is x⁺ (x⁻) if none of k >= 1 flags is 1, else 0, for every x and order of the columns."""
    sign = -1 if target == "negative" else 1
    shapes = set()
    for width in SIZES:
        ((unit, outer),) = writers(units_of(emit(width), precision), target)
        reads = dict.fromkeys(name for name, _, _ in unit.reads)
        weights = {name: {w for n, _, w in unit.reads if n == name} for name in reads}
        if [len(unit.reads), *map(len, weights.values())] != [width + 1, 1, 1]:
            raise NotRepeated(f"with {width} flags the gate reads something else")
        shapes.add((*weights["x"], *weights["off"], unit.bias, outer, offset_of(emit(width), precision, target)))
    if len(shapes) != 1:
        raise NotRepeated("the weights of a gate depend on the number of its flags")
    ((positive, negative, bias, outer, offset),) = shapes
    states = 0
    for x in precision.numbers():
        x_term = int(multiply(x, positive, precision))

        def moves(state, x_term=x_term):
            so_far, read, off = state
            for flag in (0, 1):
                term = int(multiply(precision.one * flag, negative, precision))
                yield flag, (int(add(so_far, term, precision)), read, off or bool(flag))
            if not read:
                yield "x", (int(add(so_far, x_term, precision)), True, off)

        def flaw(state, x=x):
            so_far, read, off = state
            actual = int(column(multiply(relu(add(so_far, bias, precision)), outer, precision), offset, precision))
            expected = 0 if off else max(0, sign * x)
            return (actual, expected) if read and actual != expected else None

        closure = reachable_closure([(0, False, False)], moves, flaw)
        states += closure.states
        if closure.witness is not None:
            flags = [letter for letter in closure.witness.letters if letter != "x"]
            expected = closure.witness.flaw[1]
            inputs = {"x": [x], "off": [precision.one * f for f in flags]}
            text = f"x = {precision.meaning(x)}, flags {flags}"
            replayed = replay(emit(len(flags)), inputs, (target, 0), expected, precision)
            return LemmaOutcome(states, states, text, replayed)
    return LemmaOutcome(states, states)
