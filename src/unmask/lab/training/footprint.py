"""Config × Task → the bytes that training it takes, foreseen from the declared sizes before a weight is drawn.

weights       four numbers each: itself, its gradient, and two moments of the optimiser
places        a table of every step: which row reads which
activations   of a batch, kept for the way back: per layer 16 vectors of the width, 3 of the hidden units, and 4
              matrices of attention; a loop keeps those of every round. Once: two more, and the places of each example
looks         a pass over the words that are watched and judged, as many at once as `words_at_once` says
canvases      of a batch, after every step
torch         what it takes of its own when it first learns
"""

from unmask.lab.evaluation.footprint import NUMBER, pass_memory, weights_of, words_at_once
from unmask.lab.network.encodings import code_width
from unmask.lab.settings.config import Config
from unmask.lab.tasks.task import Task

TORCH = 32 << 20


def memory_of(config: Config, task: Task) -> int:
    shape, symbols, rows, steps = config.shape, len(task.vocabulary), task.rows, len(task.pointers)
    fetches = task.fetches
    read_outs, codes = (2 + fetches) * symbols, code_width(shape.encoding, fetches)
    places = steps * rows * (codes + fetches * rows)
    rounds = steps if config.latent else 1
    per_layer = 16 * shape.width + 3 * shape.hidden + 4 * shape.heads * rows
    once = codes + (fetches + 2 * shape.heads) * rows
    kept = config.batch * rows * (rounds * (shape.layers * per_layer + 3 * read_outs) + once)
    canvases = 7 * config.batch * (steps + 1) * rows  # three times in numbers of eight bytes, while they become tokens
    look = words_at_once(shape, symbols, rows) * pass_memory(shape, symbols, rows)
    return TORCH + NUMBER * (4 * weights_of(shape, symbols, fetches) + places + kept + canvases) + look
