"""A given transformer inside a larger program, exact in every bit: the basis of conversions between frameworks.

The residual stream of the source is one register, column by column in the same order, so that every sum runs over the
same terms in the same order; everything else in the larger row adds zeros, which never matter. Heads keep their query
and key columns first; then come BOOST, FOCUS, HIDE as `guard` adds them. `CausalCopies` gives an unmasked program
causal attention.
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
        """A new register for the source; `declaration` adds its positions to the embedding at once."""
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
        """In a SELF head: work += embed[symbol] + positions, where `onehot` is before `positions`."""
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
        """Layer `number` of the source, if it exists; on another copy of its stream if `work` is given.

        If `keys` is given, it is the stream of the rows that are read; the result is added to `work`.
        """
        if number >= self.depth:
            return
        work = self.work if work is None else work
        keys = work if keys is None else keys
        for given, head in self.scores(number, layer, work, keys):
            head.value.append(Edges(keys[given.wv.row], work[given.wv.column], given.wv.value))
            guard(head)
        self.mlp(number, layer, work)

    def scores(
        self, number: int, layer: LayerBuilder, work: Columns, keys: Columns
    ) -> Iterator[tuple[Head, HeadBuilder]]:
        """A head for each head of layer `number` of the source: it has the same scores, and no values yet."""
        for given in self.source.layers[number].heads:
            head = layer.head()
            head.width = given.wq.shape[1]
            head.query.append(moved(given.wq, work))
            head.key.append(moved(given.wk, keys))
            yield given, head

    def mlp(self, number: int, layer: LayerBuilder, work: Columns | None = None) -> None:
        """The MLP of layer `number` of the source."""
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
        place = np.full(out.shape[0], -1)
        place[outputs] = np.arange(len(outputs))
        wanted = place[out.row] >= 0
        head.value.append(Edges(work[out.column[wanted]], target[place[out.row[wanted]]], out.value[wanted]))

    def read_out(
        self, program: Program, final: Columns, symbols: np.ndarray | None = None, *, without: int | None = None
    ) -> None:
        """Set the logit of symbols[i] (by default i) to out[i]·final, except for i = `without`."""
        out = self.source.out
        symbols = np.arange(out.shape[0]) if symbols is None else symbols
        others = out.row != (-1 if without is None else without)
        program.readout.append(Edges(symbols[out.row[others]], final[out.column[others]], out.value[others]))


def source_positions(source: Transformer, row: Expression, only: Expression | None = None) -> TableRows:
    """Row `row` of the source's table of positions; 0 if `only` is 0."""
    return TableRows(source.positions, row, only)


def column_labels(source: Transformer) -> tuple[str, ...]:
    return tuple(source.column_name(c) for c in range(source.width))


@dataclass(frozen=True)
class SharedAttention:
    """One attention kind for several simulated transformers, and a guard for those of another kind.

    If all sources are causal, the program is causal. If one is unmasked, `hide_later` makes the causal ones causal.
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
    """`position` is the simulated position of a row, one of `positions`; with `causal` false the target is unmasked.

    `rows` is the number of rows of the program, needed if the program is for every N.
    """
    kinds = {source.attention for source in sources}
    if kinds == {"causal"} and causal:
        return SharedAttention("causal", {"causal": unguarded})
    if "causal" not in kinds:
        return SharedAttention("unmasked", {"unmasked": unguarded})
    check_table(
        program.rows if rows is None else rows, program.width + 2 * positions
    )  # not logarithmic: refused before it is built
    here = program.register("simulated position", positions, OneHot(position))
    later = program.register("positions after it", positions, Thermometer(position))

    def guard(head: HeadBuilder) -> None:
        hide_later(head, later, here)

    return SharedAttention("unmasked", {"unmasked": unguarded, "causal": guard})


def moved(matrix: Matrix, work: Columns) -> Edges:
    """The entries of a matrix that reads the source's stream, changed to read `work`."""
    return Edges(work[matrix.row], matrix.column, matrix.value)


@dataclass(frozen=True, eq=False)
class CausalCopies:
    """Causal attention in an unmasked program of logarithmic width, by a few copies of every row.

    Row n of the program is a copy of row n mod N, on level K - 1 - n div N.

    Statement:    N rows are kept in K = max(1, ⌈log2 N⌉) copies each. Every copy of row b sees exactly one copy of each
                  row r <= b, in the order of r, and no copy of a later row.
    Construction: r <= b holds iff r and b agree above some bit k, r has 0 there and b has 1 (or k = 0 and r_0 <= b_0),
                  and there is only one such k. So the copy of r on level k asks its queries for the bits of r above k,
                  for a 1 in bit k, and for nothing below: a FOCUS with a care bit per bit,
                      (c·b_i ¦ wanted_i), (c·one ¦ -care_i),          c = [B/2], two times (p = 1: three times)
                  where wanted_i = ±care_i. Copies on level k >= 1 of rows with r_k = 1 are hidden (HIDE). Level 0
                  asks for r's bits above 0, and for bit 0 if r has it: that includes b = r. A query reads high levels
                  for early rows and low levels for late ones, so levels are in falling order.
    Bounds:       K·N rows; 3K + 1 columns of positions, 4K + 2 of query and key (p = 1: 6K + 2).
    Exactness:    every copy of a row computes what the causal row computes, bit by bit, for p >= 1. No copy is idle, so
                  that no head divides by zero where the causal one does not.
    Deviations:   lem:unmask-conversion-fp takes N copies of every row, and a second layer per layer that corrects
                  rows which have seen too much; its footnote expects the number of rows to stay quadratic.
    Limit:        for copies that are shown and hidden in this way the number is nearly the best. If each of K copies is
                  hidden by w columns, each of which hides a rectangle (queries × keys), then {b < r}, where all K are
                  hidden, is a union of w^K rectangles; no rectangle in it holds two of the pairs (i, i + 1), so that
                  w^K >= N - 1: a width of O(log N) takes about log N / log log N copies, and one copy (`hide_later`) N
                  - 1 columns.
    """

    simulated: Expression  # the row of which this is a copy
    position: Columns  # its code
    wanted: Columns
    care: Columns
    never: Columns

    @classmethod
    def of(cls, program: Program, count: Expression, rows: int) -> "CausalCopies":
        """Registers for copies of `rows` rows; `count` is the same number as an expression."""
        levels = bits_for(rows)
        assert program.rows == levels * rows
        row, level = n % count, levels - 1 - n // count
        wanted, care = [], []
        for i in range(levels):
            cares = level <= i if i else both(level.equals(0), row % 2)
            asked = choose(level.equals(i), 1, row // (1 << i) % 2)
            wanted.append(program.register(f"wanted bit {i}", declaration=SignedBits(asked, cares)))
            care.append(program.flag(f"cares for bit {i}", cares))
        useless = constant(0)
        for k in range(1, levels):
            useless = choose(level.equals(k), row // (1 << k) % 2, useless)
        return cls(
            row,
            program.code("row", row, levels),
            np.concatenate(wanted),
            np.concatenate(care),
            program.flag("for nobody", useless),
        )

    @property
    def levels(self) -> int:
        return self.position.size

    def see_earlier(self, head: HeadBuilder, *, copies: int) -> None:
        """The columns that follow those of a causal head (and its BOOST); `copies` as for FOCUS."""
        focus(head, self.position[::-1], self.wanted, copies=copies, cares=self.care)
        hide(head, self.never)


def rows_of_copies(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """(row, position of the copy) for every copy of every row."""
    there = np.arange(rows * bits_for(rows))
    return there % rows, there
