"""Read standard input line by line, without storing lines that are longer than any word of the model."""

from collections.abc import Iterator
from typing import TextIO

from unmask.errors import UnmaskError, WordError
from unmask.weights.model import Model

PIECE = 1 << 16
BLANKS = 1 << 12  # characters beyond the symbols of a word that may separate them


def longest_line(model: Model) -> int:
    """Return the length of the longest line that can be a word of the model."""
    widest = max((len(symbol) for symbol in model.input_symbols), default=1)
    return model.length * (widest + 1) + BLANKS


def lines_of(stream: TextIO, model: Model) -> Iterator[str | UnmaskError]:
    """Yield lines without their newline; a line that is too long is an error."""
    longest = longest_line(model)
    while line := _piece(stream, longest + 1):
        if len(line) <= longest or line.endswith("\n"):
            yield line.removesuffix("\n")
            continue
        size = len(line)
        while not line.endswith("\n") and (line := _piece(stream, PIECE)):
            size += len(line) - line.endswith("\n")
        yield WordError(
            f"the line has {size:,} characters, but the model reads words of length {model.length}; shorten it"
        )


def _piece(stream: TextIO, most: int) -> str:
    try:
        return stream.readline(most)
    except OSError as error:  # a stream that can only be written, a terminal that is gone
        raise UnmaskError(
            f"standard input cannot be read: {error.strerror or error}; give words on standard input, one per line"
        ) from None
