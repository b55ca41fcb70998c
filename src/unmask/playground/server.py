"""HTTP server of the playground: checks of requests (`RequestGuard`), the ASGI application, the port on this machine.

    GET  /                  the page; /static/NAME its files
    POST /api/TASK          question → answer of a worker        TASK: run, steps, planners, prove, words
    GET  /view/NAME         the view of a run, in a frame with its own origin

A page of another site can send requests to this machine. `RequestGuard` therefore accepts only requests to our own
names (against DNS rebinding), and a POST only as JSON from our own origin.
"""

import asyncio
import contextlib
import json
import secrets
import shutil
import socket
import tempfile
import webbrowser
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unmask.errors import UnmaskError
from unmask.files import distinct_keys
from unmask.playground import request_limits
from unmask.playground.requested_problem import PROGRAMS, BadQuestion, PlaygroundQuestion
from unmask.playground.worker_pool import RequestFailed, SharedAnswers, WorkerPool

NAMES = ("127.0.0.1", "localhost")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'"
    ),
}


def error(message: str, status: int) -> JSONResponse:
    """Return every error as JSON with a message."""
    return JSONResponse({"error": message}, status)


class RequestGuard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = refusal_of(scope["method"], Headers(scope=scope))
        await (refusal or self.app)(scope, receive, send_with_headers)


def refusal_of(method: str, headers: Headers) -> JSONResponse | None:
    """Return the response that refuses a request, or None if the request is accepted."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _is_ours(hosts[0]):
        return error(
            f"this server accepts only requests to {' and '.join(NAMES)}; open the address that it printed", 403
        )
    if method != "POST":
        return None
    if not _all_equal(f"http://{hosts[0]}", headers.getlist("origin")):
        return error("requests from pages of another site are refused; open the address that the server printed", 403)
    if not _all_equal("same-origin", headers.getlist("sec-fetch-site")):
        return error("requests from another site are refused; open the address that the server printed", 403)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return error("a request must be JSON; set Content-Type to application/json", 415)
    return None


def _is_ours(host: str) -> bool:
    name, _, port = host.partition(":")
    return name in NAMES and (not port or (port.isascii() and port.isdigit() and len(port) <= 5))


def _all_equal(expected: str, values: Iterable[str]) -> bool:
    """Return whether a header, if there is one, has only these values; programs on this machine may leave it out."""
    return all(value == expected for value in values)


TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".py": "text/plain",
}
VIEW_POLICY = "sandbox allow-scripts; frame-ancestors 'self'"
"""In addition to the policy that the page of a run contains, which forbids every request."""


def application() -> Starlette:
    """Return the application. Its workers and its temporary folder live as long as the application."""
    package = files("unmask.playground")
    served = [*(package / "assets").iterdir(), *(package / "programs" / f"{name}.py" for name in PROGRAMS)]
    assets = {entry.name: entry.read_bytes() for entry in served}

    async def page(_: Request) -> Response:
        return _asset(assets, "playground.html")

    async def static(request: Request) -> Response:
        return _asset(assets, request.path_params["name"])

    return Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/static/{name}", static, methods=["GET"]),
            Route("/view/{name}", stored_page, methods=["GET"]),
            Route("/api/{task}", ask, methods=["POST"]),
        ],
        middleware=[Middleware(RequestGuard)],
        exception_handlers={HTTPException: _http_error, Exception: _unexpected},
        lifespan=lifespan,
    )


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Create a temporary folder and the worker pool that works in it; both are removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="unmask-playground-"))
    app.state.pool = WorkerPool(folder)
    app.state.views = OrderedDict()
    app.state.shared = _shared_answers(app.state.pool, app.state.views)
    try:
        await app.state.pool.warm()
        yield
    finally:
        await app.state.pool.end()
        shutil.rmtree(folder, ignore_errors=True)


async def ask(request: Request) -> Response:
    """Read and check a question, let a worker answer it; stop the worker if every browser that asked disconnects."""
    task = request.path_params["task"]
    if task not in request_limits.SECONDS:
        return error(f"there is no such request; use one of {', '.join(request_limits.SECONDS)}", 404)
    try:
        question = PlaygroundQuestion.of(await _read_document(request))
        answer = await _unless_disconnected(request, request.app.state.shared.ask(task, question.to_json()))
    except RequestFailed as failed:
        return error(str(failed), failed.status)
    except BadQuestion as bad:
        return error(str(bad), 400)
    except ClientDisconnect:
        return error("the request was cancelled", 499)
    return JSONResponse(answer)


async def stored_page(request: Request) -> Response:
    """Return the page of a run that is still stored."""
    page = request.app.state.views.get(f"/view/{request.path_params['name']}")
    if page is None:
        return error("this run is no longer stored; run it again", 404)
    return HTMLResponse(page, headers={"Content-Security-Policy": VIEW_POLICY})


def _store_page(views: OrderedDict[str, str], page: str) -> str:
    """Store a page for its frame under an address that cannot be guessed, and drop the oldest page."""
    address = f"/view/{secrets.token_urlsafe(16)}"
    views[address] = page
    while len(views) > request_limits.PAGES:
        views.popitem(last=False)
    return address


def _shared_answers(pool: WorkerPool, views: OrderedDict[str, str]) -> SharedAnswers:
    """Share answers between requests. The page of a run is stored once; its answer is reused only while the page is."""

    async def work(task: str, question: dict[str, Any]) -> dict[str, Any]:
        answer = await pool.ask(task, question)
        if "page" in answer:
            answer["view"] = _store_page(views, answer.pop("page"))
        return answer

    return SharedAnswers(work, lambda answer: "view" not in answer or answer["view"] in views)


async def _read_document(request: Request) -> Any:
    """Return the body as JSON, if it is small enough and arrives in time."""
    body = bytearray()
    try:
        async with asyncio.timeout(request_limits.READING):
            async for chunk in request.stream():
                body += chunk
                if len(body) > request_limits.BODY:
                    raise RequestFailed(
                        f"the request has more than {request_limits.BODY:,} bytes; use a shorter word or problem", 413
                    )
    except TimeoutError:
        raise RequestFailed(
            f"the request did not arrive within {request_limits.READING} seconds; send it again", 408
        ) from None
    try:
        return json.loads(body, object_pairs_hook=distinct_keys(BadQuestion))
    except (ValueError, RecursionError):
        raise BadQuestion("the request is not JSON, or it is nested too deeply; send one JSON object") from None


async def _unless_disconnected(request: Request, work: Any) -> Any:
    """Await the work, and cancel it soon after the browser closed the connection."""

    async def wait_for_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(wait_for_disconnect())
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await asyncio.wait((working,), timeout=request_limits.GRACE)
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        watching.cancel()


def _asset(assets: dict[str, bytes], name: str) -> Response:
    kind = TYPES.get(Path(name).suffix)
    if name not in assets or kind is None:
        return error("there is no such file here", 404)
    return Response(assets[name], media_type=kind)


async def _http_error(_: Request, exception: Exception) -> Response:
    assert isinstance(exception, HTTPException)
    messages = {404: "there is no such page here", 405: "this address does not accept this HTTP method"}
    response = error(messages.get(exception.status_code, "this request cannot be answered"), exception.status_code)
    response.headers.update(exception.headers or {})
    return response


async def _unexpected(_: Request, __: Exception) -> Response:
    return error("the playground failed; please report the problem and the word", 500)


HOST = "127.0.0.1"
MOST_CONNECTIONS = 128


def listen(port: int) -> socket.socket:
    """Return a socket on the loopback interface; port 0 chooses a free port."""
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


def serve(port: int, *, announce: Callable[[str], None], open_browser: bool = False) -> None:
    """Serve until interrupted; `announce` is called with the address as soon as the server answers."""
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
        server = _AnnouncingServer(config, lambda: (announce(address), open_browser and webbrowser.open(address)))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


class _AnnouncingServer(uvicorn.Server):
    """A server that reports when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()
