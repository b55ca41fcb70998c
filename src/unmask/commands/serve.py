"""`unmask serve`: a playground in the browser, on this machine alone."""

from importlib.util import find_spec
from typing import Annotated

import typer

from unmask.errors import UnmaskError

LOOPBACK = ("127.0.0.1", "localhost")
PORT = 8642


def serve(
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = PORT,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="This machine alone: 127.0.0.1.")] = LOOPBACK[0],
) -> None:
    """Type a problem and a word in a browser, and see every framework at work. Ends with Ctrl-C.

    Example: [bold]unmask serve --open[/bold]
    """
    if host not in LOOPBACK:
        raise UnmaskError(f"the playground is for this machine alone, so --host takes 127.0.0.1 only, not {host[:60]}")
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UnmaskError(f"unmask serve needs {' and '.join(missing)}; run `pip install 'unmask[serve]'`")
    from unmask.playground import server
    from unmask.terminal import console

    server.serve(
        port, tell=lambda address: console().print(f"the playground: {address}  (Ctrl-C ends it)"), open_browser=open_
    )
