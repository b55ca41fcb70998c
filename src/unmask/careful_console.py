"""A console of `rich` that shows every character that it is given and obeys none."""

from typing import Any

from rich.console import Console

from unmask.escapes import visible


class CarefulConsole(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        """A string is one line of markup; what it holds of files and arguments cannot move the cursor."""
        super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **options)
