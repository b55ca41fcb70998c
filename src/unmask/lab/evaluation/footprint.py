"""Shape × symbols × rows → the bytes that a network, a pass and a view take; and so how many words are read at once.

A pass keeps one layer at a time: 16 vectors of the width, 3 of the hidden units and 4 matrices of attention; of a chain
the keys and values of every layer as well, before and after they are joined; and the logits, in two precisions.
"""

from unmask.lab.network.encodings import code_width
from unmask.lab.settings.shape import Shape

NUMBER = 4  # bytes of a single-precision float
MOST_WORDS = 256
MOST_BYTES = 1 << 29


def weights_of(shape: Shape, symbols: int, fetches: int) -> int:
    """How many numbers a network holds, its biases and norms left out."""
    ends = (2 + fetches) * symbols + code_width(shape.encoding, fetches)
    return shape.width * (ends + shape.layers * (4 * shape.width + 3 * shape.hidden))


def pass_memory(shape: Shape, symbols: int, rows: int) -> int:
    """Of one word."""
    per_row = (16 + 4 * shape.layers) * shape.width + 3 * shape.hidden + 4 * shape.heads * rows + 6 * symbols
    return NUMBER * rows * per_row


def words_at_once(shape: Shape, symbols: int, rows: int) -> int:
    """As many as MOST_BYTES allow, one in any case."""
    return max(1, min(MOST_WORDS, MOST_BYTES // pass_memory(shape, symbols, rows)))


def view_memory(shape: Shape, symbols: int, rows: int, passes: int) -> int:
    """Of a run that is watched: what it computes in twice the precision, and of attention what is read and how much."""
    kept = rows * shape.width + 2 * shape.heads * rows * rows
    return 2 * NUMBER * passes * shape.layers * kept + 3 * pass_memory(shape, symbols, rows)
