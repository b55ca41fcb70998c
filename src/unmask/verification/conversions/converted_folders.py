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
from unmask.programs.instance import programs_at
from unmask.programs.program import Edges, HeadBuilder, LayerBuilder, MlpBuilder, Program
from unmask.reasoners.run_words import run_batch
from unmask.testing.draws import Draws
from unmask.testing.random_model import SaturatingWeights, sample_words
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.theorem import Conversion, ConversionSource
from unmask.traces.trace import Trace
from unmask.verification.conversions.machine import ConversionClaim
from unmask.verification.conversions.unknown_source import (
    BEGIN,
    SLOTS,
    STEPS,
    SourceShape,
    SourceWeight,
    TransformerShape,
)
from unmask.verification.lengths.expected_weights import compare_transformer
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.weights.kinds import Kind
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.storage import load, save
from unmask.weights.transformer import Layer, Transformer

FIRST_HARSH_SEED = 24


@dataclass(frozen=True)
class SourceSizes:
    """N, whether there is a begin symbol, T, and P (for a chain of thought, P = T)."""

    length: int
    begin: bool
    steps: int
    slots: int


def random_source(seed: int, kind: Kind, shape: SourceShape, sizes: SourceSizes, precision: Precision) -> Model:
    """Return a random model of a shape. Its symbols are letters, 1, 0, the begin symbol, and the mask at its index."""
    draws = Draws(seed, sizes.length, sizes.steps, precision.p)
    rows = sizes.begin + sizes.length + sizes.slots
    fixed_symbols = ["1", "0", *(["^"] if sizes.begin else [])]
    letters = [f"x{i}" for i in range(shape.symbols - len(fixed_symbols) - (shape.mask is not None))]
    vocabulary = [*letters, *fixed_symbols]
    if shape.mask is not None:
        vocabulary.insert(shape.mask, "m")
    peak = 1 if seed < FIRST_HARSH_SEED else 3
    transformers = {
        name: _transformer(draws, transformer_shape, rows, shape.symbols, precision, peak)
        for name, transformer_shape in shape.transformers
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
        layers=tuple(layer(layer_shape.heads, layer_shape.hidden) for layer_shape in shape.layers),
        out=weights.matrix((shape.outputs, width), weights.double),
        attention=shape.attention,
    )


def with_weights(programs: dict[str, Program], unknown: ConversionSource, source: Model) -> dict[str, Program]:
    """Return programs that were made from an unknown source, with the weights of a model in place of names."""
    return {name: _SourceWeights(unknown, source).program(program) for name, program in programs.items()}


class _SourceWeights:
    """Replaces the names of an unknown source by the numbers of a model."""

    def __init__(self, unknown: ConversionSource, source: Model) -> None:
        self._unknown, self._source = unknown, source
        sizes = {BEGIN: int(source.begin is not None), STEPS: source.steps, SLOTS: source.padding}
        self._sizes = {name: constant(size) for name, size in sizes.items()}
        self._tensors = {
            (name, tensor): np.asarray(values.dense() if isinstance(values, Matrix) else values)
            for name, transformer in source.transformers.items()
            for tensor, values in transformer.tensors()
        }

    def program(self, program: Program) -> Program:
        assert program.rows_in_length is not None
        result = Program(program.symbols, program.outputs, 0, 0, program.attention, program.loop, program.noise)
        result.rows_in_length = substituted(program.rows_in_length, self._sizes)
        result.codes |= {name: substituted(code_size, self._sizes) for name, code_size in program.codes.items()}
        for name, labels in program.registers.items():
            if name != "one":
                result.register(name, labels)
        result.positions = {name: self._declared(name, d) for name, d in program.positions.items()}
        result.embedding, result.readout = self._edges(program.embedding), self._edges(program.readout)
        result.layers = [self._layer(layer) for layer in program.layers]
        return result

    def _declared(self, name: str, declaration: Declaration) -> Declaration:
        if isinstance(declaration, TableRows):
            for transformer, unknown_transformer in self._unknown.transformers.items():
                if declaration.table is unknown_transformer.positions:
                    only = None if declaration.only is None else substituted(declaration.only, self._sizes)
                    table = self._source.transformers[transformer].positions
                    return TableRows(table, substituted(declaration.row, self._sizes), only)
        if isinstance(declaration, SignedBits | OneHot):
            only = None if declaration.only is None else substituted(declaration.only, self._sizes)
            return replace(declaration, expression=substituted(declaration.expression, self._sizes), only=only)
        if isinstance(declaration, Flag):
            return Flag(substituted(declaration.expression, self._sizes))
        raise ObligationFailed(
            f"the register {name} is declared by {type(declaration).__name__}, which the proof does not support"
        )

    def _layer(self, layer: LayerBuilder) -> LayerBuilder:
        heads = [
            HeadBuilder(h.one, self._edges(h.query), self._edges(h.key), self._edges(h.value), h.width, list(h.blocks))
            for h in layer.heads
        ]
        mlp = layer.mlp
        biases, offsets = ([(c, self._numbers(w)) for c, w in entries] for entries in (mlp.biases, mlp.offsets))
        return LayerBuilder(
            layer.one, heads, MlpBuilder(self._edges(mlp.inputs), biases, self._edges(mlp.outputs), offsets, mlp.size)
        )

    def _edges(self, edges: Iterable[Edges]) -> list[Edges]:
        return [Edges(e.source, e.target, self._numbers(e.weight)) for e in edges]

    def _numbers(self, weight):
        """Return an array of names as numbers; other weights unchanged."""
        if not isinstance(weight, np.ndarray) or weight.dtype != object:
            return weight
        numbers = np.zeros(weight.size, dtype=np.int64)
        for k, name in enumerate(weight.tolist()):
            assert isinstance(name, SourceWeight)
            tensor = self._tensors[name.transformer, name.tensor]
            numbers[k] = tensor[name.row, name.column] if tensor.ndim == 2 else tensor[name.row]
        return numbers


WORDS_PER_SOURCE = 4
OtherFields = Callable[[Model], dict[str, Any]]
"""Source → the fields of the converted model other than its transformers."""


@dataclass(frozen=True)
class WrongRun:
    """A random source, its sizes, and a word on which its conversion behaves differently."""

    seed: int
    sizes: SourceSizes
    word: str
    expected: str
    got: str


def check_converted_folder(claim: ConversionClaim, frame: OtherFields, sizes: SourceSizes, seed: int) -> None:
    """Require that the model that `convert` writes for a random source equals the proved program, entry by entry."""
    sizes_text = f"N = {sizes.length}, T = {sizes.steps}, P = {sizes.slots}, begin {int(sizes.begin)}"

    def prove() -> str:
        source = random_source(seed, claim.theorem.source, claim.shape, sizes, claim.precision)
        with TemporaryDirectory(prefix="unmask-") as scratch:
            folder = Path(scratch) / "model"
            save(claim.theorem.convert(source).model, folder)
            model = load(folder)
        for name, expected in frame(source).items():
            if getattr(model, name) != expected:
                raise ObligationFailed(
                    f"{name} of the folder is {getattr(model, name)}, not {expected}", (sizes.length,)
                )
        programs = with_weights(claim.programs, claim.source, source)
        if set(programs) != set(model.transformers):
            raise ObligationFailed("the folder has other transformers", (sizes.length,))
        entries = sum(
            compare_transformer(name, program, sizes.length, model.transformers[name])
            for name, program in programs.items()
        )
        return f"{entries:,} entries of the conversion of a random source"

    claim.ledger.settle(f"{sizes_text}: the folder is the program's", "comparison", prove)


def find_refutation(
    claim: ConversionClaim, tried: Iterator[tuple[int, SourceSizes]], engine: Engine
) -> WrongRun | None:
    """Return the first random source whose conversion by the claim's programs behaves differently; else None."""
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
    """Return the result of `convert`, with the weights of the claim's programs."""
    converted = claim.theorem.convert(source)
    programs = programs_at(with_weights(claim.programs, claim.source, source), source.length)
    return Conversion(
        replace(converted.model, transformers=assemble_all(programs, source.precision)), converted.alignment
    )


def _disagreement(source: Model, conversion: Conversion, seed: int, engine: Engine) -> tuple[str, str, str] | None:
    """Return (word, behaviour of the source, behaviour of the conversion) if they differ on a sample of words."""
    words = sample_words(source, Draws(seed, 1), WORDS_PER_SOURCE)
    outcomes = (_outcomes(model, words, engine) for model in (source, conversion.model))
    for word, source_run, converted_run in zip(words, *outcomes, strict=True):
        spelled = " ".join(source.symbols(word))
        if isinstance(source_run, Exception) or isinstance(converted_run, Exception):
            if type(source_run) is not type(converted_run):
                return spelled, _described(source_run), _described(converted_run)
            continue
        difference = aligned_difference(source_run, converted_run, conversion.alignment, conversion.model.aliases)
        if difference is not None:
            return (
                spelled,
                f"{difference.left} in step {difference.step}",
                f"{difference.right} in step {difference.step}",
            )
    return None


def _outcomes(model: Model, words: np.ndarray, engine: Engine) -> list[Trace | UnmaskError]:
    """Return the trace of each word, or its error; words are run one by one only if there is an error."""
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
