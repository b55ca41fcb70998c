"""Mirrored rows: causal attention in an unmasked program, with a second copy of all streams in reverse order.

Given:     a causal *source* of R rows, with D columns and H heads in a layer.
Result:    layers of an unmasked program with R + 3 rows (`MirroredRows.layer`). After the layers that simulate a layer
           of the source, the stream of every row is equal to that of the source in every bit. The width is
           O(H·(D + log R)) at fixed p.

Idea. Row i of the source sees the rows 0 … i, its *prefix*. With O(log R) columns, a head of an unmasked program can
see a dyadic block of it: the rows that agree with i + 1 above bit k and have 0 there, for a bit k of i + 1 that is 1.
The prefix is the union of at most K = ⌈log2(R + 1)⌉ such blocks, in order from the highest bit to the lowest. Several
heads, over one block each, compute the result of one head of the source (`_MirroredHead`). Each row also holds, in
other columns, the stream of another row, so that the rows of the source are there in descending order as well: the
*mirror*. A head over the mirror sees the keys of a block from the last to the first: it finds the first key of the
block, or walks back.

For key j of a row, let v_j be its value and e_j the exponential of its score. A = min(Σ_j e_j, B) over the prefix, and
the result is the sum of the terms [[e_j/A]·v_j] in the order of the keys, clipped after each term: a *clipped walk*.

    A          For each block and each value at which exp grows, a head counts the keys whose score reaches this value
               (`addressed_rows`), and adds (growth of exp)·(number of keys). The mirror is copied in the same layer.
    A = B      Let f_k be the map from the sum before block k to the sum after it. The results of the heads of a layer
               are added one by one and clipped, too: nine heads apply f_k to any sum (`_MirroredHead.saturated`).
    A < B      Fewer than 2^(p+1) keys have a weight above 0. They are found one by one, from the first to the last, and
               a head per key adds its value times its weight (`_MirroredHead.find_block`, `find_key`, `add_key`).

The three additional rows make room for sentinels, which have fixed scores: END for heads over the rows, START and two
ENDs for heads over the mirror.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import Expression, both, choose, n
from unmask.programs.addressed_rows import (
    WALKS,
    AddressedRows,
    ScoreTables,
    SimulatedHead,
    bit_flags,
    clear_unless_last_bit,
    exact_levels,
    head_registers,
    keep_zero,
    signed_bit,
    ulps,
    walk_over_bits,
)
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
from unmask.programs.simulation import Simulation, column_labels, head_with_scores
from unmask.weights.transformer import Head, Transformer

SPARE = 3
"""Spare rows, for the sentinels: END of the rows, and START and two ENDs of the mirror need R + 3 rows."""


LEVELS = ("level", "exact level", "no level")
"""The registers for the weight of the key that was found, in units of 2^-p."""


def spare_row(start: Expression) -> Expression:
    """[row n is one of the three after the input]."""
    return both(n >= start, n < start + SPARE)


@dataclass(frozen=True, eq=False)
class Mirror(AddressedRows):
    """The mirror, which consists of the second streams of all rows: START, the source in descending order, END, END.

    `origin` is the code of the row whose stream is copied. For START and END this is a spare row, whose stream is 0.
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
    """The rows of a program: the rows of the input, three spare rows, and the rows that are written.

    `start` is the number of rows of the input, `row` the row of the source that a row simulates. The first spare row is
    the sentinel END of heads over the rows. `limit` is the code of i + 1 in the row that simulates row i.
    """

    start: Expression
    row: Expression
    row_code: Columns
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
            row_code=program.code("own", n),
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
        """Simulate one layer of the source. Rows that are flagged as `unreached` never divide by zero."""
        program, source = self.program, simulation.source.layers[number]
        heads = [_MirroredHead.of(self, simulation, g, source_head) for g, source_head in enumerate(source.heads)]
        if heads:
            self._attend(heads, unreached)
        layer = program.layer()
        for head in heads:
            head.add_result(layer, self.row_code, simulation.work)
        if heads:
            clearing = itself(layer, self.row_code)
            clear(clearing, self.mirror.stream)
            for head in heads:
                head.clear_all(clearing)
        simulation.mlp(number, layer)
        keep_zero(layer, source.mlp, simulation.work, self.spare)

    def _attend(self, heads: list["_MirroredHead"], unreached: Columns) -> None:
        """Compute the results of all heads of a layer in 3m + 2 layers, where m is the most keys with a weight.

        Layer 1 computes A and the mirror. Then three layers per key find its block, its address and its weight. The
        first of them also adds the key before; for the first key, it computes the walks for A = B instead. The last
        layer adds the last key.
        """
        program, mirror = self.program, self.mirror
        layer = program.layer()
        lookup(layer, mirror.origin, self.row_code).copy(heads[0].simulation.work, mirror.stream)
        for head in heads:
            head.mass(layer, unreached)
        for key_number in range(self.tables.most_keys):
            layer = program.layer()
            for head in heads:
                if key_number:
                    head.add_key(layer)
                else:
                    head.saturated(layer)
                head.find_block(layer)
            layer = program.layer()
            clearing = itself(layer, self.row_code)
            for head in heads:
                head.find_key(layer)
                head.clear(clearing, *LEVELS)
            layer = program.layer()
            clearing = itself(layer, self.row_code)
            for head in heads:
                head.find_levels(layer)
                head.move_on(clearing)
        layer = program.layer()
        for head in heads:
            head.add_key(layer)


SUMMANDS = (
    (1, 1, False),  # P
    (1, 1, True),  # P'
    (-1, -1, False),  # -P
    (-1, -1, True),  # -P'
    (1, -1, False),  # -Q
    (1, -1, True),  # -Q'
    (-1, 1, False),  # Q
    (1, 1, True),  # P'
)
"""The summands of `_MirroredHead.saturated` before f_k(0), as arguments (terms, sign, cut) of `_MirroredHead._walk`."""


@dataclass(frozen=True, eq=False)
class _MirroredHead(SimulatedHead):
    """One head of the source, with the walks if A = B and the search for its keys if A < B.

    Registers of K columns start with the lowest bit. Let x be the key that was found last and y = i + 1 the limit. The
    keys between x and y are a union of dyadic blocks, too. Let h be the highest bit in which x and y differ.

        left block k    for k < h, if bit k of x is 0: the rows that agree with x above bit k and have 1 there
        right block k   for k < h, if bit k of y is 1: the rows that agree with y above bit k and have 0 there

    In ascending order these are the left blocks from the lowest bit on, then the right blocks from the highest bit on.
    While left block k has not been searched, one of `left a`, `left b` and `left c` is 1 in column k; while right block
    k has not been searched, `open` is. Before the first key there are only right blocks, one per bit of y that is 1.
    """

    rows: MirroredRows
    simulation: Simulation

    @classmethod
    def of(cls, rows: MirroredRows, simulation: Simulation, g: int, source_head: Head) -> "_MirroredHead":
        k, numbers = rows.bits, rows.tables.precision
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
        # the blocks of the walks, the blocks that have not been searched, and x
        sizes |= dict.fromkeys(("saturated", "open", "left a", "left b", "left c", "x one", "x zero"), k)
        # above 0 if a left or right block has a key with a weight above 0; then the code of the chosen block
        sizes |= dict.fromkeys(("in left", "in right", "x one'", "x zero'", "y one'", "y zero'"), k)
        sizes |= dict.fromkeys(("left here", "right here", "left below", "right below"), k)
        # the walks over address bits, the address of the key that was found, and the blocks after it
        sizes |= dict.fromkeys((*WALKS, "one a", "one b", "zero a", "zero b"), k)
        sizes |= dict.fromkeys(("new open", "new left a", "new left b", "new left c"), k)
        return cls(source_head, head_registers(rows.program, g, sizes), rows, simulation)

    def _head(self, layer: LayerBuilder, keys: Columns | None = None) -> HeadBuilder:
        """Add a head with the scores of the source, over the rows or over the stream `keys` of the mirror."""
        work = self.simulation.work
        return head_with_scores(layer, self.source_head, work, work if keys is None else keys)

    def mass(self, layer: LayerBuilder, unreached: Columns) -> None:
        """Compute A and the flags that depend on it.

        `open` flags the blocks of the prefix if A < B, and `saturated` flags them if A = B.
        """
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
        """Where A = B, apply f_k to the register `sum`, for the blocks k of the prefix in ascending order.

        The clipped walk f_k adds the terms of block k one by one. Let g_k be the walk over the negated terms in reverse
        order, which is the order of the mirror. Let α = g_k(B) and β = g_k(-B). Then

            f_k(x) = min(max(x, β), α) - min(max(0, β), α) + f_k(0)

        because either f_k and g_k are both constant, or f_k(x) is x + s between β and α, and constant outside. Let
        P = B - max(α, 0), P' = max(-α, 0), Q = B + min(β, 0) and Q' = max(β, 0). The following summands, each of which
        is the result of one head, turn the sum x into f_k(x):

            P, P', -P, -P'   lead to min(x, α)
            -Q, -Q', Q       lead to min(max(x, β), α) - Q'
            P', f_k(0)       lead to f_k(x), because min(max(0, β), α) = Q' - P'
        """
        rows = self.rows
        for k in reversed(range(rows.bits)):
            for terms, sign, cut in SUMMANDS:
                self._walk(layer, k, terms, sign, cut=cut)
            head = self._in_saturated_block(layer, k, rows, self.simulation.work)
            hide(head, rows.spare)
            rows.pin(head, rows.end)
            self._values(head, self.simulation.work, 1)

    def _in_saturated_block(self, layer: LayerBuilder, k: int, key_rows: AddressedRows, keys: Columns) -> HeadBuilder:
        rows, head = self.rows, self._head(layer, keys)
        limit: list[Form] = [[(rows.limit[b], HALF)] for b in range(rows.bits)]
        copies = focus_copies(rows.tables.precision.p)
        key_rows.in_block(head, k, limit, 0, [(self["saturated"][k], B)], HALF, copies)
        return head

    def _values(self, head: HeadBuilder, keys: Columns, sign: int) -> None:
        wv = self.source_head.wv
        head.value.append(Edges(keys[wv.row], self["sum"][wv.column], sign * wv.value))

    def _walk(self, layer: LayerBuilder, k: int, terms: int, sign: int, *, cut: bool) -> None:
        """Add the result of a clipped walk over the mirror of block k, one of the `SUMMANDS`.

        START sets the initial value -sign·B. Then come the terms times `terms`, which is ±1. The first END adds -sign·B
        if `cut` is set. The second END adds sign·B.
        """
        mirror = self.rows.mirror
        head = self._in_saturated_block(layer, k, mirror, mirror.stream)
        hide(head, mirror.hidden)
        ends = mirror.ends if cut else mirror.ends[1:]
        mirror.pin(head, mirror.begins, *ends)
        self._values(head, mirror.stream, terms)
        written = self["sum"][np.unique(self.source_head.wv.column)]
        states = [(mirror.begins, -sign), (mirror.ends[1], sign)] + ([(mirror.ends[0], -sign)] if cut else [])
        for flag, s in states:
            head.copy(flag, written, B if s > 0 else -B)

    def find_block(self, layer: LayerBuilder) -> None:
        """Find the first block after x that has a key with a weight."""
        rows = self.rows
        x: list[Form] = [signed_bit([a], [b]) for a, b in zip(self["x one"], self["x zero"], strict=True)]
        limit: list[Form] = [[(rows.limit[b], B)] for b in range(rows.bits)]
        left = [[(np.array([self[f"left {i}"][k] for i in "abc"]), B)] for k in range(rows.bits)]
        right = [[(self["open"][k], B)] for k in range(rows.bits)]
        for code, digit, gates, has_key in ((x, 1, left, self["in left"]), (limit, 0, right, self["in right"])):
            for k in range(rows.bits):
                head = self._head(layer)
                rows.shift(head, rows.thresholds(self["total"], 1))
                rows.in_block(head, k, code, digit, gates[k])
                hide(head, rows.spare, copies=1)
                rows.pin(head, rows.end)
                head.copy(rows.real, has_key[k])
        self._choose(layer.mlp)

    def _choose(self, mlp: MlpBuilder) -> None:
        """Flag the bits of the chosen block, for its bit k and the bits above.

        If it is a left block, `x one'` and `x zero'` are the bits of x above k, and `left here` is bit k. If it is a
        right block, `y one'`, `y zero'` and `right here` are those of y. `left below` and `right below` flag
        the bits below a chosen left or right block.
        """
        rows, left, right = self.rows, self["in left"], self["in right"]
        for k in range(rows.bits):
            for name, source in (("x one'", self["x one"]), ("x zero'", self["x zero"])):
                copy_flags(mlp, source[k : k + 1], self[name][k : k + 1])
                clear_if_none(mlp, self[name][k], left[:k])
            for name, source in (("y one'", rows.limit_ones), ("y zero'", rows.limit_zeros)):
                copy_flags(mlp, source[k : k + 1], self[name][k : k + 1])
                clear_if_some(mlp, self[name][k], [*left, *right[k:]])
                clear_if_none(mlp, self[name][k], right[:k])
            is_left, below_left = self["left here"][k], self["left below"][k]
            clear_if_some(mlp, is_left, left[:k])
            clear_if_none(mlp, is_left, left[k : k + 1])
            clear_if_some(mlp, below_left, left[: k + 1])
            clear_if_none(mlp, below_left, left[k + 1 :])
            is_right, below_right = self["right here"][k], self["right below"][k]
            clear_if_some(mlp, is_right, [*left, *right[k + 1 :]])
            clear_if_none(mlp, is_right, right[k : k + 1])
            clear_if_some(mlp, below_right, left)
            clear_if_none(mlp, below_right, right[k + 1 :])
        for name in ("left here", "left below", "right here", "right below"):
            mlp.offset(self[name], ONE)
        mlp.offset(self["none"], ONE)
        clear_if_some(mlp, self["none"][0], [*left, *right])

    def _block_code(self, k: int) -> list[int]:
        """The flags for bit k of the code of the chosen block: one of them is 1 if bit k belongs to this code."""
        names = ("x one'", "x zero'", "left here", "y one'", "y zero'", "right here")
        return [int(self[name][k]) for name in names]

    def find_key(self, layer: LayerBuilder) -> None:
        """Find the address of the first key with a weight in the block, which is the last one in the mirror."""
        rows = self.rows
        code, asks = [], []
        for k in range(rows.bits):
            x1, x0, left, y1, y0, right = self._block_code(k)
            code.append(signed_bit([x1, left, y1], [x0, y0, right]))
            asks.append([(np.array(self._block_code(k)), -B)])
        mirror, head = rows.mirror, self._head(layer, rows.mirror.stream)
        mirror.shift(head, rows.thresholds(self["total"], 1))
        mirror.equal(head, code, asks)
        head.column([(self["none"], -B)], [(rows.program.one, ONE)])
        hide(head, mirror.hidden, copies=1)
        mirror.pin(head, mirror.begins)
        walk_over_bits(head, mirror.one_bits, mirror.zero_bits, mirror.begins, [self[name] for name in WALKS])
        self._read_address(layer.mlp)

    def _read_address(self, mlp: MlpBuilder) -> None:
        """Write the address of the key that was found, and the blocks after it; nothing if `none` is set.

        The key has a left block k if its bit k is 0 and k is below the bit of the chosen block (`new left a` and `b`),
        or if left block k of x is above the chosen block (`new left c`).
        """
        rows, none = self.rows, int(self["none"][0])
        for k in range(rows.bits):
            walks = [self[name] for name in WALKS]
            unless = partial(clear_unless_last_bit, mlp, walks=walks, k=k, jump=rows.tables.jump)
            unless(self["one a"][k], bit=1, case=0)
            clear_if_flagged(mlp, [none], self["one a"][k])
            unless(self["one b"][k], bit=1, case=1)
            for case, letter in enumerate("ab"):
                unless(self[f"zero {letter}"][k], bit=0, case=case)
                new_left = self[f"new left {letter}"][k]
                unless(new_left, bit=0, case=case)
                clear_if_flagged(mlp, [*self._block_code(k), none], new_left)
            passed = ("left here", "left below", "y one'", "y zero'", "right here", "right below")
            unit = mlp.units(1)
            mlp.read(np.repeat(unit, 3), np.array([self[f"left {i}"][k] for i in "abc"]))
            mlp.read(np.repeat(unit, 7), np.array([*(self[name][k] for name in passed), none]), -ONE)
            mlp.write(unit, self["new left c"][k : k + 1])
            closed = [int(self[name][k]) for name in ("y one'", "y zero'", "right here")]
            mlp.write(conjunction(mlp, self["open"][k : k + 1], [[*closed, none]]), self["new open"][k : k + 1])
        for name in ("one a", "one b", "zero a", "zero b", "new left a", "new left b"):
            mlp.offset(self[name], ONE)

    def find_levels(self, layer: LayerBuilder) -> None:
        """Compute the weight of the key that was found, in units of 2^-p."""
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
        """In a SELF head, make the key that was found the new x, and clear the registers of the search."""
        for target, sources in (
            ("x one", ("one a", "one b")),
            ("x zero", ("zero a", "zero b")),
            ("open", ("new open",)),
            *((f"left {i}", (f"new left {i}",)) for i in "abc"),
        ):
            self.clear(head, target)
            for source in sources:
                head.copy(self[source], self[target])
                self.clear(head, source)
        self.clear(head, "x one'", "x zero'", "y one'", "y zero'", "none")
        self.clear(head, "left here", "right here", "left below", "right below", "in left", "in right", *WALKS)

    def add_key(self, layer: LayerBuilder) -> None:
        """Add the value of the key x times its weight. The head also sees END, whose score determines the weight."""
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

    def clear_all(self, head: HeadBuilder) -> None:
        """In a SELF head, set the registers to 0 that the next layer of the source uses again."""
        self.clear(head, "sum", "mass", "total", "empty", "saturated", "open", "left a", "left b", "left c")
        self.clear(head, "x one", "x zero", *LEVELS)
