"""Hosted masks: each row of a causal program also simulates the mask that the source has in the next row.

Given:     a *source*, the transformer of a parallel chain of thought. In each of T steps, P' masks are appended to the
           symbols so far. A mask attends to the symbols before its block and to the masks of its block up to itself.
Result:    layers of a causal program with one row per symbol (`HostedMasks.layer`). Row n has two residual streams:
           that of symbol n, and in other columns that of the mask at position n + 1, which row n *hosts*. After the
           layers that simulate a layer of the source, both streams are equal to those of the source in every bit.

Idea. The streams of symbols are simulated by the heads of the source (`Simulation.layer`). A mask attends, in one
softmax, to two sets of keys, `rows` and `masks`; a head of the program sees only one of them, because a row has one key
per head. So several heads compute the result of one head of the source (`_HostedHead`). Heads that count keys compute
the sum Z of all exponentials. If Z is clipped, one long sum over all keys is split at a number that is known in
between; if not, only a few keys have a weight above 0, and these are found and added one by one.

For key j of a mask, let v_j be its value and e_j the exponential of its score. Z = min(Σ_j e_j, B), and the result is
the sum of the terms [[e_j/Z]·v_j] in the order of the keys, clipped after each term: a *clipped walk*.

    Z          For each value at which exp grows, a head counts the keys whose score reaches it (`addressed_rows`).
    Z = B      F = the walk over the rows: a head over the rows, in which BEGIN has the score B, so that its Z is B too.
               The result is the walk over the masks from F. If a block has one mask, this adds one term to F. If it has
               more, a head for every number c of F_p walks over the masks from c, the value of BEGIN, and an MLP
               selects the walk with c = F, column by column.
    Z < B      Fewer than 2^(p+1) keys have a weight above 0. They are found from the last to the first. Let x be the
               address of the key that was found before, or at first the limit n + 1. The addresses below x are at most
               K dyadic blocks, one for each bit k of x that is 1: the addresses that agree with x above bit k and have
               0 there. A head per block tests whether the block has a key with a weight above 0. A head over the last
               such block reads the address of its last key. In the end, a head per key adds its value times its weight,
               in the order of the keys.

BEGIN is row 0. It is the sentinel of these heads, so it is not one of their keys. If row 0 is also a row of the source,
its stream is the same for every word: its key is then built from constants, and its term is the start of the walk over
the rows.
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
from unmask.programs.simulation import Guard, Simulation, head_with_scores, moved_reads, unguarded
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head

KEY_SETS = ("rows", "masks")
BLOCK_CODE = ("above one", "above zero", "here")
"""Registers that describe the block with the next key: bits of x that are 1 or 0 above its bit, and its bit."""

SCRATCH = ("found", *BLOCK_CODE, *WALKS)
"""Registers of K columns for each set of keys, lowest bit first, that are needed for one key only."""


@dataclass(frozen=True)
class HostLayout:
    """The number of rows, T = `steps` blocks, and P' = `block` masks; `begin` is True if row 0 is one of the source."""

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
    """Return the registers for one head of a source with `width` columns: name → number of columns.

        mass, total             Z, and its one-hot code
        saturated, empty        [Z = B], [Z = 0]
        state, state is         F, and the one-hot code of each entry
        starts, ends            walks over the rows from each term of BEGIN, and over the masks from each number
        state ±, end ±, sum     the parts of the selected walks; the result

    and per set of keys, with K columns for an address, lowest bit first:

        found, none             above 0 if block k has a key with a weight above 0; [no block has one]
        above …, here           the code of the last such block (`BLOCK_CODE`)
        one t, zero t           the bits that are 1 and 0 in the address of the t-th key that is found, in two columns
                                per bit (`LAST_BITS`); for t = 0 the limit n + 1, below which the search starts
        level t                 for each i, above 0 if the weight of the t-th key is at least i·2^-p
        at t, unheard t         [this weight is i·2^-p], [it is 0]; `begin …` is the same for BEGIN
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
        for key_number in range(tables.most_keys + 1):
            sizes |= {f"{key_set} one {key_number}": 2 * bits, f"{key_set} zero {key_number}": 2 * bits}
            if key_number:
                sizes |= {f"{key_set} level {key_number}": numbers.one, f"{key_set} at {key_number}": numbers.one}
                sizes[f"{key_set} unheard {key_number}"] = 1
    return sizes


@dataclass(frozen=True, eq=False)
class HostedMasks(AddressedRows):
    """The registers of every row: both streams, addresses, and codes of blocks.

    `begin_streams` are the streams of BEGIN before every layer of the source; empty if row 0 is not a row of the
    source.
    """

    layout: HostLayout
    simulation: Simulation
    masks: Columns
    begins: Columns
    row_code: Columns
    one_bits: Columns
    zero_bits: Columns
    limit_ones: Columns
    limit_zeros: Columns
    idle: Columns
    own_block: Columns
    mask_block: Columns
    mask_block_flags: Columns
    symbol_block_flags: Columns
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
        mask_block_flags = symbol_block_flags = nothing
        begins = program.flag("begin", n.equals(0), 2)
        if layout.parallel:
            own_symbol_block = (n - N - 1).positive_part() // block
            mask_block_flags = program.register("block of the mask", steps, OneHot(hosted_block, hosts))
            symbol_block_flags = program.register("block of the symbol", steps, OneHot(own_symbol_block, n > N))
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
            row_code=program.code("own", n),
            one_bits=one_bits,
            zero_bits=zero_bits,
            limit_ones=flags("limit has bit", n + 1, 1, real),
            limit_zeros=flags("limit lacks bit", n + 1, 0, real),
            idle=program.flag("hosts no mask", 1 - hosts),
            own_block=program.code("block", hosted_block, bits_for(steps)),
            mask_block=program.code("block of a hosted mask", hosted_block, bits_for(steps), only=hosts),
            mask_block_flags=mask_block_flags,
            symbol_block_flags=symbol_block_flags,
            begin_streams=begin_streams,
        )

    @property
    def precision(self) -> Precision:
        return self.tables.precision

    def layer(self, number: int) -> None:
        """Simulate one layer of the source on both streams of every row."""
        program, source = self.program, self.simulation.source.layers[number]
        heads = [_HostedHead.of(self, g, source_head, number) for g, source_head in enumerate(source.heads)]
        if heads:
            self._attend(heads)
        layer = program.layer()
        for head in heads:
            head.add_result(layer, self.row_code, self.masks)
        if heads:
            clearing = itself(layer, self.row_code)
            for head in heads:
                clear(clearing, *head.columns.values())
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

    def _attend(self, heads: list["_HostedHead"]) -> None:
        """Compute the results of all heads of a layer in 2m + 3 layers, where m is the most keys with a weight.

        Layer 1 computes Z. Layers 2t and 2t + 1 find the block and the address of the t-th key; for t = 1 and 2 they
        also compute the walks for Z = B. The last two layers compute the weights of all keys, then the sum.
        """
        layer = self.program.layer()
        for head in heads:
            head.mass(layer)
        for key_number in range(self.tables.most_keys):
            layer = self.program.layer()
            clearing = itself(layer, self.row_code)
            for head in heads:
                head.find_block(layer, key_number)
                head.clear_scratch(clearing, *BLOCK_CODE, *WALKS)
                if key_number == 0:
                    head.begin_levels(layer)
                elif key_number == 1:
                    head.state_after_rows(layer)
            layer = self.program.layer()
            clearing = itself(layer, self.row_code)
            for head in heads:
                head.find_key(layer, key_number)
                head.clear_scratch(clearing, "found")
                if key_number == 0:
                    head.walks_over_rows(layer)
                elif key_number == 1:
                    head.walks_over_masks(layer)
        layer = self.program.layer()
        for head in heads:
            head.find_levels(layer)
        layer = self.program.layer()
        for head in heads:
            head.add_up(layer)


@dataclass(frozen=True, eq=False)
class _HostedHead(SimulatedHead):
    """A head of layer `layer_number` of the source, with the masks as queries."""

    rows: HostedMasks
    layer_number: int

    @classmethod
    def of(cls, rows: HostedMasks, g: int, source_head: Head, layer_number: int) -> "_HostedHead":
        sizes = search_registers(rows.tables, rows.layout, rows.masks.size)
        return cls(source_head, head_registers(rows.program, g, sizes), rows, layer_number)

    def _stream(self, key_set: str) -> Columns:
        return self.rows.simulation.work if key_set == "rows" else self.rows.masks

    def _head(self, layer: LayerBuilder, key_set: str) -> HeadBuilder:
        """Add a head with the scores of the source, over one set of keys."""
        return head_with_scores(layer, self.source_head, self.rows.masks, self._stream(key_set))

    def _visible(self, head: HeadBuilder, key_set: str) -> None:
        """Hide the keys that a mask does not see in the source, in a head with scores of at most 0.

        These are the masks of other blocks, and the symbols of its own block.
        """
        rows = self.rows
        if key_set == "masks":
            eq(head, rows.own_block, rows.mask_block)
            return
        for mask_flag, symbol_flag in zip(rows.mask_block_flags, rows.symbol_block_flags, strict=True):
            head.column([(mask_flag, -B)], [(symbol_flag, ONE)])

    def _walk(self, layer: LayerBuilder, key_set: str) -> HeadBuilder:
        """Add a head with Z = B: it sees one set of keys if Z = B in the source, else only BEGIN."""
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
        """Give the head the values of the source; the value of row 0 is 0, because BEGIN is added separately."""
        wv = self.source_head.wv
        head.value.append(Edges(self._stream(key_set)[wv.row], target[wv.column], wv.value))
        if key_set == "rows" and self.rows.layout.begin:
            head.value.append(Edges.between(self.rows.begins[:1], target, -self._of_begin(wv)))

    def _of_begin(self, matrix: Matrix) -> np.ndarray:
        """The stream of BEGIN times a matrix of the source."""
        stream = self.rows.begin_streams[self.layer_number]
        return weighted(stream[None], matrix.rows(), matrix.shape[1], self.rows.precision)[0]

    def _begin_head(self, layer: LayerBuilder) -> HeadBuilder:
        """Add a head in which every key has the score of BEGIN."""
        head = layer.head()
        head.width = self.source_head.wq.shape[1]
        head.query.append(moved_reads(self.source_head.wq, self.rows.masks))
        key = self._of_begin(self.source_head.wk)
        head.key.append(Edges(np.repeat(self.rows.program.one, key.size), np.arange(key.size), key))
        return head

    def _count_begin(self, layer: LayerBuilder, amount: Form, target: Columns, step: int) -> None:
        """Add step·2^-p to the target if the score of BEGIN is at least -amount."""
        rows, head = self.rows, self._begin_head(layer)
        rows.shift(head, amount)
        eq(head, rows.row_code, rows.row_code)
        rows.pin(head, rows.begins[:1])
        head.copy(rows.real, target, whole(step))

    def mass(self, layer: LayerBuilder) -> None:
        """Compute Z and the flags that depend on it: its one-hot code, [Z = B] and [Z = 0]."""
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
                limit_flags = self[f"{key_set} {name} 0"][: rows.bits]
                copy_flags(mlp, flags, limit_flags)
                for column in limit_flags:
                    clear_if_positive(mlp, column, mass, ONE, -NEXT_TO_B)
        clear_if_positive(mlp, self["saturated"][0], mass, -ONE, B)
        clear_if_some(mlp, self["empty"][0], mass)
        clear_if_flagged(mlp, [int(rows.idle[0])], self["empty"][0])
        mlp.offset(self["saturated"], ONE)
        mlp.offset(self["empty"], ONE)

    def begin_levels(self, layer: LayerBuilder) -> None:
        """Compute the weight of BEGIN, in units of 2^-p, if row 0 is a row of the source."""
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
        """Where Z = B: store F in `state`. If a block has several masks, compute the one-hot code of every entry."""
        rows, width = self.rows, self.rows.masks.size
        if rows.layout.begin:
            merge(itself(layer, rows.row_code), self["state+"], self["state-"], self["state"])
        else:
            self._values(self._walk(layer, "rows"), "rows", self["state"])
        if rows.layout.parallel:
            numbers = rows.precision.numbers()
            for column, flags in zip(self["state"], self["state is"].reshape(-1, width).T, strict=True):
                one_hot(layer.mlp, column[None], numbers, flags)

    def walks_over_masks(self, layer: LayerBuilder) -> None:
        """Where Z = B: walk over the masks of the block from every number of F_p, and select the walk from F."""
        rows, width = self.rows, self.rows.masks.size
        if not rows.layout.parallel:
            return
        ends, flags = self["ends"].reshape(-1, width), self["state is"].reshape(-1, width)
        for start, target, flag in zip(rows.precision.numbers(), ends, flags, strict=True):
            head = self._walk(layer, "masks")
            self._values(head, "masks", target)
            head.value.append(Edges.between(rows.begins[1:], target, np.full(width, start)))
            gate_on(layer.mlp, rows.program.one, target, flag, self["end+"], self["end-"])

    def _bits(self, key_set: str, key_number: int) -> tuple[list[list[int]], list[list[int]]]:
        """For every bit of the address of a key, the columns that flag a 1, and the columns that flag a 0."""
        ones, zeros = (self[f"{key_set} {name} {key_number}"].reshape(2, -1).T.tolist() for name in ("one", "zero"))
        return ones, zeros

    def clear_scratch(self, head: HeadBuilder, *names: str) -> None:
        """Clear these registers of both sets of keys in a SELF head; those of a block include the flag `none`."""
        for key_set in KEY_SETS:
            self.clear(head, *(f"{key_set} {name}" for name in names))
            if "here" in names:
                self.clear(head, f"{key_set} none")

    def find_block(self, layer: LayerBuilder, key_number: int) -> None:
        """Where Z < B: find the last block below x that has a key with a weight, and write its `BLOCK_CODE`."""
        rows, mlp = self.rows, layer.mlp
        for key_set in KEY_SETS:
            ones, zeros = self._bits(key_set, key_number)
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

    def find_key(self, layer: LayerBuilder, key_number: int) -> None:
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
            self._read_address(layer.mlp, key_set, key_number + 1, walks)

    def _read_address(self, mlp: MlpBuilder, key_set: str, key_number: int, walks: Sequence[Columns]) -> None:
        """Write the address of the key; if no block has a key, the walks stay at B, and all flags are cleared."""
        ones, zeros = self._bits(key_set, key_number)
        for k in range(self.rows.bits):
            unless = partial(clear_unless_last_bit, mlp, walks=walks, k=k, jump=self.rows.tables.jump)
            unless(ones[k][0], bit=1, case=0)
            clear_if_flagged(mlp, [int(self[f"{key_set} none"][0])], ones[k][0])
            unless(ones[k][1], bit=1, case=1)
            unless(zeros[k][0], bit=0, case=0)
            unless(zeros[k][1], bit=0, case=1)
        mlp.offset(self[f"{key_set} one {key_number}"], ONE)
        mlp.offset(self[f"{key_set} zero {key_number}"], ONE)

    def find_levels(self, layer: LayerBuilder) -> None:
        """Compute the weights of all keys that were found, in units of 2^-p."""
        rows, one = self.rows, self.rows.program.one
        for key_set in KEY_SETS:
            for key_number in range(1, rows.tables.most_keys + 1):
                code = [signed_bit(*pair) for pair in zip(*self._bits(key_set, key_number), strict=True)]
                levels = self[f"{key_set} level {key_number}"]
                for level, column in enumerate(levels, 1):
                    head = self._head(layer, key_set)
                    rows.shift(head, rows.thresholds(self["total"], level))
                    rows.equal(head, code, [[(one, -B)]] * rows.bits)
                    rows.pin(head, rows.begins[:1])
                    head.copy(rows.real, column[None])
                exact_levels(
                    layer.mlp, levels, self[f"{key_set} at {key_number}"], self[f"{key_set} unheard {key_number}"]
                )

    def add_up(self, layer: LayerBuilder) -> None:
        """Write the result to `sum`: the walk where Z = B, elsewhere the sum over the keys in ascending order."""
        rows = self.rows
        head = itself(layer, rows.row_code)
        if rows.layout.parallel:
            merge(head, self["end+"], self["end-"], self["sum"])
        else:
            head.copy(self["state"], self["sum"])
            self._values(self._walk(layer, "masks"), "masks", self["sum"])
        for key_set in KEY_SETS:
            for key_number in reversed(range(1, rows.tables.most_keys + 1)):
                self._add_key(layer, key_set, key_number)

    def _add_key(self, layer: LayerBuilder, key_set: str, key_number: int) -> None:
        """Add the value of a key times its weight; the head also sees BEGIN, whose score determines the weight."""
        rows, one, tables = self.rows, self.rows.program.one, self.rows.tables
        head = layer.head()
        for pair, key in zip(zip(*self._bits(key_set, key_number), strict=True), rows.address, strict=True):
            head.column(signed_bit(*pair), [(key, ONE)])
            head.column([(one, -B)], [(rows.real, ONE)])
        levels = self[f"{key_set} at {key_number}"]
        scores = np.array([tables.companion(level) for level in range(1, levels.size + 1)])
        head.column([(levels, scores), (self[f"{key_set} unheard {key_number}"], B)], [(rows.begins[0], ONE)])
        self._values(head, key_set, self["sum"])
