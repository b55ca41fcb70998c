"""Programs of every source × one source's weights and sizes → its programs of every N."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from unmask.expressions import constant, substituted
from unmask.programs.declarations import Declaration, Flag, OneHot, SignedBits, TableRows
from unmask.programs.program import Edges, HeadBuilder, LayerBuilder, MlpBuilder, Program
from unmask.theorems.theorem import ConversionSource
from unmask.verification.conversions.unknown import BEGIN, SLOTS, STEPS, Weight
from unmask.verification.lengths.obligations import NotShown
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model


def filled(programs: dict[str, Program], every: ConversionSource, source: Model) -> dict[str, Program]:
    """`every` is the source of names that the programs were made of."""
    return {name: _Filling(every, source).program(program) for name, program in programs.items()}


class _Filling:
    def __init__(self, every: ConversionSource, source: Model) -> None:
        self._every, self._source = every, source
        sizes = {BEGIN: int(source.begin is not None), STEPS: source.steps, SLOTS: source.padding}
        self._sizes = {name: constant(size) for name, size in sizes.items()}
        self._tensors = {
            (name, tensor): np.asarray(values.dense() if isinstance(values, Matrix) else values)
            for name, transformer in source.transformers.items()
            for tensor, values in transformer.tensors()
        }

    def program(self, program: Program) -> Program:
        assert program.every is not None
        made = Program(program.symbols, program.outputs, 0, 0, program.attention, program.loop, program.noise)
        made.every = substituted(program.every, self._sizes)
        made.codes |= {name: substituted(room, self._sizes) for name, room in program.codes.items()}
        for name, labels in program.registers.items():
            if name != "one":
                made.register(name, labels)
        made.positions = {name: self._declared(name, d) for name, d in program.positions.items()}
        made.embedding, made.readout = self._edges(program.embedding), self._edges(program.readout)
        made.layers = [self._layer(layer) for layer in program.layers]
        return made

    def _declared(self, name: str, declared: Declaration) -> Declaration:
        if isinstance(declared, TableRows):
            for transformer, given in self._every.transformers.items():
                if declared.table is given.positions:
                    only = None if declared.only is None else substituted(declared.only, self._sizes)
                    table = self._source.transformers[transformer].positions
                    return TableRows(table, substituted(declared.row, self._sizes), only)
        if isinstance(declared, SignedBits | OneHot):
            only = None if declared.only is None else substituted(declared.only, self._sizes)
            return replace(declared, expression=substituted(declared.expression, self._sizes), only=only)
        if isinstance(declared, Flag):
            return Flag(substituted(declared.expression, self._sizes))
        raise NotShown(
            f"the register {name} is declared by {type(declared).__name__}, which the proof does not support"
        )

    def _layer(self, layer: LayerBuilder) -> LayerBuilder:
        heads = [
            HeadBuilder(h.one, self._edges(h.query), self._edges(h.key), self._edges(h.value), h.width, list(h.blocks))
            for h in layer.heads
        ]
        mlp = layer.mlp
        biases, offsets = ([(c, self._numbers(w)) for c, w in parts] for parts in (mlp.biases, mlp.offsets))
        return LayerBuilder(
            layer.one, heads, MlpBuilder(self._edges(mlp.inputs), biases, self._edges(mlp.outputs), offsets, mlp.size)
        )

    def _edges(self, edges: Iterable[Edges]) -> list[Edges]:
        return [Edges(e.source, e.target, self._numbers(e.weight)) for e in edges]

    def _numbers(self, weight):
        """Numbers in the place of names."""
        if not isinstance(weight, np.ndarray) or weight.dtype != object:
            return weight
        numbers = np.zeros(weight.size, dtype=np.int64)
        for k, name in enumerate(weight.tolist()):
            assert isinstance(name, Weight)
            tensor = self._tensors[name.transformer, name.tensor]
            numbers[k] = tensor[name.row, name.column] if tensor.ndim == 2 else tensor[name.row]
        return numbers
