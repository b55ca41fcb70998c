"""The application, on a port of this machine that no other machine can reach."""

import contextlib
import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from unmask.errors import UnmaskError
from unmask.playground.app import application

HOST = "127.0.0.1"
MOST_CONNECTIONS = 128


def listen(port: int) -> socket.socket:
    """A socket of the loopback interface; port 0 takes a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise UnmaskError(
            f"port {port} of {HOST} cannot be used ({error.strerror}); choose another with --port, or --port "
            "0 for any free one"
        ) from None
    return listener


def serve(port: int, *, tell: Callable[[str], None], open_browser: bool = False) -> None:
    """Serve until interrupted; `tell` is given the address as soon as it answers."""
    with contextlib.closing(listen(port)) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        config = uvicorn.Config(
            application(),
            log_level="error",
            access_log=False,
            server_header=False,
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=2,
        )
        server = _Telling(config, lambda: (tell(address), open_browser and webbrowser.open(address)))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


class _Telling(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
