"""A given transformer run inside a larger program, bit by bit.

The residual stream of the source stands in one register, column by column in the same order, so that every sum
runs over the same terms in the same order; what else the larger row holds adds zeros, which never matter. Heads
keep their query and key columns first, then come BOOST, FOCUS, HIDE as `guard` adds them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unmask.programs.gadgets.hide import hide_later
from unmask.programs.language.builders import Columns, Edges, HeadBuilder, LayerBuilder
from unmask.programs.language.declarations import Declaration, OneHot, TableRows, Thermometer
from unmask.programs.language.positions import Expression
from unmask.programs.language.program import Program
from unmask.weights.limits import check_table
from unmask.weights.matrix import Matrix
from unmask.weights.transformer import Attention, Transformer

Guard = Callable[[HeadBuilder], None]
"""Adds the columns that restrict what a simulated head sees."""


def unguarded(head: HeadBuilder) -> None:
    """The head sees what it sees."""


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
        """The embedding of symbols[i] (by default i) is that of the source's symbol i."""
        embed = self.source.embed
        symbols = np.arange(embed.shape[0]) if symbols is None else symbols
        program.embed(symbols[embed.row], self.work[embed.column], embed.value)

    def embed_as(self, program: Program, symbol: int, alias: int) -> None:
        """Another symbol of the program with the embedding of the source's `symbol`."""
        embed = self.source.embed
        same = embed.row == symbol
        program.embed(np.full(int(same.sum()), alias), self.work[embed.column[same]], embed.value[same])

    def embed_in(self, head: HeadBuilder, onehot: Columns, positions: Columns) -> None:
        """In a SELF head: work += embed[symbol] + positions, where `onehot` stands before `positions`."""
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
        """Layer `number` of the source, if it has one; on another copy of its stream where `work` is given.

        Where `keys` is given, that is the stream of the rows that are read; what they lead to is added to `work`.
        """
        if number >= self.depth:
            return
        work = self.work if work is None else work
        keys = work if keys is None else keys
        source = self.source.layers[number]
        for given in source.heads:
            head = layer.head()
            head.width = given.wq.shape[1]
            head.query.append(_moved(given.wq, work))
            head.key.append(_moved(given.wk, keys))
            head.value.append(Edges(keys[given.wv.row], work[given.wv.column], given.wv.value))
            guard(head)
        mlp = source.mlp
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
        """The logit of symbols[i] (by default i) is out[i]·final, but for i = `without`."""
        out = self.source.out
        symbols = np.arange(out.shape[0]) if symbols is None else symbols
        others = out.row != (-1 if without is None else without)
        program.readout.append(Edges(symbols[out.row[others]], final[out.column[others]], out.value[others]))


def source_positions(source: Transformer, row: Expression, only: Expression | None = None) -> TableRows:
    """Row `row` of the source's table of positions; 0 where `only` is 0."""
    return TableRows(source.positions, row, only)


def column_labels(source: Transformer) -> tuple[str, ...]:
    return tuple(source.column_name(c) for c in range(source.width))


@dataclass(frozen=True)
class SharedAttention:
    """One attention kind for several simulated transformers, and a guard for those that have another.

    Causal sources stay causal where all are; in company of an unmasked one, `hide_later` makes them causal.
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

    `rows` are those of the program, where it is that of every N and does not know them.
    """
    kinds = {source.attention for source in sources}
    if kinds == {"causal"} and causal:
        return SharedAttention("causal", {"causal": unguarded})
    if "causal" not in kinds:
        return SharedAttention("unmasked", {"unmasked": unguarded})
    check_table(
        program.rows if rows is None else rows, program.width + 2 * positions
    )  # not logarithmic: refused before it is written down
    here = program.register("simulated position", positions, OneHot(position))
    later = program.register("positions after it", positions, Thermometer(position))

    def guard(head: HeadBuilder) -> None:
        hide_later(head, later, here)

    return SharedAttention("unmasked", {"unmasked": unguarded, "causal": guard})


def _moved(matrix: Matrix, work: Columns) -> Edges:
    return Edges(work[matrix.row], matrix.column, matrix.value)
