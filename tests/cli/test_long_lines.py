"""`run -` reads line by line: a line that is longer than any word is refused without being stored."""

import io
import os

import pytest

from unmask.api import compile_problem
from unmask.cli.run import lines_of, longest_line
from unmask.errors import UnmaskError, WordError


class Counted(io.StringIO):
    """A stream that records the largest size that was read at once."""

    longest = 0

    def readline(self, size=-1):
        line = super().readline(size)
        self.longest = max(self.longest, len(line))
        return line


@pytest.fixture(scope="module")
def model():
    return compile_problem("(a|b)*abb", "mdm", length=4)


def test_only_the_newline_is_stripped(model):
    assert list(lines_of(io.StringIO("aabb\n a\tb\x85\n\nlast"), model)) == ["aabb", " a\tb\x85", "", "last"]


def test_a_long_line_is_an_error_in_its_place(model):
    stream = Counted("aabb\n" + "a" * 5_000_000 + "\nabab\n" + "b" * 300_000)
    first, second, third, fourth = lines_of(stream, model)
    assert (first, third) == ("aabb", "abab")
    assert isinstance(second, WordError)
    assert "5,000,000 characters" in str(second)
    assert "300,000 characters" in str(fourth)
    assert stream.longest <= 1 << 16


def test_the_longest_line_is_still_a_line(model):
    longest = longest_line(model)
    assert list(lines_of(io.StringIO("a" * longest + "\nb"), model)) == ["a" * longest, "b"]


def test_a_stream_that_cannot_be_read_is_reported(model):
    """The message is not the one about output, which an OSError without a file name otherwise gets."""
    with open(os.devnull, "w") as written:  # noqa: SIM117
        with open(os.dup(written.fileno())) as stream:
            with pytest.raises(
                UnmaskError, match="standard input cannot be read: Bad file descriptor; give words on standard input"
            ):
                list(lines_of(stream, model))
