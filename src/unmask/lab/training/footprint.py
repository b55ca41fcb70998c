"""Config × Task → the bytes that training it takes, foreseen from the declared sizes before a weight is drawn.

weights       four numbers each: itself, its gradient, and two moments of the optimiser
activations   of a batch, kept for the way back: per layer 16 vectors of the width, 3 of the hidden units, and 4
              matrices of attention; a loop keeps those of every round
"""

from unmask.lab.network.encodings import code_width
from unmask.lab.settings.config import Config
from unmask.lab.tasks.layout import FETCHES
from unmask.lab.tasks.task import Task

NUMBER = 4  # bytes of a single-precision float


def memory_of(config: Config, task: Task) -> int:
    shape, symbols, rows = config.shape, len(task.vocabulary), task.rows
    read_outs = (2 + FETCHES) * symbols
    weights = shape.width * (
        read_outs + code_width(shape.encoding) + shape.layers * (4 * shape.width + 3 * shape.hidden)
    )
    per_row = 16 * shape.width + 3 * shape.hidden + 4 * shape.heads * rows
    rounds = len(task.pointers) if config.latent else 1
    kept = config.batch * rows * (shape.layers * rounds * per_row + read_outs * rounds)
    return NUMBER * (4 * weights + kept)
