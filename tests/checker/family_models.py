"""The model of a certificate at one N, from the weights in its document alone."""

import numpy as np

from unmask.checker import family_form
from unmask.checker.family_form import size_at
from unmask.checker.family_weights import FamilyAtLength
from unmask.numerics.arithmetic import Precision
from unmask.weights.matrices import Matrix, as_positions
from unmask.weights.model import Model
from unmask.weights.transformer import Head, Layer, Mlp, Registers, Transformer


def model_of(document, length):
    claimed = family_form.read_family(document, sealed=False)
    frame, precision = claimed.frame, Precision(claimed.precision)
    return Model(
        kind=claimed.kind,
        length=length,
        padding=size_at(frame.padding, length),
        steps=size_at(frame.steps, length),
        vocabulary=tuple(frame.vocabulary),
        input_symbols=tuple(frame.input_symbols),
        accept=frame.accept,
        reject=frame.reject,
        transformers={name: _transformer(p, frame, length, precision) for name, p in claimed.programs.items()},
        mask=frame.mask,
        pad=frame.pad,
        block=None if frame.block is None else size_at(frame.block, length),
        characters=None if frame.characters is None else tuple(frame.characters),
    )


def _transformer(program, frame, length, precision):
    at = FamilyAtLength(program, length)
    width = at.width
    layers = []
    for layer in program.layers:
        heads = []
        for head in layer.heads:
            bits = at.bits_of(head)
            shape = width, head.size * bits
            query, key = (at.repeated(entries, head.size, bits) for entries in (head.query, head.key))
            value = _matrix((width, width), at.at_columns(head.value, (0, 1)))
            heads.append(Head(_matrix(shape, query), _matrix(shape, key), value))
        mlp = layer.mlp
        w1 = _matrix((width, mlp.size), at.at_columns(mlp.w1, (0,)))
        w2 = _matrix((mlp.size, width), at.at_columns(mlp.w2, (1,)))
        b1, b2 = _vector(mlp.size, {(k,): v for k, v in mlp.b1}), _vector(width, at.at_columns(mlp.b2, (0,)))
        layers.append(Layer(tuple(heads), Mlp(w1, b1, w2, b2)))
    return Transformer(
        precision=precision,
        embed=_matrix((len(frame.vocabulary), width), at.at_columns(program.embed, (1,))),
        positions=as_positions(width, np.arange(width), at.positions(np.arange(at.rows), precision).astype(np.int32)),
        layers=tuple(layers),
        out=_matrix((program.outputs, width), at.at_columns(program.out, (1,))),
        attention=program.attention,
        loop=program.loop,
        noise=None,
        registers=Registers.of({"all": tuple(str(i) for i in range(width))}),
    )


def _matrix(shape, entries):
    indices = list(entries)
    return Matrix.from_entries(shape, [a for a, _ in indices], [b for _, b in indices], [*entries.values()])


def _vector(size, entries):
    vector = np.zeros(size, dtype=np.int64)
    for (index,), value in entries.items():
        vector[index] = value
    return vector
