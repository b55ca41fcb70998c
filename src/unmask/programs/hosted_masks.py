"""Hosted masks: a causal program that simulates, in every row, the mask that would come next.

Row n of the program holds two streams: that of a row of the source, and that of the mask after it. A layer of the
source maps both. Rows are simulated by the heads of the source. A mask attends to rows (`rows`) and then to masks of
its own block (`masks`), including itself: two sets of keys, but one softmax. Let Z be the sum of all exponentials, at
most B.

    mass         Z, by heads that count the keys whose score reaches a value at which exp grows (`AddressedRows`).
    Z = B        The head is a clipped walk over the letters [[e_j/B]·v_j]: first rows, then masks. A head over rows in
                 which BEGIN fixes Z = B gives the state F after the rows. A block of one mask adds one letter. For
                 larger blocks there is a head over the masks for every number c of F_p, in which BEGIN starts a walk
                 at c; an MLP selects that of c = F, column by column.
    Z < B        Fewer than 2^(p+1) keys have a weight that is not 0. They are found one after the other, the last one
                 first: the addresses below x are dyadic blocks (bit k of x is 1: those that agree with x above k and
                 have 0 there), a head for each says whether it has a key, and one walk reads the address of the last
                 key of the lowest. Then a head per key adds its value with its weight, the first key first.

BEGIN is row 0. If it is a row of the source, its stream is the same for every word. Then its key is read from
constants, and its letter is the start of the clipped walk over the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import N, both, choose, n
from unmask.numerics.arithmetic import Precision, multiply, weighted
from unmask.programs.addressed_rows import AddressedRows, bit_flags, exact_levels, keep_zero, last_bit, signed_bit
from unmask.programs.declarations import OneHot
from unmask.programs.gadgets.attention import boost, clear, eq, focus, focus_copies, hide, itself
from unmask.programs.gadgets.mlp import (
    clear_if_flagged,
    clear_if_none,
    clear_if_positive,
    clear_if_some,
    copy_flags,
    gate_on,
    merge,
    one_hot,
)
from unmask.programs.program import (
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
from unmask.programs.simulation import Guard, Simulation, moved, unguarded
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head

PARTS = ("rows", "masks")
SCRATCH = ("found", "above one", "above zero", "here", "ones last", "zeros last", "zeros")
"""Registers of K columns for each part, lowest bit first, that are needed for one key only."""


@dataclass(frozen=True)
class HostLayout:
    """Sizes: blocks of P' masks, T of them; `begin` says whether row 0 is a row of the source."""

    rows: int
    steps: int
    block: int
    begin: bool

    @property
    def bits(self) -> int:
        return bits_for(self.rows + 1)

    @property
    def parallel(self) -> bool:
        return self.block > 1

    def width(self) -> int:
        """The number of columns other than those of the streams and the searches."""
        hidden = 2 * self.steps if self.parallel else 0
        return bits_for(self.rows) + 5 * self.bits + 2 * bits_for(self.steps) + 5 + hidden


def search_registers(tables: ScoreTables, layout: HostLayout, width: int) -> dict[str, int]:
    """The registers of one head of the source, which has `width` columns."""
    numbers, bits = tables.precision, layout.bits
    sizes = {"mass": 1, "total": numbers.bound, "empty": 1, "saturated": 1, "state": width, "sum": width}
    if layout.begin:
        sizes |= {"starts": (numbers.one + 1) * width, "begin level": numbers.one, "begin at": numbers.one}
        sizes |= {"begin unheard": 1, "state+": width, "state-": width}
    if layout.parallel:
        sizes |= {"ends": numbers.size * width, "state is": numbers.size * width, "end+": width, "end-": width}
    for part in PARTS:
        sizes |= dict.fromkeys((f"{part} {name}" for name in SCRATCH), bits)
        sizes[f"{part} none"] = 1
        for turn in range(tables.heard + 1):
            sizes |= {f"{part} one {turn}": 2 * bits, f"{part} zero {turn}": 2 * bits}
            if turn:
                sizes |= {f"{part} level {turn}": numbers.one, f"{part} at {turn}": numbers.one}
                sizes[f"{part} unheard {turn}"] = 1
    return sizes


@dataclass(frozen=True, eq=False)
class HostedMasks(AddressedRows):
    """Both streams of every row; `begin_streams` are those of row 0 before every layer, if it is a source row."""

    layout: HostLayout
    simulation: Simulation
    masks: Columns
    begins: Columns
    own: Columns
    one_bits: Columns
    zero_bits: Columns
    limit_ones: Columns
    limit_zeros: Columns
    idle: Columns
    own_block: Columns
    mask_block: Columns
    current: Columns
    symbol_block: Columns
    begin_streams: Sequence[np.ndarray]

    @classmethod
    def of(
        cls,
        program: Program,
        simulation: Simulation,
        masks: Columns,
        layout: HostLayout,
        begin_streams: Sequence[np.ndarray],
    ) -> "HostedMasks":
        """Registers for a program whose rows are row 0, the input, and the symbols; the streams are before them."""
        bits, block, steps = layout.bits, layout.block, layout.steps
        real, active = n >= 1, both(n >= N, n < N + block * steps)
        number = choose(active, (n - N).positive_part() // block, 0)
        flags = partial(bit_flags, program, bits)
        nothing: Columns = np.zeros(0, dtype=np.int64)
        current = symbol_block = nothing
        begins = program.flag("begin", n.equals(0), 2)
        if layout.parallel:
            written = (n - N - 1).positive_part() // block
            current = program.register("block of the mask", steps, OneHot(number, active))
            symbol_block = program.register("block of the symbol", steps, OneHot(written, n > N))
        address = program.code("address", n, bits, only=real)[::-1]
        one_bits = flags("address has bit", n, 1, real)
        zero_bits = flags("address lacks bit", n, 0, real)
        return cls(
            program,
            ScoreTables(simulation.source.precision),
            bits,
            address=address,
            real=program.flag("not begin", real),
            layout=layout,
            simulation=simulation,
            masks=masks,
            begins=begins,
            own=program.code("own", n),
            one_bits=one_bits,
            zero_bits=zero_bits,
            limit_ones=flags("limit has bit", n + 1, 1, real),
            limit_zeros=flags("limit lacks bit", n + 1, 0, real),
            idle=program.flag("hosts no mask", 1 - active),
            own_block=program.code("block", number, bits_for(steps)),
            mask_block=program.code("block of a hosted mask", number, bits_for(steps), only=active),
            current=current,
            symbol_block=symbol_block,
            begin_streams=begin_streams,
        )

    @property
    def precision(self) -> Precision:
        return self.tables.precision

    def layer(self, number: int) -> None:
        """Simulate one layer of the source on both streams of every row."""
        program, source = self.program, self.simulation.source.layers[number]
        searches = [_HostedHead.of(self, g, head, number) for g, head in enumerate(source.heads)]
        if searches:
            self._attend(searches)
        layer = program.layer()
        for search in searches:
            search.deliver(layer)
        if searches:
            clearing = itself(layer, self.own)
            for search in searches:
                clear(clearing, *search.columns.values())
        self.simulation.layer(number, layer, self._guard())
        self.simulation.mlp(number, layer, self.masks)
        keep_zero(layer, source.mlp, self.masks, self.begins[:1])
        if not self.layout.begin:
            keep_zero(layer, source.mlp, self.simulation.work, self.begins[:1])

    def _guard(self) -> Guard:
        """Rows of the source do not see a BEGIN that the source does not have; BEGIN sees itself."""
        if self.layout.begin:
            return unguarded

        def guard(head: HeadBuilder) -> None:
            hide(head, self.begins[:1])
            boost(head, self.begins[:1], on=self.begins[:1])

        return guard

    def _attend(self, searches: list["_HostedHead"]) -> None:
        layer = self.program.layer()
        for search in searches:
            search.mass(layer)
        for turn in range(self.tables.heard):
            layer = self.program.layer()
            clearing = itself(layer, self.own)
            for search in searches:
                search.find_block(layer, turn)
                search.clear_scratch(clearing, "above one", "above zero", "here", "ones last", "zeros last", "zeros")
                if turn == 0:
                    search.begin_levels(layer)
                elif turn == 1:
                    search.state_after_rows(layer)
            layer = self.program.layer()
            clearing = itself(layer, self.own)
            for search in searches:
                search.find_key(layer, turn)
                search.clear_scratch(clearing, "found")
                if turn == 0:
                    search.walks_over_rows(layer)
                elif turn == 1:
                    search.walks_over_masks(layer)
        layer = self.program.layer()
        for search in searches:
            search.find_levels(layer)
        layer = self.program.layer()
        for search in searches:
            search.add_up(layer)


@dataclass(frozen=True, eq=False)
class _HostedHead:
    """One head of the source, whose queries are masks."""

    rows: HostedMasks
    given: Head
    number: int
    columns: dict[str, Columns]

    @classmethod
    def of(cls, rows: HostedMasks, g: int, given: Head, number: int) -> "_HostedHead":
        program, columns = rows.program, {}
        for name, size in search_registers(rows.tables, rows.layout, rows.masks.size).items():
            register = f"head {g}: {name}"
            exists = register in program.registers
            columns[name] = program.columns(register) if exists else program.register(register, size)
        return cls(rows, given, number, columns)

    def __getitem__(self, name: str) -> Columns:
        return self.columns[name]

    # heads

    def _stream(self, part: str) -> Columns:
        return self.rows.simulation.work if part == "rows" else self.rows.masks

    def _head(self, layer: LayerBuilder, part: str) -> HeadBuilder:
        """A head with the scores of the source."""
        head = layer.head()
        head.width = self.given.wq.shape[1]
        head.query.append(moved(self.given.wq, self.rows.masks))
        head.key.append(moved(self.given.wk, self._stream(part)))
        return head

    def _visible(self, head: HeadBuilder, part: str) -> None:
        """Keep only the keys of the part, in a head with scores up to 0: no symbols of the block, only its masks."""
        rows = self.rows
        if part == "masks":
            eq(head, rows.own_block, rows.mask_block)
            return
        for block, symbol in zip(rows.current, rows.symbol_block, strict=True):
            head.column([(block, -B)], [(symbol, ONE)])

    def _walk(self, layer: LayerBuilder, part: str) -> HeadBuilder:
        """A head with Z = B over the keys of the part if Z = B in the source, else over BEGIN alone."""
        rows, head = self.rows, self._head(layer, part)
        if part == "masks":
            focus(head, rows.own_block, rows.mask_block, copies=focus_copies(rows.precision.p))
            hide(head, rows.idle)
        else:
            for _ in range(2):
                self._visible(head, part)
        for _ in range(2):
            head.column([(rows.program.one, -B), (self["saturated"], B)], [(rows.program.one, ONE)])
        rows.pin(head, rows.begins[:1])
        return head

    def _values(self, head: HeadBuilder, part: str, target: Columns) -> None:
        """The values of the source; those of row 0 are 0."""
        wv = self.given.wv
        head.value.append(Edges(self._stream(part)[wv.row], target[wv.column], wv.value))
        if part == "rows" and self.rows.layout.begin:
            head.value.append(Edges.between(self.rows.begins[:1], target, -self._of_begin(wv)))

    def _of_begin(self, matrix: Matrix) -> np.ndarray:
        """The stream of BEGIN times a matrix of the source."""
        stream = self.rows.begin_streams[self.number]
        return weighted(stream[None], matrix.rows(), matrix.shape[1], self.rows.precision)[0]

    def _begin_head(self, layer: LayerBuilder) -> HeadBuilder:
        """A head in which every key has the score of BEGIN."""
        head = layer.head()
        head.width = self.given.wq.shape[1]
        head.query.append(moved(self.given.wq, self.rows.masks))
        key = self._of_begin(self.given.wk)
        head.key.append(Edges(np.repeat(self.rows.program.one, key.size), np.arange(key.size), key))
        return head

    def _count_begin(self, layer: LayerBuilder, amount: Form, target: Columns, step: int) -> None:
        rows, head = self.rows, self._begin_head(layer)
        rows.shift(head, amount)
        eq(head, rows.own, rows.own)
        rows.pin(head, rows.begins[:1])
        head.copy(rows.real, target, whole(step))

    # the sum of the exponentials

    def mass(self, layer: LayerBuilder) -> None:
        """Compute Z and the flags that depend on it."""
        rows = self.rows
        for score, step in rows.tables.growth:
            amount: Form = [(rows.program.one, ulps(-score))]
            for part in PARTS:
                head = self._head(layer, part)
                rows.shift(head, amount)
                self._visible(head, part)
                rows.pin(head, rows.begins[:1])
                head.copy(rows.real, self["mass"], whole(step))
            if rows.layout.begin:
                self._count_begin(layer, amount, self["mass"], step)
        mlp, mass = layer.mlp, self["mass"]
        one_hot(mlp, mass[0], range(1, rows.precision.bound + 1), self["total"])
        for part in PARTS:
            for name, flags in (("one", rows.limit_ones), ("zero", rows.limit_zeros)):
                limit = self[f"{part} {name} 0"][: rows.bits]
                copy_flags(mlp, flags, limit)
                for column in limit:
                    clear_if_positive(mlp, column, mass, ONE, -NEXT_TO_B)
        clear_if_positive(mlp, self["saturated"][0], mass, -ONE, B)
        clear_if_some(mlp, self["empty"][0], mass)
        clear_if_flagged(mlp, [int(rows.idle[0])], self["empty"][0])
        mlp.offset(self["saturated"], ONE)
        mlp.offset(self["empty"], ONE)

    # Z = B

    def begin_levels(self, layer: LayerBuilder) -> None:
        """The weight of BEGIN, if it is a row of the source, in units of 2^-p."""
        if not self.rows.layout.begin:
            return
        for level, column in enumerate(self["begin level"], 1):
            self._count_begin(layer, self.rows.thresholds(self["total"], level), column[None], 1)
        exact_levels(layer.mlp, self["begin level"], self["begin at"], self["begin unheard"])

    def walks_over_rows(self, layer: LayerBuilder) -> None:
        """Compute the state after the rows for every possible weight of BEGIN, and select the correct one."""
        rows = self.rows
        if not rows.layout.begin:
            return
        wv, width = self.given.wv, rows.masks.size
        starts = self["starts"].reshape(-1, width)
        flags = [self["begin unheard"], *(flag[None] for flag in self["begin at"])]
        for level, (target, flag) in enumerate(zip(starts, flags, strict=True)):
            head = self._walk(layer, "rows")
            self._values(head, "rows", target)
            start = multiply(np.full(width, level), self._of_begin(wv), rows.precision)
            head.value.append(Edges.between(rows.begins[1:], target, start))
            gate_on(layer.mlp, rows.program.one, target, np.repeat(flag, width), self["state+"], self["state-"])

    def state_after_rows(self, layer: LayerBuilder) -> None:
        """Compute F and, if blocks have several masks, which number it is in every column."""
        rows, width = self.rows, self.rows.masks.size
        if rows.layout.begin:
            merge(itself(layer, rows.own), self["state+"], self["state-"], self["state"])
        else:
            self._values(self._walk(layer, "rows"), "rows", self["state"])
        if rows.layout.parallel:
            numbers = rows.precision.numbers()
            for column, flags in zip(self["state"], self["state is"].reshape(-1, width).T, strict=True):
                one_hot(layer.mlp, column[None], numbers, flags)

    def walks_over_masks(self, layer: LayerBuilder) -> None:
        """Add a walk over the masks of the block for every start in F_p, and select that of F."""
        rows, width = self.rows, self.rows.masks.size
        if not rows.layout.parallel:
            return
        ends, flags = self["ends"].reshape(-1, width), self["state is"].reshape(-1, width)
        for start, target, flag in zip(rows.precision.numbers(), ends, flags, strict=True):
            head = self._walk(layer, "masks")
            self._values(head, "masks", target)
            head.value.append(Edges.between(rows.begins[1:], target, np.full(width, start)))
            gate_on(layer.mlp, rows.program.one, target, flag, self["end+"], self["end-"])

    # Z < B

    def _bits(self, part: str, turn: int) -> tuple[list[list[int]], list[list[int]]]:
        """For every bit of a found address, the columns that flag a 1, and the columns that flag a 0."""
        ones, zeros = (self[f"{part} {name} {turn}"].reshape(2, -1).T.tolist() for name in ("one", "zero"))
        return ones, zeros

    def clear_scratch(self, head: HeadBuilder, *names: str) -> None:
        for part in PARTS:
            clear(head, *(self[f"{part} {name}"] for name in names))
            if "here" in names:
                clear(head, self[f"{part} none"])

    def find_block(self, layer: LayerBuilder, turn: int) -> None:
        """Find the last block below x with a key that has a weight: flags of its bit, and of its bits above."""
        rows, mlp = self.rows, layer.mlp
        for part in PARTS:
            ones, zeros = self._bits(part, turn)
            x = [signed_bit(*pair) for pair in zip(ones, zeros, strict=True)]
            found = self[f"{part} found"]
            for k in range(rows.bits):
                head = self._head(layer, part)
                rows.shift(head, rows.thresholds(self["total"], 1))
                self._visible(head, part)
                rows.in_block(head, k, x, 0, [(np.array(ones[k]), B)])
                rows.pin(head, rows.begins[:1])
                head.copy(rows.real, found[k : k + 1])
                here = self[f"{part} here"]
                clear_if_some(mlp, here[k], found[:k])
                clear_if_none(mlp, here[k], found[k : k + 1])
                for name, flags in (("above one", ones[k]), ("above zero", zeros[k])):
                    target = self[f"{part} {name}"][k : k + 1]
                    for flag in flags:
                        copy_flags(mlp, np.array([flag]), target)
                    clear_if_none(mlp, target[0], found[:k])
            mlp.offset(self[f"{part} here"], ONE)
            none = self[f"{part} none"]
            mlp.offset(none, ONE)
            clear_if_some(mlp, none[0], found)

    def find_key(self, layer: LayerBuilder, turn: int) -> None:
        """Find the address of the last key of the block that has a weight.

        Two walks per bit start at B: a 1 adds `jump` and a 0 subtracts 2^-p in one of them, the other way round in the
        other. If at most `jump` keys have a 0, the first walk ends at B exactly if the last key has a 1. Otherwise
        fewer than `jump` keys have a 1, and the second walk ends at B exactly if the last key has a 0.
        """
        rows = self.rows
        for part in PARTS:
            asked = [[int(self[f"{part} {name}"][k]) for name in SCRATCH[1:4]] for k in range(rows.bits)]
            head = self._head(layer, part)
            rows.shift(head, rows.thresholds(self["total"], 1))
            self._visible(head, part)
            codes = [signed_bit([one], [zero, here]) for one, zero, here in asked]
            rows.equal(head, codes, [[(np.array(flags), -B)] for flags in asked])
            head.column([(self[f"{part} none"], -B)], [(rows.program.one, ONE)])
            rows.pin(head, rows.begins[:1])
            for name, up, down in (
                ("ones last", rows.one_bits, rows.zero_bits),
                ("zeros last", rows.zero_bits, rows.one_bits),
            ):
                target = self[f"{part} {name}"]
                head.copy(up, target, B)
                head.copy(down, target, -ONE)
                head.copy(rows.begins[:1], target, B)
            head.copy(rows.zero_bits, self[f"{part} zeros"])
            self._read_address(layer.mlp, part, turn + 1)

    def _read_address(self, mlp: MlpBuilder, part: str, turn: int) -> None:
        ones, zeros = self._bits(part, turn)
        for k in range(self.rows.bits):
            walks = [int(self[f"{part} {name}"][k]) for name in ("ones last", "zeros last", "zeros")]
            when = partial(last_bit, mlp, walks=walks, jump=self.rows.tables.jump)
            when(ones[k][0], ends=True, few=None, other=None)
            clear_if_flagged(mlp, [int(self[f"{part} none"][0])], ones[k][0])
            when(ones[k][1], ends=False, few=False, other=False)
            when(zeros[k][0], ends=False, few=True, other=None)
            when(zeros[k][1], ends=False, few=False, other=True)
        mlp.offset(self[f"{part} one {turn}"], ONE)
        mlp.offset(self[f"{part} zero {turn}"], ONE)

    def find_levels(self, layer: LayerBuilder) -> None:
        """Compute the weights of the found keys, in units of 2^-p."""
        rows, one = self.rows, self.rows.program.one
        for part in PARTS:
            for turn in range(1, rows.tables.heard + 1):
                codes = [signed_bit(*pair) for pair in zip(*self._bits(part, turn), strict=True)]
                levels = self[f"{part} level {turn}"]
                for level, column in enumerate(levels, 1):
                    head = self._head(layer, part)
                    rows.shift(head, rows.thresholds(self["total"], level))
                    rows.equal(head, codes, [[(one, -B)]] * rows.bits)
                    rows.pin(head, rows.begins[:1])
                    head.copy(rows.real, column[None])
                exact_levels(layer.mlp, levels, self[f"{part} at {turn}"], self[f"{part} unheard {turn}"])

    # the result

    def add_up(self, layer: LayerBuilder) -> None:
        """Add up the result: the walk if Z = B, else the found keys, the first one first."""
        rows = self.rows
        head = itself(layer, rows.own)
        if rows.layout.parallel:
            merge(head, self["end+"], self["end-"], self["sum"])
        else:
            head.copy(self["state"], self["sum"])
            self._values(self._walk(layer, "masks"), "masks", self["sum"])
        for part in PARTS:
            for turn in reversed(range(1, rows.tables.heard + 1)):
                self._add_key(layer, part, turn)

    def _add_key(self, layer: LayerBuilder, part: str, turn: int) -> None:
        """Add the value of a key times its weight; the head also sees BEGIN, whose score determines the weight."""
        rows, one, tables = self.rows, self.rows.program.one, self.rows.tables
        head = layer.head()
        for pair, key in zip(zip(*self._bits(part, turn), strict=True), rows.address, strict=True):
            head.column(signed_bit(*pair), [(key, ONE)])
            head.column([(one, -B)], [(rows.real, ONE)])
        levels = self[f"{part} at {turn}"]
        scores = np.array([tables.companion(level) for level in range(1, levels.size + 1)])
        head.column([(levels, scores), (self[f"{part} unheard {turn}"], B)], [(rows.begins[0], ONE)])
        self._values(head, part, self["sum"])

    def deliver(self, layer: LayerBuilder) -> None:
        """Add the result to the stream of the mask; divide by zero if the source does."""
        head = itself(layer, self.rows.own)
        head.column([(self["empty"], -B)], [(self.rows.program.one, ONE)])
        head.copy(self["sum"], self.rows.masks)
