"""Converted model folders compared with the program of a proof, entry by entry, and the search for refutations.

The sources are random models of exactly the shape of a claim. As in `testing.random_model`, queries and keys are small
and all other weights use the whole range, so that sums clip. From seed 24 on queries are larger, many rows have no
weight on any key, and such a source may divide by zero.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, UnmaskError
from unmask.expressions import constant, substituted
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble_all
from unmask.programs.declarations import Declaration, Flag, OneHot, SignedBits, TableRows
from unmask.programs.program import Edges, HeadBuilder, LayerBuilder, MlpBuilder, Program
from unmask.reasoners.run_words import run_batch
from unmask.testing.draws import Draws
from unmask.testing.random_model import SaturatingWeights, sample_words
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.theorem import Conversion, ConversionSource, programs_at
from unmask.traces.trace import Trace
from unmask.verification.conversions.machine import ConversionClaim
from unmask.verification.conversions.unknown_source import BEGIN, SLOTS, STEPS, SourceShape, TransformerShape, Weight
from unmask.verification.lengths.expected_weights import compare_transformer
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.weights.kinds import Kind
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.storage import load, save
from unmask.weights.transformer import Layer, Transformer

MILD = 24


@dataclass(frozen=True)
class SourceSizes:
    """N, whether there is a begin symbol, T, and P, which is T for a chain of thought."""

    length: int
    begin: bool
    steps: int
    slots: int


def random_source(seed: int, kind: Kind, shape: SourceShape, sizes: SourceSizes, precision: Precision) -> Model:
    """A model of a shape; its symbols are the mask where the shape has it, then 1, 0, a begin symbol, and letters."""
    draws = Draws(seed, sizes.length, sizes.steps, precision.p)
    rows = sizes.begin + sizes.length + sizes.slots
    named = ["1", "0", *(["^"] if sizes.begin else [])]
    letters = [f"x{i}" for i in range(shape.symbols - len(named) - (shape.mask is not None))]
    vocabulary = [*letters, *named]
    if shape.mask is not None:
        vocabulary.insert(shape.mask, "m")
    peak = 1 if seed < MILD else 3
    transformers = {
        name: _transformer(draws, its, rows, shape.symbols, precision, peak) for name, its in shape.transformers
    }
    return Model(
        kind=kind,
        length=sizes.length,
        padding=sizes.slots,
        steps=sizes.steps,
        vocabulary=tuple(vocabulary),
        input_symbols=tuple(letters),
        accept="1",
        reject="0",
        mask=None if shape.mask is None else "m",
        begin="^" if sizes.begin else None,
        transformers=transformers,
    )


def _transformer(
    draws: Draws, shape: TransformerShape, rows: int, symbols: int, precision: Precision, peak: int
) -> Transformer:
    width, bound = shape.width, precision.bound
    weights = SaturatingWeights(draws, precision, width)

    def layer(heads: tuple[int, ...], hidden: int) -> Layer:
        return Layer(tuple(weights.head(narrow, peak=peak) for narrow in heads), weights.mlp(hidden))

    return Transformer(
        precision=precision,
        embed=weights.matrix((symbols, width), bound),
        positions=draws.integers(-bound, bound, (rows, width)),
        layers=tuple(layer(its.heads, its.hidden) for its in shape.layers),
        out=weights.matrix((shape.outputs, width), weights.double),
        attention=shape.attention,
    )


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
        raise ObligationFailed(
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


WORDS = 4
Frame = Callable[[Model], dict[str, Any]]
"""Source → the fields of the converted model."""


@dataclass(frozen=True)
class WrongRun:
    """A random source, its sizes, and a word on which its conversion behaves differently."""

    seed: int
    sizes: SourceSizes
    word: str
    expected: str
    got: str


def check_folder(claim: ConversionClaim, frame: Frame, sizes: SourceSizes, seed: int) -> None:
    """The folder that `convert` writes for a random source is the one that was proved, entry by entry."""
    place = f"N = {sizes.length}, T = {sizes.steps}, P = {sizes.slots}, begin {int(sizes.begin)}"

    def show() -> str:
        source = random_source(seed, claim.theorem.source, claim.shape, sizes, claim.precision)
        with TemporaryDirectory(prefix="unmask-") as scratch:
            folder = Path(scratch) / "model"
            save(claim.theorem.convert(source).model, folder)
            model = load(folder)
        for name, wanted in frame(source).items():
            if getattr(model, name) != wanted:
                raise ObligationFailed(f"{name} of the folder is {getattr(model, name)}, not {wanted}", (sizes.length,))
        programs = filled(claim.programs, claim.source, source)
        if set(programs) != set(model.transformers):
            raise ObligationFailed("the folder has other transformers", (sizes.length,))
        entries = sum(
            compare_transformer(name, program, sizes.length, model.transformers[name])
            for name, program in programs.items()
        )
        return f"{entries:,} entries of the conversion of a random source"

    claim.ledger.settle(f"{place}: the folder is the program's", "comparison", show)


def refutation(claim: ConversionClaim, tried: Iterator[tuple[int, SourceSizes]], engine: Engine) -> WrongRun | None:
    """The first random source on which the programs of the claim do something else; run, symbol by symbol."""
    for seed, sizes in tried:
        try:
            source = random_source(seed, claim.theorem.source, claim.shape, sizes, claim.precision)
            conversion = _conversion(claim, source)
            disagreement = _disagreement(source, conversion, seed, engine)
        except (AssertionError, IndexError, UnmaskError):
            continue  # no model of these sizes: nothing is refuted by it
        if disagreement is not None:
            return WrongRun(seed, sizes, *disagreement)
    return None


def _conversion(claim: ConversionClaim, source: Model) -> Conversion:
    """As `convert` makes it, with the weights of the claim's programs."""
    made = claim.theorem.convert(source)
    programs = programs_at(filled(claim.programs, claim.source, source), source.length)
    return Conversion(replace(made.model, transformers=assemble_all(programs, source.precision)), made.alignment)


def _disagreement(source: Model, conversion: Conversion, seed: int, engine: Engine) -> tuple[str, str, str] | None:
    """(word, what the source does, what the conversion does)."""
    words = sample_words(source, Draws(seed, 1), WORDS)
    outcomes = (_outcomes(model, words, engine) for model in (source, conversion.model))
    for word, ours, theirs in zip(words, *outcomes, strict=True):
        spelled = " ".join(source.symbols(word))
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            if type(ours) is not type(theirs):
                return spelled, _described(ours), _described(theirs)
            continue
        difference = aligned_difference(ours, theirs, conversion.alignment, conversion.model.aliases)
        if difference is not None:
            return (
                spelled,
                f"{difference.left} in step {difference.step}",
                f"{difference.right} in step {difference.step}",
            )
    return None


def _outcomes(model: Model, words: np.ndarray, engine: Engine) -> list[Trace | UnmaskError]:
    """The run of each word, or its error; all at once unless there is one."""
    try:
        return [*run_batch(model, words, engine=engine)]
    except UnmaskError as error:
        if len(words) == 1:
            return [error]
        return [outcome for word in words for outcome in _outcomes(model, word[None], engine)]


def _described(outcome: Trace | Exception) -> str:
    if isinstance(outcome, AttendsToNothing):
        return "divides by zero"
    return f"ends with an error ({outcome})" if isinstance(outcome, Exception) else "writes its symbols"
