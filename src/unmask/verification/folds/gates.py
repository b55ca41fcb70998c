"""NOR, AND and their relatives, of any number of flags."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from unmask.errors import ProblemError
from unmask.numerics.arithmetic import add, multiply, relu
from unmask.numerics.precision import Precision
from unmask.programs.language.assemble import assemble
from unmask.verification.folds.assembled import NotRepeated, form, offset_of, units_of
from unmask.verification.folds.closure import close
from unmask.verification.folds.emitted import Emit
from unmask.verification.folds.lemma import Outcome
from unmask.verification.folds.mlps import SIZES, column, replay


@dataclass(frozen=True)
class FlagGate:
    """y as a function of flags x_0, x_1, … that knows only whether some are 1, and whether all are."""

    emit: Emit
    wanted: Callable[[bool, bool], bool]
    """(is some flag 1, is every flag 1) → y."""

    def decide(self, precision: Precision) -> Outcome:
        fold = _FlagFold(self.emit, precision)

        def moves(state):
            so_far, some, every, width = state
            if fold.may_grow(width):
                for flag, term in fold.terms.items():
                    after = int(add(so_far, term, precision))
                    yield flag, (after, some or bool(flag), every and bool(flag), fold.counted(width + 1))

        def flaw(state):
            so_far, some, every, width = state
            wanted = precision.one * self.wanted(some, every)
            got = fold.end(so_far, width)
            return (got, wanted) if width and got != wanted else None

        closure = close([(0, False, True, 0)], moves, flaw)
        if closure.witness is None:
            if not fold.constant:
                raise NotRepeated("its bias depends on the width: right for the widths that were tried, no more")
            return Outcome(closure.states, closure.states)
        flags, (got, wanted) = closure.witness.letters, closure.witness.flaw
        inputs = {"x": [precision.one * flag for flag in flags]}
        text = f"flags {''.join(map(str, flags))}: {precision.meaning(got)}, not {precision.meaning(wanted)}"
        again = replay(self.emit(len(flags)), inputs, ("y", 0), wanted, precision)
        return Outcome(closure.states, closure.states, text, again)


class _FlagFold:
    """One unit that reads all flags, or one column that reads one unit per flag, by its weights at several widths.

    Where the bias depends on the width, the width is part of the state, up to the last one whose bias is in F_p.
    """

    def __init__(self, emit: Emit, precision: Precision) -> None:
        self.precision = precision
        unit = units_of(emit(1), precision)[0]
        self.inner = len(units_of(emit(2), precision)) == 1
        self.unit = unit
        self.ends = {width: self._biases(emit, width) for width in self._fitting(emit)}
        self.constant = len(set(self.ends.values())) == 1
        if self.constant:
            self.ends = {1: self.ends[1]}
        (self.weight,) = (w for _, _, w in unit.writes)
        one = precision.one
        values = {flag: {"x": one * flag} for flag in (0, 1)}
        if self.inner:
            self.terms = {flag: int(form(unit.reads, held, precision)) for flag, held in values.items()}
        else:
            self.terms = {
                flag: int(multiply(unit.value(held, precision), self.weight, precision))
                for flag, held in values.items()
            }

    def may_grow(self, width: int) -> bool:
        return self.constant or width + 1 in self.ends

    def counted(self, width: int) -> int:
        return 1 if self.constant else width

    def end(self, so_far: int, width: int) -> int:
        if width == 0:
            return 0
        inner, outer = self.ends[width]
        if self.inner:
            unit = relu(add(so_far, inner, self.precision))
            so_far = multiply(unit, self.weight, self.precision)
        return int(column(so_far, outer, self.precision))

    def _fitting(self, emit: Emit) -> Iterable[int]:
        for width in range(1, self.precision.one + 2):
            try:
                assemble(emit(width), self.precision)
            except ProblemError:
                return
            yield width
        yield from (size for size in SIZES if size > self.precision.one + 1)

    def _biases(self, emit: Emit, width: int) -> tuple[int, int]:
        """(bias of the unit, of the column), once it is sure that the reads are those of width 1, per index."""
        program, ((name, _, weight),) = emit(width), self.unit.reads
        units = units_of(program, self.precision)
        groups = [range(width)] if self.inner else [[i] for i in range(width)]
        if [u.reads for u in units] != [tuple((name, i, weight) for i in group) for group in groups]:
            raise NotRepeated(f"the units of width {width} do not read what those of width 1 read")
        if any(u.writes != self.unit.writes or (not self.inner and u.bias != self.unit.bias) for u in units):
            raise NotRepeated(f"the units of width {width} do not write what those of width 1 write")
        return units[0].bias, offset_of(program, self.precision, "y")


def conjunction(emit_at: Callable[[int], Emit], precision: Precision) -> Outcome:
    """x ∧ ¬y_1 ∧ … ∧ ¬y_k, wherever x stands among them; `emit_at(place)` puts it there."""
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
        wanted = precision.one * (x == 1 and not some)
        got = int(relu(add(so_far, bias, precision)))
        return (got, wanted) if x is not None and got != wanted else None

    closure = close([(0, None, False)], moves, flaw)
    if closure.witness is None:
        return Outcome(closure.states, closure.states)
    letters, (got, wanted) = closure.witness.letters, closure.witness.flaw
    place = [name for name, _ in letters].index("x")
    x, y = letters[place][1], [flag for name, flag in letters if name == "y"]
    inputs = {"x": [precision.one * x], "y": [precision.one * f for f in y[:place]]}
    inputs["z"] = [precision.one * f for f in y[place:]]
    text = f"{' '.join(f'{name}={flag}' for name, flag in letters)}: {precision.meaning(got)}"
    return Outcome(
        closure.states,
        closure.states,
        text,
        replay(emit_at(place)(len(y)), inputs, ("result", 0), wanted, precision),
    )


def _literals(emit_at: Callable[[int], Emit], precision: Precision) -> tuple[int, int, int]:
    """(weight of a negated literal, of the positive one, bias), the same at every place and width."""
    shapes = set()
    for width, place in ((w, p) for w in SIZES for p in {0, w // 2, w}):
        program = emit_at(place)(width)
        (unit,) = units_of(program, precision)
        if offset_of(program, precision, "result"):
            raise NotRepeated(f"with {width} negated literals the column has a bias")
        order = ["y"] * place + ["x"] + ["z"] * (width - place)
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
