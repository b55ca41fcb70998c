"""A `rich` console that sends no control character to a terminal, except newlines of the text and styles of `rich`.

Our own text is markup and may contain newlines. Text from files and arguments is inserted with `terminal.literal`,
which escapes newlines and tags as well.
"""

from typing import Any

from rich.console import Console

from unmask.escapes import visible


class CarefulConsole(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        """Print markup. Newlines in it start a new line; other control characters are shown by their number."""
        super().print(*(_without_controls(one) if isinstance(one, str) else one for one in objects), **options)


def _without_controls(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))
