"""Aimed mutations of a model folder: every field of config.json and every class of tensor has manipulations of its own.

Each yields (field or tensor, description, changed value). Most make a model wrong or unreadable, some have no effect:
the expected answers always come from a run.
"""

import re

import numpy as np

from unmask.weights.transformer import Transformer
from verification.mutation import with_tensor

LAST = 0x10FFFF
SPECIAL = ("mask", "pad", "accept", "reject", "begin")
COMMENTS = ("problem", "provenance", "registers")


def config_mutations(config):
    """(field, what, changed config): one field at a time, except where two must change places."""
    for field, manipulate in CONFIG.items():
        for description, changes in manipulate(config):
            yield field, description, {**config, **changes}


def _values(field, values):
    def manipulate(config):
        return [(f"becomes {value!r}", {field: value}) for value in values if value != config[field]]

    return manipulate


def _steps_of(field, *steps):
    def manipulate(config):
        return [(f"is {step:+}", {field: config[field] + step}) for step in steps]

    return manipulate


def _vocabulary(config):
    symbols = config["vocabulary"]
    for i in range(len(symbols) - 1):
        swapped = [*symbols[:i], symbols[i + 1], symbols[i], *symbols[i + 2 :]]
        yield f"{symbols[i]!r} and {symbols[i + 1]!r} change places", {"vocabulary": swapped}
        yield f"{symbols[i]!r} is called ☂", {"vocabulary": [*symbols[:i], "☂", *symbols[i + 1 :]]}
    yield "the first is named twice", {"vocabulary": [symbols[0], *symbols[:-1]]}
    yield "one is missing", {"vocabulary": symbols[:-1]}
    yield "one is added", {"vocabulary": [*symbols, "☂"]}


def _input_symbols(config):
    symbols = config["input_symbols"]
    other_symbols = [s for s in config["vocabulary"] if s not in symbols]
    yield "are reversed", {"input_symbols": symbols[::-1]}
    yield "are none", {"input_symbols": []}
    for i, symbol in enumerate(symbols):
        yield f"{symbol!r} is missing", {"input_symbols": symbols[:i] + symbols[i + 1 :]}
    for other in other_symbols:
        yield f"{other!r} is added", {"input_symbols": [*symbols, other]}
        yield f"{other!r} in place of {symbols[0]!r}", {"input_symbols": [other, *symbols[1:]]}


def _special(field):
    def manipulate(config):
        replacements = dict.fromkeys([None, *(config[name] for name in SPECIAL), *config["vocabulary"]])
        for other in replacements:
            if other != config[field]:
                yield f"becomes {other!r}", {field: other}
        for name in SPECIAL:
            if name > field and config[name] != config[field]:
                yield f"and {name} change places", {field: config[name], name: config[field]}

    return manipulate


def _aliases(config):
    for old in config["vocabulary"]:
        for new in (config["accept"], config["reject"], config["mask"] or config["vocabulary"][0]):
            if old != new:
                yield f"{old!r} stands for {new!r}", {"aliases": {**config["aliases"], old: new}}
    answers = {config["accept"]: config["reject"], config["reject"]: config["accept"]}
    yield "accept and reject stand for each other", {"aliases": answers}
    yield "a symbol that is not there", {"aliases": {"☂": config["accept"]}}


def _characters(config):
    ranges, symbols = config["characters"], config["input_symbols"]
    if ranges is None:
        yield "letters are characters", {"characters": [[ord(s), ord(s), s] for s in sorted(symbols) if len(s) == 1]}
        yield "everything is the first symbol", {"characters": [[0, LAST, symbols[0]]]}
        return
    yield "are none", {"characters": []}
    yield "are not given", {"characters": None}
    yield "everything is the first symbol", {"characters": [[0, LAST, symbols[0]]]}
    yield "are given backwards", {"characters": ranges[::-1]}
    for i, (first, last, symbol) in enumerate(ranges):
        before, after = ranges[:i], ranges[i + 1 :]
        yield f"range {i} is missing", {"characters": before + after}
        yield f"range {i} is given twice", {"characters": [*ranges, ranges[i]]}
        yield (
            f"range {i} lacks its first",
            {"characters": [*before, *([[first + 1, last, symbol]] * (first < last)), *after]},
        )
        yield (
            f"range {i} lacks its last",
            {"characters": [*before, *([[first, last - 1, symbol]] * (first < last)), *after]},
        )
        yield f"range {i} has one more", {"characters": [*before, [first, last + 1, symbol], *after]}
        yield f"range {i} is empty", {"characters": [*before, [last + 1, first, symbol], *after]}
        for other in (*symbols, config["accept"], "☂", 0, len(config["vocabulary"])):
            if other != symbol:
                yield f"range {i} is {other!r}", {"characters": [*before, [first, last, other], *after]}


def _entries(config):
    """`transformers`: files, attention, loop and noise of each."""
    entries = config["transformers"]
    for name, entry in entries.items():
        for other in entries:
            if other != name:
                yield (
                    f"{name} is read from {entries[other]['file']}",
                    _entry(entries, name, file=entries[other]["file"]),
                )
        yield f"the file of the {name} is not there", _entry(entries, name, file="nowhere.safetensors")
        other = "causal" if entry["attention"] == "unmasked" else "unmasked"
        yield f"the {name} is {other}", _entry(entries, name, attention=other)
        for loop in (None, [0, 0], [0, 1], [0, 2], [1, 2], [1, 3], [0, 9], [2, 1]):
            if loop != entry["loop"]:
                yield f"the loop of the {name} is {loop}", _entry(entries, name, loop=loop)
        yield f"the {name} has noise", _entry(entries, name, noise={"planner": [0], "predictor": [1]})
        yield f"there is no {name}", {"transformers": {n: e for n, e in entries.items() if n != name}}


def _entry(entries, name, **changes):
    return {"transformers": {**entries, name: {**entries[name], **changes}}}


CONFIG = {
    "format": _values("format", ["unmask-model/2", None]),
    "reasoner": _values("reasoner", ["mdm", "smdm", "topk", "plt", "cot", "pcot"]),
    "precision": _values("precision", [1, 2, 3, 4, 8]),
    "length": _steps_of("length", -1, 1),
    "steps": _steps_of("steps", -2, -1, 1, 2, 7),
    "padding": _steps_of("padding", -1, 1),
    "block": _values("block", [None, 1, 2, 3]),
    "k": _values("k", [None, 1, 2, 100]),
    "vocabulary": _vocabulary,
    "input_symbols": _input_symbols,
    **{field: _special(field) for field in SPECIAL},
    "aliases": _aliases,
    "characters": _characters,
    "transformers": _entries,
    **{field: _values(field, [None, {}, [], {"kind": "regex", "pattern": "b*"}, "x"]) for field in COMMENTS},
}
"""Field → its manipulations. A test compares the keys with those of a folder."""


def tensor_class(name):
    """`layers.3.heads.0.wq` is a wq."""
    return re.split(r"\.", name)[-1]


def tensor_mutations(transformer: Transformer, rng):
    """(class, what, changed transformer): for each tensor, one of each manipulation at a random place."""
    for name, tensor in transformer.tensors(positions=True):
        dense = np.asarray(tensor if isinstance(tensor, np.ndarray) else tensor.dense()).astype(np.int64)
        if not dense.size:
            continue
        for description, changed in _manipulated(dense, transformer.precision.bound, rng):
            if not np.array_equal(changed, dense):
                yield tensor_class(name), f"{name}: {description}", with_tensor(transformer, name, changed)


def _manipulated(dense, bound, rng):
    """What a slip could do to a tensor."""
    indices = [tuple(index) for index in np.argwhere(dense).tolist()]
    anywhere = tuple(rng.randrange(n) for n in dense.shape)
    for index in (rng.choice(indices), anywhere) if indices else (anywhere,):
        old = int(dense[index])
        for new in {0, -old, old + 1, old - 1, 2 * old, bound, -bound, rng.randint(-bound, bound)} - {old}:
            yield f"{list(index)} is {new}, not {old}", _with(dense, index, max(-bound, min(bound, new)))
        other = tuple(rng.randrange(n) for n in dense.shape)
        moved = _with(dense, index, dense[other])
        moved[other] = dense[index]
        yield f"{list(index)} and {list(other)} change places", moved
    yield "all are 0", np.zeros_like(dense)
    yield "all have the other sign", -dense
    yield "all are doubled", np.clip(2 * dense, -bound, bound)
    for axis in range(dense.ndim):
        i, j = rng.randrange(dense.shape[axis]), rng.randrange(dense.shape[axis])
        order = np.arange(dense.shape[axis])
        order[[i, j]] = order[[j, i]]
        yield f"{i} and {j} of axis {axis} change places", dense.take(order, axis)
        yield f"axis {axis} is turned by one", np.roll(dense, 1, axis)
        zeroed = dense.copy()
        zeroed[(slice(None),) * axis + (i,)] = 0
        yield f"{i} of axis {axis} is 0", zeroed


def _with(dense, index, value):
    changed = dense.copy()
    changed[index] = value
    return changed
