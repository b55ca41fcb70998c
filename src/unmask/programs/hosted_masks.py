"""Hosted masks: a causal program in which every row also simulates the mask that comes after it.

Row n holds two streams: that of a row of the source, and that of the mask after this row, which the row *hosts*. Each
layer of the source is applied to both. The rows are simulated by the heads of the source. A mask attends to rows
(`rows`) and then to the masks of its block (`masks`), including itself. One softmax covers both sets of keys, but a
head of the program sees one set only, because a row has one key per head. So several heads compute the result of one
head of the source, from these values:

    v_j    value of key j
    e_j    exponential of its score
    Z      sum of all exponentials, clipped at B

    Compute Z    Heads count the keys whose score reaches a value at which exp grows (`addressed_rows`).
    If Z = B     The result is a clipped walk: it adds the terms [[e_j/B]·v_j] and clips after each, first those of the
                 rows, then those of the masks. A head over the rows, in which BEGIN fixes Z = B, gives the sum F over
                 the rows. If a block has one mask, this adds one term to F. If it has more, there is a head over the
                 masks for every number c of F_p, whose walk BEGIN starts at c, and an MLP selects the walk with c = F,
                 column by column.
    If Z < B     Fewer than 2^(p+1) keys have a weight above 0. They are found one after the other, the last one first.
                 Let x be the address of the key that was found before. The addresses below x are at most K dyadic
                 blocks, one for each bit k of x that is 1: the addresses that agree with x above bit k and have 0
                 there. A head per block tests whether the block has a key with a weight. A head over the last such
                 block reads the address of its last key. Then a head per key adds its value times its weight, in the
                 order of the keys.

BEGIN is row 0. If it is a row of the source, its stream is the same for every word. Then its key consists of constants,
and its term is the start of the walk over the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import N, both, choose, n
from unmask.numerics.arithmetic import Precision, multiply, weighted
from unmask.programs.addressed_rows import (
    WALKS,
    AddressedRows,
    bit_flags,
    clear_unless_last_bit,
    exact_levels,
    keep_zero,
    signed_bit,
    walk_over_bits,
)
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

KEY_SETS = ("rows", "masks")
BLOCK_CODE = ("above one", "above zero", "here")
"""Registers that describe the block with the next key: bits of x that are 1 or 0 above its bit, and its bit."""

SCRATCH = ("found", *BLOCK_CODE, *WALKS)
"""Registers of K columns for each set of keys, lowest bit first, that are needed for one key only."""


@dataclass(frozen=True)
class HostLayout:
    """Sizes: T = `steps` blocks of P' = `block` masks; `begin` is true if row 0 is a row of the source."""

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
    """The registers for one head of a source with `width` columns: name → number of columns.

    Registers of an address have K columns, lowest bit first. Register `one t` flags the bits that are 1 in the address
    of the t-th key that is found, `zero t` those that are 0, in two columns per bit (`LAST_BITS`). For t = 0 they hold
    the limit n + 1, from which the search goes down.
    """
    numbers, bits = tables.precision, layout.bits
    sizes = {"mass": 1, "total": numbers.bound, "empty": 1, "saturated": 1, "state": width, "sum": width}
    if layout.begin:
        sizes |= {"starts": (numbers.one + 1) * width, "begin level": numbers.one, "begin at": numbers.one}
        sizes |= {"begin unheard": 1, "state+": width, "state-": width}
    if layout.parallel:
        sizes |= {"ends": numbers.size * width, "state is": numbers.size * width, "end+": width, "end-": width}
    for key_set in KEY_SETS:
        sizes |= dict.fromkeys((f"{key_set} {name}" for name in SCRATCH), bits)
        sizes[f"{key_set} none"] = 1
        for turn in range(tables.most_keys + 1):
            sizes |= {f"{key_set} one {turn}": 2 * bits, f"{key_set} zero {turn}": 2 * bits}
            if turn:
                sizes |= {f"{key_set} level {turn}": numbers.one, f"{key_set} at {turn}": numbers.one}
                sizes[f"{key_set} unheard {turn}"] = 1
    return sizes


@dataclass(frozen=True, eq=False)
class HostedMasks(AddressedRows):
    """The registers of every row. `begin_streams` are the streams of row 0 before every layer, if the source has it."""

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
        """Add these registers to a program that has both streams; its rows are row 0, the input, and the symbols."""
        bits, block, steps = layout.bits, layout.block, layout.steps
        real, hosts = n >= 1, both(n >= N, n < N + block * steps)
        hosted_block = choose(hosts, (n - N).positive_part() // block, 0)
        flags = partial(bit_flags, program, bits)
        nothing: Columns = np.zeros(0, dtype=np.int64)
        current = symbol_block = nothing
        begins = program.flag("begin", n.equals(0), 2)
        if layout.parallel:
            own_symbol_block = (n - N - 1).positive_part() // block
            current = program.register("block of the mask", steps, OneHot(hosted_block, hosts))
            symbol_block = program.register("block of the symbol", steps, OneHot(own_symbol_block, n > N))
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
            idle=program.flag("hosts no mask", 1 - hosts),
            own_block=program.code("block", hosted_block, bits_for(steps)),
            mask_block=program.code("block of a hosted mask", hosted_block, bits_for(steps), only=hosts),
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
        """Hide BEGIN from the rows of a source that has no such row. BEGIN sees itself."""
        if self.layout.begin:
            return unguarded

        def guard(head: HeadBuilder) -> None:
            hide(head, self.begins[:1])
            boost(head, self.begins[:1], on=self.begins[:1])

        return guard

    def _attend(self, searches: list["_HostedHead"]) -> None:
        """Compute the results of all heads of a layer in 2m + 3 layers, where m is the most keys with a weight.

        Layer 1 computes Z. Layers 2t and 2t + 1 find the block and the address of the t-th key; for t = 1 and 2 they
        also compute the walks for Z = B. The last two layers compute the weights of all keys, then the sum.
        """
        layer = self.program.layer()
        for search in searches:
            search.mass(layer)
        for turn in range(self.tables.most_keys):
            layer = self.program.layer()
            clearing = itself(layer, self.own)
            for search in searches:
                search.find_block(layer, turn)
                search.clear_scratch(clearing, *BLOCK_CODE, *WALKS)
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
    """One head of the source with the masks as queries.

    The result is computed in `sum` and added to the stream of the mask at the end (`deliver`).
    """

    rows: HostedMasks
    source_head: Head
    layer_number: int
    columns: dict[str, Columns]

    @classmethod
    def of(cls, rows: HostedMasks, g: int, source_head: Head, layer_number: int) -> "_HostedHead":
        program, columns = rows.program, {}
        for name, size in search_registers(rows.tables, rows.layout, rows.masks.size).items():
            register = f"head {g}: {name}"
            exists = register in program.registers
            columns[name] = program.columns(register) if exists else program.register(register, size)
        return cls(rows, source_head, layer_number, columns)

    def __getitem__(self, name: str) -> Columns:
        return self.columns[name]

    def _stream(self, key_set: str) -> Columns:
        return self.rows.simulation.work if key_set == "rows" else self.rows.masks

    def _head(self, layer: LayerBuilder, key_set: str) -> HeadBuilder:
        """A head with the scores of the source, over one set of keys."""
        head = layer.head()
        head.width = self.source_head.wq.shape[1]
        head.query.append(moved(self.source_head.wq, self.rows.masks))
        head.key.append(moved(self.source_head.wk, self._stream(key_set)))
        return head

    def _visible(self, head: HeadBuilder, key_set: str) -> None:
        """Hide the keys that the mask does not see, in a head with scores of at most 0.

        Among the masks, only those of its block are visible. Among the rows, the symbols of its block are hidden.
        """
        rows = self.rows
        if key_set == "masks":
            eq(head, rows.own_block, rows.mask_block)
            return
        for block, symbol in zip(rows.current, rows.symbol_block, strict=True):
            head.column([(block, -B)], [(symbol, ONE)])

    def _walk(self, layer: LayerBuilder, key_set: str) -> HeadBuilder:
        """A clipped walk: a head with Z = B over one set of keys if Z = B in the source, else over BEGIN alone."""
        rows, head = self.rows, self._head(layer, key_set)
        if key_set == "masks":
            focus(head, rows.own_block, rows.mask_block, copies=focus_copies(rows.precision.p))
            hide(head, rows.idle)
        else:
            for _ in range(2):
                self._visible(head, key_set)
        for _ in range(2):
            head.column([(rows.program.one, -B), (self["saturated"], B)], [(rows.program.one, ONE)])
        rows.pin(head, rows.begins[:1])
        return head

    def _values(self, head: HeadBuilder, key_set: str, target: Columns) -> None:
        """Give the head the values of the source. Row 0 has the value 0, because BEGIN is added separately."""
        wv = self.source_head.wv
        head.value.append(Edges(self._stream(key_set)[wv.row], target[wv.column], wv.value))
        if key_set == "rows" and self.rows.layout.begin:
            head.value.append(Edges.between(self.rows.begins[:1], target, -self._of_begin(wv)))

    def _of_begin(self, matrix: Matrix) -> np.ndarray:
        """The stream of BEGIN times a matrix of the source."""
        stream = self.rows.begin_streams[self.layer_number]
        return weighted(stream[None], matrix.rows(), matrix.shape[1], self.rows.precision)[0]

    def _begin_head(self, layer: LayerBuilder) -> HeadBuilder:
        """A head in which every key has the score of BEGIN."""
        head = layer.head()
        head.width = self.source_head.wq.shape[1]
        head.query.append(moved(self.source_head.wq, self.rows.masks))
        key = self._of_begin(self.source_head.wk)
        head.key.append(Edges(np.repeat(self.rows.program.one, key.size), np.arange(key.size), key))
        return head

    def _count_begin(self, layer: LayerBuilder, amount: Form, target: Columns, step: int) -> None:
        """Add step·2^-p to the target if the score of BEGIN is at least -amount."""
        rows, head = self.rows, self._begin_head(layer)
        rows.shift(head, amount)
        eq(head, rows.own, rows.own)
        rows.pin(head, rows.begins[:1])
        head.copy(rows.real, target, whole(step))

    def mass(self, layer: LayerBuilder) -> None:
        """Compute Z and the flags that depend on it: which number it is, whether it is B, whether it is 0."""
        rows = self.rows
        for score, step in rows.tables.growth:
            amount: Form = [(rows.program.one, ulps(-score))]
            for key_set in KEY_SETS:
                head = self._head(layer, key_set)
                rows.shift(head, amount)
                self._visible(head, key_set)
                rows.pin(head, rows.begins[:1])
                head.copy(rows.real, self["mass"], whole(step))
            if rows.layout.begin:
                self._count_begin(layer, amount, self["mass"], step)
        mlp, mass = layer.mlp, self["mass"]
        one_hot(mlp, mass[0], range(1, rows.precision.bound + 1), self["total"])
        for key_set in KEY_SETS:  # the search starts from the limit n + 1, if Z < B
            for name, flags in (("one", rows.limit_ones), ("zero", rows.limit_zeros)):
                limit = self[f"{key_set} {name} 0"][: rows.bits]
                copy_flags(mlp, flags, limit)
                for column in limit:
                    clear_if_positive(mlp, column, mass, ONE, -NEXT_TO_B)
        clear_if_positive(mlp, self["saturated"][0], mass, -ONE, B)
        clear_if_some(mlp, self["empty"][0], mass)
        clear_if_flagged(mlp, [int(rows.idle[0])], self["empty"][0])
        mlp.offset(self["saturated"], ONE)
        mlp.offset(self["empty"], ONE)

    def begin_levels(self, layer: LayerBuilder) -> None:
        """Compute the weight of BEGIN in units of 2^-p, if BEGIN is a row of the source."""
        if not self.rows.layout.begin:
            return
        for level, column in enumerate(self["begin level"], 1):
            self._count_begin(layer, self.rows.thresholds(self["total"], level), column[None], 1)
        exact_levels(layer.mlp, self["begin level"], self["begin at"], self["begin unheard"])

    def walks_over_rows(self, layer: LayerBuilder) -> None:
        """Where Z = B: walk over the rows from every possible term of BEGIN, and select the correct walk."""
        rows = self.rows
        if not rows.layout.begin:
            return
        wv, width = self.source_head.wv, rows.masks.size
        starts = self["starts"].reshape(-1, width)
        flags = [self["begin unheard"], *(flag[None] for flag in self["begin at"])]
        for level, (target, flag) in enumerate(zip(starts, flags, strict=True)):
            head = self._walk(layer, "rows")
            self._values(head, "rows", target)
            start = multiply(np.full(width, level), self._of_begin(wv), rows.precision)
            head.value.append(Edges.between(rows.begins[1:], target, start))
            gate_on(layer.mlp, rows.program.one, target, np.repeat(flag, width), self["state+"], self["state-"])

    def state_after_rows(self, layer: LayerBuilder) -> None:
        """Where Z = B: store F in `state`. If a block has several masks, flag which number each entry of F is."""
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
        """Where Z = B: walk over the masks of the block from every start in F_p, and select the walk from F."""
        rows, width = self.rows, self.rows.masks.size
        if not rows.layout.parallel:
            return
        ends, flags = self["ends"].reshape(-1, width), self["state is"].reshape(-1, width)
        for start, target, flag in zip(rows.precision.numbers(), ends, flags, strict=True):
            head = self._walk(layer, "masks")
            self._values(head, "masks", target)
            head.value.append(Edges.between(rows.begins[1:], target, np.full(width, start)))
            gate_on(layer.mlp, rows.program.one, target, flag, self["end+"], self["end-"])

    def _bits(self, key_set: str, turn: int) -> tuple[list[list[int]], list[list[int]]]:
        """For every bit of the address of a key, the columns that flag a 1, and the columns that flag a 0."""
        ones, zeros = (self[f"{key_set} {name} {turn}"].reshape(2, -1).T.tolist() for name in ("one", "zero"))
        return ones, zeros

    def clear_scratch(self, head: HeadBuilder, *names: str) -> None:
        for key_set in KEY_SETS:
            clear(head, *(self[f"{key_set} {name}"] for name in names))
            if "here" in names:
                clear(head, self[f"{key_set} none"])

    def find_block(self, layer: LayerBuilder, turn: int) -> None:
        """Where Z < B: find the last block below x that has a key with a weight, and write its `BLOCK_CODE`."""
        rows, mlp = self.rows, layer.mlp
        for key_set in KEY_SETS:
            ones, zeros = self._bits(key_set, turn)
            x = [signed_bit(*pair) for pair in zip(ones, zeros, strict=True)]
            has_key = self[f"{key_set} found"]
            for k in range(rows.bits):
                head = self._head(layer, key_set)
                rows.shift(head, rows.thresholds(self["total"], 1))
                self._visible(head, key_set)
                rows.in_block(head, k, x, 0, [(np.array(ones[k]), B)])
                rows.pin(head, rows.begins[:1])
                head.copy(rows.real, has_key[k : k + 1])
                block_bit = self[f"{key_set} here"][k]
                clear_if_some(mlp, block_bit, has_key[:k])
                clear_if_none(mlp, block_bit, has_key[k : k + 1])
                for name, flags in (("above one", ones[k]), ("above zero", zeros[k])):
                    target = self[f"{key_set} {name}"][k : k + 1]
                    for flag in flags:
                        copy_flags(mlp, np.array([flag]), target)
                    clear_if_none(mlp, target[0], has_key[:k])
            mlp.offset(self[f"{key_set} here"], ONE)
            none = self[f"{key_set} none"]
            mlp.offset(none, ONE)
            clear_if_some(mlp, none[0], has_key)

    def find_key(self, layer: LayerBuilder, turn: int) -> None:
        """Where Z < B: find the address of the last key with a weight in this block."""
        rows = self.rows
        for key_set in KEY_SETS:
            flags = [[int(self[f"{key_set} {name}"][k]) for name in BLOCK_CODE] for k in range(rows.bits)]
            head = self._head(layer, key_set)
            rows.shift(head, rows.thresholds(self["total"], 1))
            self._visible(head, key_set)
            code = [signed_bit([one], [zero, block_bit]) for one, zero, block_bit in flags]
            rows.equal(head, code, [[(np.array(of_bit), -B)] for of_bit in flags])
            head.column([(self[f"{key_set} none"], -B)], [(rows.program.one, ONE)])
            rows.pin(head, rows.begins[:1])
            walks = [self[f"{key_set} {name}"] for name in WALKS]
            walk_over_bits(head, rows.one_bits, rows.zero_bits, rows.begins[:1], walks)
            self._read_address(layer.mlp, key_set, turn + 1, walks)

    def _read_address(self, mlp: MlpBuilder, key_set: str, turn: int, walks: Sequence[Columns]) -> None:
        """Write the address of the key; if no block has a key, the walks stay at B, and all flags are cleared."""
        ones, zeros = self._bits(key_set, turn)
        for k in range(self.rows.bits):
            unless = partial(clear_unless_last_bit, mlp, walks=walks, k=k, jump=self.rows.tables.jump)
            unless(ones[k][0], bit=1, case=0)
            clear_if_flagged(mlp, [int(self[f"{key_set} none"][0])], ones[k][0])
            unless(ones[k][1], bit=1, case=1)
            unless(zeros[k][0], bit=0, case=0)
            unless(zeros[k][1], bit=0, case=1)
        mlp.offset(self[f"{key_set} one {turn}"], ONE)
        mlp.offset(self[f"{key_set} zero {turn}"], ONE)

    def find_levels(self, layer: LayerBuilder) -> None:
        """Compute the weights of all keys that were found, in units of 2^-p."""
        rows, one = self.rows, self.rows.program.one
        for key_set in KEY_SETS:
            for turn in range(1, rows.tables.most_keys + 1):
                codes = [signed_bit(*pair) for pair in zip(*self._bits(key_set, turn), strict=True)]
                levels = self[f"{key_set} level {turn}"]
                for level, column in enumerate(levels, 1):
                    head = self._head(layer, key_set)
                    rows.shift(head, rows.thresholds(self["total"], level))
                    rows.equal(head, codes, [[(one, -B)]] * rows.bits)
                    rows.pin(head, rows.begins[:1])
                    head.copy(rows.real, column[None])
                exact_levels(layer.mlp, levels, self[f"{key_set} at {turn}"], self[f"{key_set} unheard {turn}"])

    def add_up(self, layer: LayerBuilder) -> None:
        """Write the result to `sum`: the walk where Z = B, elsewhere the sum over the keys in ascending order."""
        rows = self.rows
        head = itself(layer, rows.own)
        if rows.layout.parallel:
            merge(head, self["end+"], self["end-"], self["sum"])
        else:
            head.copy(self["state"], self["sum"])
            self._values(self._walk(layer, "masks"), "masks", self["sum"])
        for key_set in KEY_SETS:
            for turn in reversed(range(1, rows.tables.most_keys + 1)):
                self._add_key(layer, key_set, turn)

    def _add_key(self, layer: LayerBuilder, key_set: str, turn: int) -> None:
        """Add the value of a key times its weight; the head also sees BEGIN, whose score determines the weight."""
        rows, one, tables = self.rows, self.rows.program.one, self.rows.tables
        head = layer.head()
        for pair, key in zip(zip(*self._bits(key_set, turn), strict=True), rows.address, strict=True):
            head.column(signed_bit(*pair), [(key, ONE)])
            head.column([(one, -B)], [(rows.real, ONE)])
        levels = self[f"{key_set} at {turn}"]
        scores = np.array([tables.companion(level) for level in range(1, levels.size + 1)])
        head.column([(levels, scores), (self[f"{key_set} unheard {turn}"], B)], [(rows.begins[0], ONE)])
        self._values(head, key_set, self["sum"])

    def deliver(self, layer: LayerBuilder) -> None:
        """Add the result to the stream of the mask. Divide by zero if the source does."""
        head = itself(layer, self.rows.own)
        head.column([(self["empty"], -B)], [(self.rows.program.one, ONE)])
        head.copy(self["sum"], self.rows.masks)
