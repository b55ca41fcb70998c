"""`unmask serve`: the playground in the browser, for this machine only."""

from importlib.util import find_spec
from typing import Annotated

import typer

from unmask.errors import UnmaskError

PORT = 8642


def serve(
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", min=0, max=65535, help="Port of the local server; 0 chooses a free one."
        ),
    ] = PORT,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Start the playground: type a problem and a word in the browser, and watch every framework.

    Only this machine can reach it, at 127.0.0.1. Stop it with Ctrl-C.

    Example: [bold]unmask serve --open[/bold]
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UnmaskError(f"unmask serve needs {' and '.join(missing)}; run `pip install 'unmask[serve]'`")
    from unmask.playground import server
    from unmask.terminal import console

    server.serve(
        port, tell=lambda address: console().print(f"playground: {address}  (stop it with Ctrl-C)"), open_browser=open_
    )
