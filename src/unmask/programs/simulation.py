"""A given transformer, the *source*, inside a larger program: the basis of conversions between frameworks.

Given:     a source, and a program under construction.
Result:    layers of the program that compute the layers of the source in some of its rows (`Simulation`); the residual
           stream of the source is a register of the program.

Idea. The simulation is exact in every bit, because it adds the same numbers in the same order. The register has the
columns of the source in their order, and every matrix of the source is copied to these columns (`moved_reads`). All
other columns of the program add zeros to a sum, which do not change it. A head of the program starts with the query and
key columns of the source. A `Guard` then adds columns that restrict which rows the head sees: BOOST, FOCUS and HIDE.

    x ← x + Σ_heads softmax(x·W_Q·(x·W_K)^T + guard)·x·W_V,     x ← x + MLP(x)           x: the register

`SharedAttention` and `CausalCopies` simulate causal attention in an unmasked program, in two ways: by columns whose
number grows with the number of rows, and by a few copies of every row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from unmask.expressions import Expression, both, choose, constant, n
from unmask.programs.declarations import Declaration, OneHot, SignedBits, TableRows, Thermometer
from unmask.programs.gadgets.attention import focus, hide, hide_later
from unmask.programs.program import Columns, Edges, HeadBuilder, LayerBuilder, Program, bits_for
from unmask.weights.matrices import Matrix
from unmask.weights.size_limits import check_table
from unmask.weights.transformer import Attention, Head, Transformer

Guard = Callable[[HeadBuilder], None]
"""Adds the columns that restrict what a simulated head sees."""


def unguarded(head: HeadBuilder) -> None:
    """A guard that restricts nothing."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A source transformer whose residual stream is the register `work`."""

    source: Transformer
    work: Columns

    @classmethod
    def of(
        cls, program: Program, source: Transformer, name: str, declaration: Declaration | None = None
    ) -> "Simulation":
        """Add a register for the stream of the source; `declaration` gives its positional encoding."""
        return cls(source, program.register(name, column_labels(source), declaration))

    @property
    def depth(self) -> int:
        return len(self.source.layers)

    def embed_symbols(self, program: Program, symbols: np.ndarray | None = None) -> None:
        """Give symbols[i] (by default i) the embedding of the source's symbol i."""
        embed = self.source.embed
        symbols = np.arange(embed.shape[0]) if symbols is None else symbols
        program.embed(symbols[embed.row], self.work[embed.column], embed.value)

    def embed_as(self, program: Program, symbol: int, alias: int) -> None:
        """Give another symbol of the program the embedding of the source's `symbol`."""
        embed = self.source.embed
        same = embed.row == symbol
        program.embed(np.full(int(same.sum()), alias), self.work[embed.column[same]], embed.value[same])

    def embed_in(self, head: HeadBuilder, onehot: Columns, positions: Columns) -> None:
        """In a SELF head: work += embed[symbol] + positions; the columns `onehot` must be before `positions`."""
        embed = self.source.embed
        head.value.append(Edges(onehot[embed.row], self.work[embed.column], embed.value))
        head.copy(positions, self.work)

    def layer(
        self,
        number: int,
        layer: LayerBuilder,
        guard: Guard = unguarded,
        work: Columns | None = None,
        keys: Columns | None = None,
    ) -> None:
        """Add layer `number` of the source, if it exists.

        Queries are computed from the stream `work`, by default that of the simulation, and results are added to it.
        Keys and values are computed from the stream `keys`, by default the same.
        """
        if number >= self.depth:
            return
        work = self.work if work is None else work
        keys = work if keys is None else keys
        for source_head, head in self.scores(number, layer, work, keys):
            wv = source_head.wv
            head.value.append(Edges(keys[wv.row], work[wv.column], wv.value))
            guard(head)
        self.mlp(number, layer, work)

    def scores(
        self, number: int, layer: LayerBuilder, work: Columns, keys: Columns
    ) -> Iterator[tuple[Head, HeadBuilder]]:
        """Add a head for each head of layer `number` of the source, with the same scores and no values yet."""
        for source_head in self.source.layers[number].heads:
            yield source_head, head_with_scores(layer, source_head, work, keys)

    def mlp(self, number: int, layer: LayerBuilder, work: Columns | None = None) -> None:
        """Add the MLP of layer `number` of the source."""
        work = self.work if work is None else work
        mlp = self.source.layers[number].mlp
        units = layer.mlp.units(mlp.b1.size, bias=mlp.b1)
        layer.mlp.inputs.append(Edges(work[mlp.w1.row], units[mlp.w1.column], mlp.w1.value))
        layer.mlp.outputs.append(Edges(units[mlp.w2.row], work[mlp.w2.column], mlp.w2.value))
        layer.mlp.offset(work, mlp.b2)

    def logits_in(
        self, head: HeadBuilder, target: Columns, outputs: np.ndarray | None = None, work: Columns | None = None
    ) -> None:
        """In a SELF head: target_i += out[outputs[i]]·work."""
        work = self.work if work is None else work
        out = self.source.out
        outputs = np.arange(out.shape[0]) if outputs is None else outputs
        index_of = np.full(out.shape[0], -1)
        index_of[outputs] = np.arange(len(outputs))
        is_copied = index_of[out.row] >= 0
        head.value.append(
            Edges(work[out.column[is_copied]], target[index_of[out.row[is_copied]]], out.value[is_copied])
        )

    def read_out(
        self, program: Program, final: Columns, symbols: np.ndarray | None = None, *, without: int | None = None
    ) -> None:
        """Set the logit of symbols[i] (by default i) to out[i]·final, except for i = `without`."""
        out = self.source.out
        symbols = np.arange(out.shape[0]) if symbols is None else symbols
        is_read = out.row != (-1 if without is None else without)
        program.readout.append(Edges(symbols[out.row[is_read]], final[out.column[is_read]], out.value[is_read]))


def head_with_scores(layer: LayerBuilder, source_head: Head, queries: Columns, keys: Columns) -> HeadBuilder:
    """Add a head with the scores of a head of the source, and no values yet; both arguments are streams."""
    head = layer.head()
    head.width = source_head.wq.shape[1]
    head.query.append(moved_reads(source_head.wq, queries))
    head.key.append(moved_reads(source_head.wk, keys))
    return head


def source_positions(source: Transformer, row: Expression, only: Expression | None = None) -> TableRows:
    """Row `row` of the source's table of positions; 0 if `only` is 0."""
    return TableRows(source.positions, row, only)


def column_labels(source: Transformer) -> tuple[str, ...]:
    return tuple(source.column_name(c) for c in range(source.width))


@dataclass(frozen=True)
class SharedAttention:
    """The attention kind of a program that simulates several transformers, and a guard for each kind of source.

    The program is causal if all sources are. Otherwise it is unmasked, and `hide_later` is the guard of causal sources.
    """

    kind: Attention
    guard: dict[Attention, Guard]


def shared_attention(
    program: Program,
    sources: list[Transformer],
    position: Expression,
    positions: int,
    *,
    causal: bool = True,
    rows: int | None = None,
) -> SharedAttention:
    """Return the attention for these sources. `position` is the simulated position of a row, one of `positions`.

    If `causal` is False, the program must be unmasked. `rows` is the number of its rows, needed if the program is for
    every N.
    """
    kinds = {source.attention for source in sources}
    if kinds == {"causal"} and causal:
        return SharedAttention("causal", {"causal": unguarded})
    if "causal" not in kinds:
        return SharedAttention("unmasked", {"unmasked": unguarded})
    # the width is not logarithmic, so a table that is too large is refused before it is built
    check_table(program.rows if rows is None else rows, program.width + 2 * positions)
    own_position = program.register("simulated position", positions, OneHot(position))
    later = program.register("positions after it", positions, Thermometer(position))

    def guard(head: HeadBuilder) -> None:
        hide_later(head, later, own_position)

    return SharedAttention("unmasked", {"unmasked": unguarded, "causal": guard})


def moved_reads(matrix: Matrix, work: Columns) -> Edges:
    """The entries of a matrix of the source, changed to read the columns `work`."""
    return Edges(work[matrix.row], matrix.column, matrix.value)


@dataclass(frozen=True, eq=False)
class CausalCopies:
    """Causal attention in an unmasked program of logarithmic width, by a few copies of every row.

    Row n of the program is a copy of row n mod N, on level K - 1 - n div N.

    Statement:    each of N rows has K = max(1, ⌈log2 N⌉) copies. Every copy of row b sees exactly one copy of each
                  row r <= b, in the order of r, and no copy of a later row.
    Construction: r <= b holds iff there is a bit k above which r and b agree, and r has 0 in bit k and b has 1 (or
                  k = 0 and r_0 <= b_0). There is only one such k. So the copy of r on level k is seen by the queries
                  that have the bits of r above k, a 1 in bit k, and any lower bits: a FOCUS with a care
                  bit per bit,
                      (c·b_i ¦ required_i), (c·one ¦ -care_i),        c = [B/2], two times (p = 1: three times)
                  where required_i = ±care_i. Copies on level k >= 1 of rows with r_k = 1 are hidden (HIDE). The copy on
                  level 0 is seen by the queries that have the bits of r above 0 and, if r_0 = 1, a 1 in bit 0: this
                  includes b = r. A query sees early rows on high levels and late rows on low levels, so the levels are
                  in descending order.
    Bounds:       K·N rows; 3K + 1 columns of positions, 4K + 2 of query and key (p = 1: 6K + 2).
    Exactness:    every copy of a row computes what the causal row computes, bit by bit, for p >= 1. No copy is idle, so
                  that no head divides by zero where the causal one does not.
    Deviations:   lem:unmask-conversion-fp takes N copies of every row, and a second layer per layer that corrects
                  rows which have seen too much; its footnote expects the number of rows to stay quadratic.
    Limit:        K is nearly the least possible number of copies. Suppose that each of K copies has w columns, and that
                  each column hides a rectangle, a set of queries × a set of keys. A query b sees no copy of r exactly
                  if b < r. So the set {b < r} is a union of w^K rectangles, each the intersection of K of them. No
                  rectangle in this set contains two of the N - 1 pairs (b, r) = (i, i + 1), so w^K >= N - 1. A width
                  of O(log N) therefore needs about log N / log log N copies, and a single copy (`hide_later`) needs
                  N - 1 columns.
    """

    simulated: Expression
    """The row of which this row is a copy."""
    position: Columns
    """The code of that row."""
    required: Columns
    care: Columns
    never: Columns
    """A flag: no query sees this copy."""

    @classmethod
    def of(cls, program: Program, count: Expression, rows: int) -> "CausalCopies":
        """Registers for copies of `rows` rows; `count` is the same number as an expression."""
        levels = bits_for(rows)
        assert program.rows == levels * rows
        row, level = n % count, levels - 1 - n // count
        required, care = [], []
        for i in range(levels):
            has_requirement = level <= i if i else both(level.equals(0), row % 2)
            bit = choose(level.equals(i), 1, row // (1 << i) % 2)
            required.append(program.register(f"wanted bit {i}", declaration=SignedBits(bit, has_requirement)))
            care.append(program.flag(f"cares for bit {i}", has_requirement))
        never = constant(0)
        for k in range(1, levels):
            never = choose(level.equals(k), row // (1 << k) % 2, never)
        return cls(
            row,
            program.code("row", row, levels),
            np.concatenate(required),
            np.concatenate(care),
            program.flag("for nobody", never),
        )

    @property
    def levels(self) -> int:
        return self.position.size

    def see_earlier(self, head: HeadBuilder, *, copies: int) -> None:
        """Add the columns that make a head causal, after those of the source and a BOOST; `copies` as for FOCUS."""
        focus(head, self.position[::-1], self.required, copies=copies, cares=self.care)
        hide(head, self.never)


def rows_of_copies(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """(simulated row, own position) of every copy of every row."""
    positions = np.arange(rows * bits_for(rows))
    return positions % rows, positions
