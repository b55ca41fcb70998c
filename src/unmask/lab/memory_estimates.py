"""Shape and task → the bytes that a network, a pass, a view and a training run will take."""

from unmask.lab.settings import Config, Shape
from unmask.lab.tasks import LabTask
from unmask.lab.trained_network import code_width

# Shape × symbols × rows → the bytes of a network, a pass and a view, and so how many words are processed at once.
#
# A pass keeps one layer at a time: 16 vectors of the width, 3 of the hidden units and 4 matrices of attention; for a
# chain also the keys and values of every layer, before and after they are joined; and the logits in two precisions.


NUMBER = 4  # bytes of a single-precision float
MOST_WORDS = 256
MOST_BYTES = 1 << 29


def weights_of(shape: Shape, symbols: int, fetches: int) -> int:
    """Return the number of weights of a network, without biases and norms."""
    ends = (2 + fetches) * symbols + code_width(shape.encoding, fetches)
    return shape.width * (ends + shape.layers * (4 * shape.width + 3 * shape.hidden))


def pass_memory(shape: Shape, symbols: int, rows: int) -> int:
    """Return the bytes that a pass over one word takes."""
    per_row = (16 + 4 * shape.layers) * shape.width + 3 * shape.hidden + 4 * shape.heads * rows + 6 * symbols
    return NUMBER * rows * per_row


def evaluated_at_once(shape: Shape, symbols: int, rows: int) -> int:
    """Return the number of words that fit into MOST_BYTES, at least one."""
    return max(1, min(MOST_WORDS, MOST_BYTES // pass_memory(shape, symbols, rows)))


def view_memory(shape: Shape, symbols: int, rows: int, passes: int) -> int:
    """Return the bytes of a recorded run: values in double precision, and the attention edges with their weights."""
    recorded = rows * shape.width + 2 * shape.heads * rows * rows
    return 2 * NUMBER * passes * shape.layers * recorded + 3 * pass_memory(shape, symbols, rows)


# Config × Task → the bytes that training takes, estimated from the declared sizes before any weight is drawn.
#
# weights       four numbers each: itself, its gradient, and two moments of the optimiser
# places        a table of every step: which row reads which
# activations   of a batch, kept for the backward pass: per layer 16 vectors of the width, 3 of the hidden units, and 4
#               matrices of attention; a loop keeps those of every round. Once: two more, and the places of each example
# evaluation    a pass over the words that are watched and judged, as many at once as `evaluated_at_once` says
# canvases      of a batch, after every step
# torch         its own memory at the first training step


TORCH_BYTES = 32 << 20


def training_memory(config: Config, task: LabTask) -> int:
    shape, symbols, rows, steps = config.shape, len(task.vocabulary), task.rows, len(task.pointers)
    fetches = task.fetches
    read_outs, codes = (2 + fetches) * symbols, code_width(shape.encoding, fetches)
    places = steps * rows * (codes + fetches * rows)
    rounds = steps if config.latent else 1
    per_layer = 16 * shape.width + 3 * shape.hidden + 4 * shape.heads * rows
    once = codes + (fetches + 2 * shape.heads) * rows
    activations = config.batch * rows * (rounds * (shape.layers * per_layer + 3 * read_outs) + once)
    canvases = 7 * config.batch * (steps + 1) * rows  # three times in numbers of eight bytes, while they become tokens
    evaluation = evaluated_at_once(shape, symbols, rows) * pass_memory(shape, symbols, rows)
    numbers = 4 * weights_of(shape, symbols, fetches) + places + activations + canvases
    return TORCH_BYTES + NUMBER * numbers + evaluation
