"""Causal attention in an unmasked program, with two streams in every row: one in order, one in reverse order.

`MirroredRows` simulates the layers of a causal source of R rows in R + 3 rows. A row holds the stream of a row of the
source and, in other columns, that of another row: the *mirror*, with the rows of the source in descending order. A
head reads the keys of one of the two. The prefix 0 … i of a query is at most K = ⌈log2(R + 1)⌉ dyadic blocks (bit k of
i + 1 is 1: the rows that agree with i + 1 above bit k and have 0 there), each of which one head can see.

    mass       A = Σ exp over the prefix, clipped at B: a head per block and per value at which exp grows. The score is
               cut and shifted so that a key has the weight 2^-p if its score reaches the value, else 0, and a sentinel
               with exp = B fixes Z = B. Each head adds (growth)·(number of such keys); all add to one column.
               Meanwhile the mirror is copied from the rows.
    saturated  A = B, so Z = B in the source too and block k maps a running sum x to f_k(x), a clipped walk over the
               letters [[e_j/B]·v_j]. Heads are summed one by one and clipped, so they can apply f_k: see `saturated`.
    unsaturated  A < B: fewer than 2^(p+1) keys have a weight that is not 0. They are found one after the other, in
               ascending order, and added one after the other: see `_Search`.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import Expression, both, choose, n
from unmask.programs.addressed_rows import AddressedRows, bit_flags, exact_levels, keep_zero, last_bit, signed_bit
from unmask.programs.gadgets.attention import clear, focus_copies, hide, itself, lookup
from unmask.programs.gadgets.mlp import (
    clear_if_flagged,
    clear_if_none,
    clear_if_positive,
    clear_if_some,
    conjunction,
    copy_flags,
    one_hot,
)
from unmask.programs.program import (
    HALF,
    NEXT_TO_B,
    ONE,
    B,
    Columns,
    Edges,
    Form,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
    bits_for,
    whole,
)
from unmask.programs.score_tables import ScoreTables, ulps
from unmask.programs.simulation import Simulation, column_labels, moved
from unmask.weights.transformer import Head, Transformer

SPARE = 3


def spare_row(start: Expression) -> Expression:
    """[row n is one of the three after the given rows]."""
    return both(n >= start, n < start + SPARE)


@dataclass(frozen=True, eq=False)
class Mirror(AddressedRows):
    """START, the rows of the source in descending order, END, END: in other columns than the rows themselves.

    `origin` is the code of the row that is mirrored: for START and END a spare row, without a stream.
    """

    stream: Columns
    origin: Columns
    one_bits: Columns
    zero_bits: Columns
    hidden: Columns
    begins: Columns
    ends: tuple[Columns, Columns]

    @classmethod
    def of(cls, program: Program, source: Transformer, bits: int, start: Expression, count: Expression) -> "Mirror":
        real = both(n >= 1, n <= count)
        row = choose(real, count - n, 0)
        flags = partial(bit_flags, program, bits)
        return cls(
            program,
            ScoreTables(source.precision),
            bits,
            stream=program.register("mirrored stream", column_labels(source)),
            origin=program.code("mirrored row", choose(real, choose(row < start, row, row + SPARE), start)),
            address=program.code("mirrored address", row, bits, only=real)[::-1],
            real=program.flag("has a mirrored row", real),
            one_bits=flags("mirrored address has bit", row, 1, real),
            zero_bits=flags("mirrored address lacks bit", row, 0, real),
            hidden=program.flag("no mirrored row", 1 - real),
            begins=program.flag("start", n.equals(0)),
            ends=(program.flag("first end", n.equals(count + 1)), program.flag("second end", n.equals(count + 2))),
        )


@dataclass(frozen=True, eq=False)
class MirroredRows(AddressedRows):
    """The rows of a program: the given rows, three spare rows, and the rows that are written.

    `start` is the number of given rows, `row` the row of the source; the first spare row is END for heads over rows.
    """

    start: Expression
    row: Expression
    own: Columns
    limit: Columns
    limit_ones: Columns
    limit_zeros: Columns
    spare: Columns
    end: Columns
    mirror: Mirror

    @classmethod
    def of(
        cls, program: Program, source: Transformer, start: Expression, count: Expression, rows: int
    ) -> "MirroredRows":
        """Registers for `rows` rows of a source; `count` is the same number as an expression."""
        bits = bits_for(rows + 1)
        real = 1 - spare_row(start)
        row = choose(n < start, n, real * (n - SPARE).positive_part())
        limit = choose(real, row + 1, 0)
        flags = partial(bit_flags, program, bits)
        return cls(
            program,
            ScoreTables(source.precision),
            bits,
            start=start,
            row=row,
            own=program.code("own", n),
            address=program.code("address", row, bits, only=real)[::-1],
            limit=program.code("limit", limit, bits)[::-1],
            limit_ones=flags("limit has bit", limit, 1, real),
            limit_zeros=flags("limit lacks bit", limit, 0, real),
            real=program.flag("row of the source", real),
            spare=program.flag("spare", 1 - real),
            end=program.flag("end", n.equals(start)),
            mirror=Mirror.of(program, source, bits, start, count),
        )

    def layer(self, simulation: Simulation, number: int, unreached: Columns) -> None:
        """Simulate one layer of the source; rows that are flagged as `unreached` never divide by zero."""
        program, source = self.program, simulation.source.layers[number]
        searches = [_Search.of(self, simulation, g, head) for g, head in enumerate(source.heads)]
        if searches:
            self._attend(searches, unreached)
        layer = program.layer()
        for search in searches:
            search.deliver(layer)
        if searches:
            clearing = itself(layer, self.own)
            clear(clearing, self.mirror.stream)
            for search in searches:
                search.clear_all(clearing)
        simulation.mlp(number, layer)
        keep_zero(layer, source.mlp, simulation.work, self.spare)

    def _attend(self, searches: list["_Search"], unreached: Columns) -> None:
        program, mirror = self.program, self.mirror
        layer = program.layer()
        lookup(layer, mirror.origin, self.own).copy(searches[0].simulation.work, mirror.stream)
        for search in searches:
            search.mass(layer, unreached)
        for turn in range(self.tables.heard):
            layer = program.layer()
            for search in searches:
                if turn:
                    search.add_key(layer)
                else:
                    search.saturated(layer)
                search.find_block(layer)
            layer = program.layer()
            clearing = itself(layer, self.own)
            for search in searches:
                search.find_key(layer)
                search.clear_levels(clearing)
            layer = program.layer()
            clearing = itself(layer, self.own)
            for search in searches:
                search.find_levels(layer)
                search.move_on(clearing)
        layer = program.layer()
        for search in searches:
            search.add_key(layer)


@dataclass(frozen=True, eq=False)
class _Search:
    """One head of the source. Registers of K columns start with the lowest bit.

    The unsaturated keys after x (the one found last) and up to the limit y are in dyadic blocks, too:
        left   bit k of x is 0, below the highest bit in which x and y differ: rows that agree with x above k, 1 there
        right  bit k of y is 1, below that bit: rows that agree with y above k, 0 there
    in this order: left blocks from the lowest bit, right blocks from the highest. `left` and `open` flag them.
    """

    rows: MirroredRows
    simulation: Simulation
    given: Head
    columns: dict[str, Columns]

    @classmethod
    def of(cls, rows: MirroredRows, simulation: Simulation, g: int, given: Head) -> "_Search":
        program, k = rows.program, rows.bits
        numbers = rows.tables.precision
        sizes = {
            "sum": simulation.work.size,
            "mass": 1,
            "total": numbers.bound - 1,
            "empty": 1,
            "level": numbers.one,
            "exact level": numbers.one,
            "no level": 1,
            "none": 1,
        }
        sizes |= dict.fromkeys(("saturated", "open", "left a", "left b", "left c", "x one", "x zero"), k)
        sizes |= dict.fromkeys(("in left", "in right", "x one'", "x zero'", "y one'", "y zero'"), k)
        sizes |= dict.fromkeys(("left here", "right here", "left below", "right below"), k)
        sizes |= dict.fromkeys(("ones last", "zeros last", "zeros", "one a", "one b", "zero a", "zero b"), k)
        sizes |= dict.fromkeys(("new open", "new left a", "new left b", "new left c"), k)
        columns = {}
        for name, size in sizes.items():
            register = f"head {g}: {name}"
            exists = register in program.registers
            columns[name] = program.columns(register) if exists else program.register(register, size)
        return cls(rows, simulation, given, columns)

    def __getitem__(self, name: str) -> Columns:
        return self.columns[name]

    def _head(self, layer: LayerBuilder, keys: Columns | None = None) -> HeadBuilder:
        """A head with the scores of the source, over the rows or over the mirror."""
        head, work = layer.head(), self.simulation.work
        head.width = self.given.wq.shape[1]
        head.query.append(moved(self.given.wq, work))
        head.key.append(moved(self.given.wk, work if keys is None else keys))
        return head

    def mass(self, layer: LayerBuilder, unreached: Columns) -> None:
        """Compute the sum A of the exponentials in the prefix, and the flags that depend on it."""
        rows = self.rows
        limit: list[Form] = [[(rows.limit[b], B)] for b in range(rows.bits)]
        for score, step in rows.tables.growth:
            for k in range(rows.bits):
                head = self._head(layer)
                rows.shift(head, [(rows.program.one, ulps(-score))])
                rows.in_block(head, k, limit, 0, [(rows.limit_ones[k], B)])
                hide(head, rows.spare, copies=1)
                rows.pin(head, rows.end)
                head.copy(rows.real, self["mass"], whole(step))
        mlp, mass, bound = layer.mlp, self["mass"], rows.tables.precision.bound
        one_hot(mlp, mass[0], range(1, bound), self["total"])
        for name, bias, sign in (("open", -NEXT_TO_B, ONE), ("saturated", B, -ONE)):
            copy_flags(mlp, rows.limit_ones, self[name])
            for column in self[name]:
                clear_if_positive(mlp, column, mass, sign, bias)
        mlp.offset(self["empty"], ONE)
        clear_if_some(mlp, self["empty"][0], mass)
        clear_if_flagged(mlp, [int(unreached[0]), int(rows.spare[0])], self["empty"][0])

    def saturated(self, layer: LayerBuilder) -> None:
        """Apply the clipped walks f_k of the blocks of the prefix, one after the other, where A = B.

        Let g_k be a walk over the same letters, negated and in reverse order, which the mirror has, and α = g_k(B),
        β = g_k(-B). Then f_k(x) = min(max(x, β), α) - min(max(0, β), α) + f_k(0), because f_k is constant, and so is
        g_k, or f_k is x + s between β and α and constant outside. With P = B - max(α, 0), P' = max(-α, 0),
        Q = B + min(β, 0), Q' = max(β, 0) these summands, each the result of one head, lead from x to f_k(x):
            P, P', -P, -P'   min(x, α)
            -Q, -Q', Q       max(…, β) - Q'
            P', f_k(0)
        START sets the initial state of a head over the mirror; ENDs cut and shift its final state.
        """
        rows = self.rows
        P, P2, Q, Q2 = (1, False), (1, True), (-1, False), (-1, True)  # sign of the letters, cut at 0
        for k in reversed(range(rows.bits)):
            for (letters, cut), sign in ((P, 1), (P2, 1), (P, -1), (P2, -1), (Q, -1), (Q2, -1), (Q, 1), (P2, 1)):
                self._walk(layer, k, letters * sign, sign, cut=cut)
            head = self._in_saturated_block(layer, k, rows, self.simulation.work)
            hide(head, rows.spare)
            rows.pin(head, rows.end)
            self._values(head, self.simulation.work, 1)

    def _in_saturated_block(self, layer: LayerBuilder, k: int, seen: AddressedRows, keys: Columns) -> HeadBuilder:
        rows, head = self.rows, self._head(layer, keys)
        limit: list[Form] = [[(rows.limit[b], HALF)] for b in range(rows.bits)]
        copies = focus_copies(rows.tables.precision.p)
        seen.in_block(head, k, limit, 0, [(self["saturated"][k], B)], HALF, copies)
        return head

    def _values(self, head: HeadBuilder, keys: Columns, sign: int) -> None:
        wv = self.given.wv
        head.value.append(Edges(keys[wv.row], self["sum"][wv.column], sign * wv.value))

    def _walk(self, layer: LayerBuilder, k: int, letters: int, sign: int, *, cut: bool) -> None:
        """Over the mirror of block k: from -sign·B over ±letters, then (-sign·B if cut), then sign·B."""
        mirror = self.rows.mirror
        head = self._in_saturated_block(layer, k, mirror, mirror.stream)
        hide(head, mirror.hidden)
        ends = mirror.ends if cut else mirror.ends[1:]
        mirror.pin(head, mirror.begins, *ends)
        self._values(head, mirror.stream, letters)
        written = self["sum"][np.unique(self.given.wv.column)]
        states = [(mirror.begins, -sign), (mirror.ends[1], sign)] + ([(mirror.ends[0], -sign)] if cut else [])
        for flag, s in states:
            head.copy(flag, written, B if s > 0 else -B)

    def find_block(self, layer: LayerBuilder) -> None:
        """Find the first block after x with a key that has a weight."""
        rows = self.rows
        x: list[Form] = [signed_bit([a], [b]) for a, b in zip(self["x one"], self["x zero"], strict=True)]
        limit: list[Form] = [[(rows.limit[b], B)] for b in range(rows.bits)]
        left = [[(np.array([self[f"left {i}"][k] for i in "abc"]), B)] for k in range(rows.bits)]
        opened = [[(self["open"][k], B)] for k in range(rows.bits)]
        for code, digit, gates, found in ((x, 1, left, self["in left"]), (limit, 0, opened, self["in right"])):
            for k in range(rows.bits):
                head = self._head(layer)
                rows.shift(head, rows.thresholds(self["total"], 1))
                rows.in_block(head, k, code, digit, gates[k])
                hide(head, rows.spare, copies=1)
                rows.pin(head, rows.end)
                head.copy(rows.real, found[k])
        self._choose(layer.mlp)

    def _choose(self, mlp: MlpBuilder) -> None:
        """Flags of the chosen block: its bit, and the bits of its code above."""
        rows, left, right = self.rows, self["in left"], self["in right"]
        for k in range(rows.bits):
            for name, source in (("x one'", self["x one"]), ("x zero'", self["x zero"])):
                copy_flags(mlp, source[k : k + 1], self[name][k : k + 1])
                clear_if_none(mlp, self[name][k], left[:k])
            for name, source in (("y one'", rows.limit_ones), ("y zero'", rows.limit_zeros)):
                copy_flags(mlp, source[k : k + 1], self[name][k : k + 1])
                clear_if_some(mlp, self[name][k], [*left, *right[k:]])
                clear_if_none(mlp, self[name][k], right[:k])
            here, below = self["left here"][k], self["left below"][k]
            clear_if_some(mlp, here, left[:k])
            clear_if_none(mlp, here, left[k : k + 1])
            clear_if_some(mlp, below, left[: k + 1])
            clear_if_none(mlp, below, left[k + 1 :])
            here, below = self["right here"][k], self["right below"][k]
            clear_if_some(mlp, here, [*left, *right[k + 1 :]])
            clear_if_none(mlp, here, right[k : k + 1])
            clear_if_some(mlp, below, left)
            clear_if_none(mlp, below, right[k + 1 :])
        for name in ("left here", "left below", "right here", "right below"):
            mlp.offset(self[name], ONE)
        mlp.offset(self["none"], ONE)
        clear_if_some(mlp, self["none"][0], [*left, *right])

    def _asked(self, k: int) -> list[int]:
        """The flags for bit k being part of the code of the chosen block."""
        names = ("x one'", "x zero'", "left here", "y one'", "y zero'", "right here")
        return [int(self[name][k]) for name in names]

    def find_key(self, layer: LayerBuilder) -> None:
        """Find the address of the first key of the block that has a weight, which is the last one in the mirror.

        Two walks per bit start at B: a 1 adds `jump` and a 0 subtracts 2^-p in one of them, the other way round in the
        other. If at most `jump` keys have a 0, the first walk ends at B exactly if the last key has a 1. Otherwise
        fewer than `jump` keys have a 1, and the second walk ends at B exactly if the last key has a 0.
        """
        rows = self.rows
        codes, asks = [], []
        for k in range(rows.bits):
            x1, x0, left, y1, y0, right = self._asked(k)
            codes.append(signed_bit([x1, left, y1], [x0, y0, right]))
            asks.append([(np.array(self._asked(k)), -B)])
        mirror, head = rows.mirror, self._head(layer, rows.mirror.stream)
        mirror.shift(head, rows.thresholds(self["total"], 1))
        mirror.equal(head, codes, asks)
        head.column([(self["none"], -B)], [(rows.program.one, ONE)])
        hide(head, mirror.hidden, copies=1)
        mirror.pin(head, mirror.begins)
        for name, up, down in (
            ("ones last", mirror.one_bits, mirror.zero_bits),
            ("zeros last", mirror.zero_bits, mirror.one_bits),
        ):
            head.copy(up, self[name], B)
            head.copy(down, self[name], -ONE)
            head.copy(mirror.begins, self[name], B)
        head.copy(mirror.zero_bits, self["zeros"])
        self._read_address(layer.mlp)

    def _read_address(self, mlp: MlpBuilder) -> None:
        rows, jump = self.rows, self.rows.tables.jump
        none = int(self["none"][0])
        for k in range(rows.bits):
            walks = [int(self[name][k]) for name in ("ones last", "zeros last", "zeros")]
            when = partial(last_bit, mlp, walks=walks, jump=jump)
            when(self["one a"][k], ends=True, few=None, other=None)
            clear_if_flagged(mlp, [none], self["one a"][k])
            when(self["one b"][k], ends=False, few=False, other=False)
            for name, few, other in (("zero a", True, None), ("zero b", False, True)):
                when(self[name][k], ends=False, few=few, other=other)
                after = self[f"new left {name[-1]}"][k]
                when(after, ends=False, few=few, other=other)
                clear_if_flagged(mlp, [*self._asked(k), none], after)
            keep = [int(self[name][k]) for name in ("left here", "left below", "y one'", "y zero'", "right here")]
            unit = mlp.units(1)
            mlp.read(np.repeat(unit, 3), np.array([self[f"left {i}"][k] for i in "abc"]))
            mlp.read(np.repeat(unit, 7), np.array([*keep, self["right below"][k], none]), -ONE)
            mlp.write(unit, self["new left c"][k : k + 1])
            closed = [int(self[name][k]) for name in ("y one'", "y zero'", "right here")]
            mlp.write(conjunction(mlp, self["open"][k : k + 1], [[*closed, none]]), self["new open"][k : k + 1])
        for name in ("one a", "one b", "zero a", "zero b", "new left a", "new left b"):
            mlp.offset(self[name], ONE)

    def clear_levels(self, head: HeadBuilder) -> None:
        for name in ("level", "exact level", "no level"):
            head.copy(self[name], self[name], -ONE)

    def find_levels(self, layer: LayerBuilder) -> None:
        """Compute the weight of the found key, in units of 2^-p."""
        rows, one = self.rows, self.rows.program.one
        ones, zeros = (list(zip(self[f"{d} a"], self[f"{d} b"], strict=True)) for d in ("one", "zero"))
        for level in range(1, self["level"].size + 1):
            head = self._head(layer)
            rows.shift(head, rows.thresholds(self["total"], level))
            rows.equal(head, [signed_bit(*pair) for pair in zip(ones, zeros, strict=True)], [[(one, -B)]] * rows.bits)
            hide(head, rows.spare, copies=1)
            rows.pin(head, rows.end)
            head.copy(rows.real, self["level"][level - 1])
        exact_levels(layer.mlp, self["level"], self["exact level"], self["no level"])

    def move_on(self, head: HeadBuilder) -> None:
        """In a SELF head, make the found key the new x, and reset to 0 everything that was only needed to find it."""
        for target, sources in (
            ("x one", ("one a", "one b")),
            ("x zero", ("zero a", "zero b")),
            ("open", ("new open",)),
            *((f"left {i}", (f"new left {i}",)) for i in "abc"),
        ):
            head.copy(self[target], self[target], -ONE)
            for source in sources:
                head.copy(self[source], self[target])
                head.copy(self[source], self[source], -ONE)
        for name in ("x one'", "x zero'", "y one'", "y zero'", "none"):
            head.copy(self[name], self[name], -ONE)
        for name in ("left here", "right here", "left below", "right below", "in left", "in right"):
            head.copy(self[name], self[name], -ONE)
        for name in ("ones last", "zeros last", "zeros"):
            head.copy(self[name], self[name], -ONE)

    def add_key(self, layer: LayerBuilder) -> None:
        """Add the value of the key x times its weight; the head also sees END, whose score determines the weight."""
        rows, one, tables = self.rows, self.rows.program.one, self.rows.tables
        head = layer.head()
        for k in range(rows.bits):
            head.column(signed_bit([self["x one"][k]], [self["x zero"][k]]), [(rows.address[k], ONE)])
            head.column([(one, -B)], [(rows.real, ONE)])
        hide(head, rows.spare, copies=1)
        for _ in range(2):  # not hidden
            head.column([(one, B)], [(rows.end, ONE)])
        head.column([(one, -B)], [(rows.end, ONE)])
        scores = np.array([tables.companion(level) for level in range(1, self["exact level"].size + 1)])
        head.column([(self["exact level"], scores), (self["no level"], B)], [(rows.end, ONE)])
        self._values(head, self.simulation.work, 1)

    def deliver(self, layer: LayerBuilder) -> None:
        """Add the result of the head to the stream; divide by zero if the source does."""
        rows = self.rows
        head = itself(layer, rows.own)
        head.column([(self["empty"], -B)], [(rows.program.one, ONE)])
        head.copy(self["sum"], self.simulation.work)

    def clear_all(self, head: HeadBuilder) -> None:
        for name in ("sum", "mass", "total", "empty", "saturated", "open", "left a", "left b", "left c"):
            head.copy(self[name], self[name], -ONE)
        for name in ("x one", "x zero"):
            head.copy(self[name], self[name], -ONE)
        self.clear_levels(head)
