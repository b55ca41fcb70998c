"""Guard: what every request must be, before anything looks at it, and what every response says to the browser.

A page of another site can send requests to this machine. It cannot read the answers, for nothing here allows that; and
it cannot ask for work either: a POST must be JSON, which another site may not send unasked, and come from this very
origin. A name that somebody else points to this machine (DNS rebinding) is not one of ours.
"""

from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


def error(sentence: str, status: int) -> JSONResponse:
    """Every error is JSON with one sentence."""
    return JSONResponse({"error": sentence}, status)


class Guard:
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

        refusal = refused(scope["method"], Headers(scope=scope))
        await (refusal or self.app)(scope, receive, send_with_headers)


def refused(method: str, headers: Headers) -> JSONResponse | None:
    """Why a request is turned away, if it is."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _is_ours(hosts[0]):
        return error(
            f"this server accepts only requests to {' and '.join(NAMES)}; open the address that it printed", 403
        )
    if method != "POST":
        return None
    if not _all_are(f"http://{hosts[0]}", headers.getlist("origin")):
        return error("requests from pages of another site are refused; open the address that the server printed", 403)
    if not _all_are("same-origin", headers.getlist("sec-fetch-site")):
        return error("requests from another site are refused; open the address that the server printed", 403)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return error("a request must be JSON; set Content-Type to application/json", 415)
    return None


def _is_ours(host: str) -> bool:
    name, _, port = host.partition(":")
    return name in NAMES and (not port or (port.isascii() and port.isdigit() and len(port) <= 5))


def _all_are(expected: str, values: Iterable[str]) -> bool:
    """Browsers send the header; a program on this machine may leave it out."""
    return all(value == expected for value in values)
