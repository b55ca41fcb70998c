"""Which slots a slot is made from, read off the attention weights of the predictor.

    reads(row) after layer l = ⋃ over keys with a weight that is not 0, and the row itself, of reads(key) before l
    s depends on t    iff    t is among the reads of s, and written, on the first canvas of the model's own run from
                             which on the logits of s stay what they are when its planner writes s

Nothing here knows what the program meant. A slot that is decided before its planner takes it waits for nothing more;
one that the planner never writes is read by others as it is, a mask: it is nothing to wait for.
"""

import re
from itertools import pairwise

import numpy as np

from unmask.samplers.exam.subject import Subject
from unmask.samplers.predictors.compiled import CompiledPredictor

WEIGHTS = re.compile(r"layers\.(\d+)\.heads\.\d+\.weights")
LARGEST = 1 << 25  # entries of attention that are held at once
LARGEST_ANSWER = 1 << 29


def dependencies(subject: Subject) -> np.ndarray | None:
    """[batch, slot, slot that it reads]; None where that is too much to hold."""
    whole, own = subject.predictor, subject.own
    rows = whole.model.rows
    if rows * rows > LARGEST or len(subject.words) * subject.slots**2 > LARGEST_ANSWER:
        return None
    at_once = max(1, LARGEST // (rows * rows))
    parts = []
    for first in range(0, len(subject.words), at_once):
        part = slice(first, first + at_once)
        predictor = CompiledPredictor(whole.model, whole.words[part], whole.engine)
        histories = [canvas[part] for canvas in own.histories]
        found = np.zeros((*histories[0].shape, subject.slots), dtype=bool)
        held, said = found.copy(), None
        for before, after in pairwise(histories):
            logits, seen = reads(predictor, before)
            changed = np.ones(before.shape, bool) if said is None else (logits != said).any(axis=-1)
            held = np.where(changed[:, :, None], seen & (before != whole.mask_id)[:, None, :], held)
            fresh = (before == whole.mask_id) & (after != whole.mask_id)
            found |= held & fresh[:, :, None]
            said = logits
        parts.append(found)
    return np.concatenate(parts)


def reads(predictor: CompiledPredictor, canvas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logits of one pass, and [batch, slot, slot]: what flows into each slot's row in it."""
    layers: dict[int, np.ndarray] = {}

    def watch(name: str, value: np.ndarray) -> None:
        match = WEIGHTS.fullmatch(name)
        if match is not None:
            layer = int(match.group(1))
            layers[layer] = layers.get(layer, False) | (value != 0)

    logits = predictor.read(canvas, watch=watch)
    rows = predictor.model.rows
    itself = np.eye(rows, dtype=np.float32)
    flow = np.broadcast_to(itself, (len(canvas), rows, rows))
    for layer in sorted(layers):
        flow = ((layers[layer] + itself) @ flow > 0).astype(np.float32)
    first = predictor.first_row
    return logits, flow[:, first:, first:] > 0
