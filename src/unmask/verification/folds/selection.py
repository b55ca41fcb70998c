"""SELECT and PROJECT of any number of entries, GATE of any number of flags."""

from itertools import permutations

import numpy as np

from unmask.numerics.arithmetic import add, multiply, relu
from unmask.numerics.precision import Precision
from unmask.verification.folds.assembled import NotRepeated, Unit, offset_of, units_of, writers
from unmask.verification.folds.closure import close
from unmask.verification.folds.emitted import Emit
from unmask.verification.folds.lemma import Outcome
from unmask.verification.folds.mlps import SIZES, column, replay


def select(emit: Emit, precision: Precision, *, bits: bool = False, target: str = "positive") -> Outcome:
    """The column `target` gets x_d⁺ (`negative`: x_d⁻), where d is the only index with others_d = 0.

    `bits`: the numbers are 0 and 1.
    """
    unit, weight = _selected(emit, target, precision)
    values = np.array([0, precision.one]) if bits else np.array(precision.numbers())
    sign, bias = -1 if target == "negative" else 1, offset_of(emit(1), precision, target)
    terms = {chosen: _entries(unit, weight, values, precision, chosen=chosen) for chosen in (False, True)}
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
        got, wanted = int(column(so_far, bias, precision)), max(0, sign * selected)
        return (got, wanted) if got != wanted else None

    closure = close([(0, None)], moves, flaw)
    if closure.witness is None:
        return Outcome(closure.states, closure.states)
    letters, (got, wanted) = closure.witness.letters, closure.witness.flaw
    chosen = [precision.one * is_chosen for _, is_chosen in letters]
    inputs = {"x": [v for v, _ in letters], "others": [precision.one - c for c in chosen], "chosen": chosen}
    program = emit(len(letters))
    again = replay(program, {k: v for k, v in inputs.items() if k in program.registers}, (target, 0), wanted, precision)
    listed = ", ".join(str(precision.meaning(v)) for v, _ in letters)
    text = f"{listed}, entry {chosen.index(precision.one)}: {precision.meaning(got)}, not {precision.meaning(wanted)}"
    return Outcome(closure.states, closure.states, text, again)


def _entries(
    unit: Unit, weight: int, values: np.ndarray, precision: Precision, *, chosen: bool
) -> list[tuple[int, int]]:
    """(value, what an entry with this value adds), in every order in which its unit may read its columns."""
    held = {"x": values, "others": precision.one * (not chosen), "chosen": precision.one * chosen}
    pairs = set()
    for reads in permutations(unit.reads):
        terms = multiply(Unit(reads, unit.bias, ()).value(held, precision), weight, precision)
        pairs.update(zip(values.tolist(), terms.tolist(), strict=True))
    return sorted(pairs)


def _selected(emit: Emit, target: str, precision: Precision) -> tuple[Unit, int]:
    """The unit of one entry, the same for every entry and width, and its weight."""
    ((template, weight),) = writers(units_of(emit(1), precision), target)
    for width in SIZES:
        units = writers(units_of(emit(width), precision), target)
        expected = [tuple((name, i, w) for name, _, w in template.reads) for i in range(width)]
        if [u.reads for u, _ in units] != expected or any(u.bias != template.bias or w != weight for u, w in units):
            raise NotRepeated(f"the units of {width} entries are not that of one entry, once each")
    return template, weight


def gate(emit: Emit, precision: Precision, *, target: str = "positive") -> Outcome:
    """x⁺ (x⁻) if none of k >= 1 flags is 1, else 0, in any order of the columns, for every x."""
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
        own = int(multiply(x, positive, precision))

        def moves(state, own=own):
            so_far, read, off = state
            for flag in (0, 1):
                term = int(multiply(precision.one * flag, negative, precision))
                yield flag, (int(add(so_far, term, precision)), read, off or bool(flag))
            if not read:
                yield "x", (int(add(so_far, own, precision)), True, off)

        def flaw(state, x=x):
            so_far, read, off = state
            got = int(column(multiply(relu(add(so_far, bias, precision)), outer, precision), offset, precision))
            wanted = 0 if off else max(0, sign * x)
            return (got, wanted) if read and got != wanted else None

        closure = close([(0, False, False)], moves, flaw)
        states += closure.states
        if closure.witness is not None:
            flags = [letter for letter in closure.witness.letters if letter != "x"]
            wanted = closure.witness.flaw[1]
            inputs = {"x": [x], "off": [precision.one * f for f in flags]}
            text = f"x = {precision.meaning(x)}, flags {flags}"
            again = replay(emit(len(flags)), inputs, (target, 0), wanted, precision)
            return Outcome(states, states, text, again)
    return Outcome(states, states)
