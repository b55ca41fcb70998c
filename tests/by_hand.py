"""Small models whose runs can be followed with a pencil. Precision is 2: 4 means 1, 15 means B."""

import numpy as np

from unmask.numerics.arithmetic import Precision
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Layer, Mlp, Transformer

P2 = Precision(2)
B = P2.bound
VOCABULARY = ("a", "b", "m", "0", "1")
MASK = 2


def matrix(rows):
    return Matrix.of(np.array(rows, dtype=np.int64))


def transformer(embed, positions, out, *, layers=(), precision=P2, **rest):
    return Transformer(
        precision=precision,
        embed=matrix(embed),
        positions=np.array(positions, dtype=np.int64),
        layers=tuple(layers),
        out=matrix(out),
        **rest,
    )


def one_hot(size, value=4):
    return (value * np.eye(size, dtype=np.int64)).tolist()


def table(logits, rows, **rest):
    """No layers: a row's logits depend on its token alone; logits[token][symbol]."""
    size = len(logits)
    return transformer(one_hot(size), [[0] * size] * rows, np.array(logits).T, **rest)


def successor(pairs, rows, *, size=5, **rest):
    """A token decodes to its successor: logit 1 for it and 0 for all others."""
    logits = [[4 if pairs.get(token) == symbol else 0 for symbol in range(size)] for token in range(size)]
    return table(logits, rows, **rest)


def positional(logits, **rest):
    """No layers: the logits of row r are logits[r], whatever the token."""
    size = len(logits[0])
    symbols = rest.pop("symbols", size)
    return transformer([[0] * size] * symbols, logits, one_hot(size), **rest)


def chooses(tokens, rows, *, size=5):
    """A planner that takes exactly the slots that hold one of the tokens."""
    keep, take = [2] * size, [4 if token in tokens else 0 for token in range(size)]
    return transformer(one_hot(size), [[0] * size] * rows, [keep, take])


def increment(width, column):
    """A layer without heads that adds 1/4 to a column."""
    b2 = np.zeros(width, dtype=np.int64)
    b2[column] = 1
    nothing = Mlp.nothing(width)
    return Layer((), Mlp(nothing.w1, nothing.b1, nothing.w2, b2))


def model(kind, transformers, **rest):
    fields = {
        "length": 1,
        "padding": 1,
        "steps": 1,
        "vocabulary": VOCABULARY,
        "input_symbols": ("a", "b"),
        "accept": "1",
        "reject": "0",
        "mask": "m" if kind in ("mdm", "smdm", "topk", "pcot") else None,
    }
    return Model(kind=kind, transformers=transformers, **{**fields, **rest})
