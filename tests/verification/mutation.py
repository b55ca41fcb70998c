"""Mutations of a model: one change, such as a fault of a compiler or a disk could cause."""

from dataclasses import replace

import numpy as np

from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp


def mutated(model, rng):
    """(what was done, the model with one thing changed)."""
    name = rng.choice(sorted(model.transformers))
    transformer = model.transformers[name]
    description, changed = rng.choice([_weight, _weight, _weight, _rows, _columns, _position])(transformer, rng)
    return f"{name}: {description}", replace(model, transformers={**model.transformers, name: changed})


def _weight(transformer, rng):
    """One entry of any tensor, of those that are not zero if there are any: flipped, one up, or anything."""
    names = [name for name, tensor in transformer.tensors() if tensor.shape[0] * tensor.shape[-1]]
    name = rng.choice(names)
    dense = _dense(dict(transformer.tensors())[name]).copy()
    indices = [index for index in np.ndindex(dense.shape) if dense[index] or rng.random() < 0.02] or [(0,) * dense.ndim]
    index = rng.choice(indices)
    bound, old = transformer.precision.bound, int(dense[index])
    new = rng.choice([-old, old + 1, old - 1, rng.randint(-bound, bound), 0])
    dense[index] = max(-bound, min(bound, new))
    return f"{name}{list(index)}: {old} becomes {dense[index]}", with_tensor(transformer, name, dense)


def _rows(transformer, rng):
    """Two positions change places: a swapped child."""
    positions = transformer.positions.copy()
    i, j = rng.randrange(len(positions)), rng.randrange(len(positions))
    positions[[i, j]] = positions[[j, i]]
    return f"rows {i} and {j} of pos change places", replace(transformer, positions=positions)


def _columns(transformer, rng):
    """Two columns of one tensor change places."""
    name = rng.choice([name for name, tensor in transformer.tensors() if len(tensor.shape) == 2 and tensor.shape[1]])
    dense = _dense(dict(transformer.tensors())[name]).copy()
    i, j = rng.randrange(dense.shape[1]), rng.randrange(dense.shape[1])
    dense[:, [i, j]] = dense[:, [j, i]]
    return f"columns {i} and {j} of {name} change places", with_tensor(transformer, name, dense)


def _position(transformer, rng):
    """One entry of a positional code is off by one, or has the other sign."""
    positions = transformer.positions.astype(np.int64).copy()
    row = rng.randrange(len(positions))
    column = rng.choice(np.flatnonzero(positions[row]).tolist() or [0])
    bound, old = transformer.precision.bound, int(positions[row, column])
    positions[row, column] = max(-bound, min(bound, rng.choice([-old, old + 1, old - 1, 0])))
    description = f"pos[{row}, {column}]: {old} becomes {positions[row, column]}"
    return description, replace(transformer, positions=positions)


def _dense(tensor):
    return tensor if isinstance(tensor, np.ndarray) else tensor.dense()


def with_tensor(transformer, name, dense):
    """The transformer with another tensor of that name."""
    tensor = np.array(dense) if dense.ndim == 1 else Matrix.of(dense)
    match name.split("."):
        case ["layers", i, "heads", j, part]:
            layer = transformer.layers[int(i)]
            heads = list(layer.heads)
            heads[int(j)] = Head(**{**vars(heads[int(j)]), part: tensor})
            changed = Layer(tuple(heads), layer.mlp)
        case ["layers", i, "mlp", part]:
            layer = transformer.layers[int(i)]
            changed = Layer(layer.heads, Mlp(**{**vars(layer.mlp), part: tensor}))
        case ["pos"]:
            return replace(transformer, positions=np.array(dense))
        case [part]:
            return replace(transformer, **{part: tensor})
    layers = list(transformer.layers)
    layers[int(i)] = changed
    return replace(transformer, layers=tuple(layers))
