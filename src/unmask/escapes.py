"""Text from anywhere → text that a terminal shows, and never obeys.

    visible("\\x1b[2J")  =  "\\\\u{1b}[2J"

Controls, marks that change the direction of writing, halves of surrogate pairs and all else that does not print are
shown by their number. What a person is shown passes here at the border (`terminal.py`), whatever file or argument it
came from; what a program reads is JSON, which has escapes of its own.
"""


def visible(text: str) -> str:
    """The text in one line, every character of it to be seen; what is visible already stays as it is."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
