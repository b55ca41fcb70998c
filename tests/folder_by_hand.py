"""A model folder written with nothing but json, safetensors and the format page; and ways to damage one.

The model is a padded looped transformer over a, b with N = 2, P = 1, T = 3, p = 2, D = 4, one head, H = 1.
Columns: 0 is 1 for the letter b, 1 is the sum that the head gathers, 2 is the constant 1, 3 is unused.
"""

import json
import struct

import numpy as np
from safetensors.numpy import load, save

VOCABULARY = ["a", "b", "□", "0", "1"]


def tensors():
    """The last row attends to all three rows alike: weights [1/3] = 1/4, so that each b adds 1/4 per loop.

    The answer is 1 if column 1 is above 1 after three loops (it must beat the constant), that is for bb.
    """
    zero = np.zeros((4, 4), dtype=np.int8)
    wv, embed, out = zero.copy(), np.zeros((5, 4), dtype=np.int8), np.zeros((5, 4), dtype=np.int8)
    embed[1, 0] = 4
    wv[0, 1] = 4
    out[3, 2] = 4
    out[4, 1] = 4
    pos = np.zeros((3, 4), dtype=np.int8)
    pos[:, 2] = 4
    return {
        "embed": embed,
        "pos": pos,
        "out": out,
        "layers.0.heads.0.wq": zero[:, :1],
        "layers.0.heads.0.wk": zero[:, :1],
        **sparse("layers.0.heads.0.wv", [(0, 1, 4)], [4, 4]),
        "layers.0.mlp.w1": zero[:, :1],
        "layers.0.mlp.b1": zero[0, :1],
        "layers.0.mlp.w2": zero[:1, :],
        "layers.0.mlp.b2": zero[0],
    }


def sparse(name, entries, shape):
    row, column, value = (np.array([e[i] for e in entries], dtype=np.int64) for i in range(3))
    return {
        f"{name}.row": row,
        f"{name}.col": column,
        f"{name}.val": value,
        f"{name}.shape": np.array(shape, dtype=np.int64),
    }


def config():
    return {
        "format": "unmask-model/1",
        "reasoner": "plt",
        "precision": 2,
        "length": 2,
        "steps": 3,
        "padding": 1,
        "block": None,
        "k": None,
        "vocabulary": list(VOCABULARY),
        "input_symbols": ["a", "b"],
        "mask": None,
        "pad": "□",
        "accept": "1",
        "reject": "0",
        "begin": None,
        "aliases": {},
        "characters": None,
        "transformers": {
            "model": {"file": "model.safetensors", "attention": "unmasked", "loop": [0, 1], "noise": None}
        },
        "problem": {},
        "provenance": [],
        "registers": {},
    }


def write(folder, *, config=config, tensors=tensors):
    """`config` and `tensors` are functions that return what is written, or the bytes of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    settings, weights = config(), tensors()
    text = settings if isinstance(settings, bytes) else json.dumps(settings).encode()
    (folder / "config.json").write_bytes(text)
    content = weights if isinstance(weights, bytes) else save({k: np.array(v, order="C") for k, v in weights.items()})
    (folder / "model.safetensors").write_bytes(content)
    return folder


def with_header(changes):
    """The good file with entries of the header replaced, added, or (None) removed; nobody checks its promises."""
    content = save(tensors())
    (size,) = struct.unpack_from("<Q", content)
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    header |= changes
    text = json.dumps({name: entry for name, entry in header.items() if entry is not None}).encode()
    return struct.pack("<Q", len(text)) + text + body


def change_a_weight(path, tensor, index, change):
    """Rewrite one entry of a dense tensor in a .safetensors file."""
    stored = load(path.read_bytes())
    changed = stored[tensor].astype(np.int64)
    changed[index] = change(int(changed[index]))
    path.write_bytes(save({**stored, tensor: changed}))
