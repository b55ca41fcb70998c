"""The ASGI application.

GET  /                  the page; /static/… what it is made of
POST /api/TASK          a question → its answer, by a worker        TASK: run, steps, planners, prove, words
GET  /view/NAME         the view of a run, in a frame that is its own origin
"""

import asyncio
import json
import secrets
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from unmask.documents import distinct_keys
from unmask.playground import limits
from unmask.playground.crew import Crew, Failed
from unmask.playground.guard import Guard, error
from unmask.playground.question import PROGRAMS, BadQuestion, Question
from unmask.playground.shared import Shared

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".py": "text/plain",
}
VIEW_POLICY = "sandbox allow-scripts; frame-ancestors 'self'"
"""Beside the policy that the page of a run brings itself, which forbids every request."""


def application() -> Starlette:
    """The playground; its workers and its folder live as long as it does."""
    here = files("unmask.playground")
    served = [*(here / "assets").iterdir(), *(here / "programs" / f"{name}.py" for name in PROGRAMS)]
    assets = {entry.name: entry.read_bytes() for entry in served}

    async def page(_: Request) -> Response:
        return _asset(assets, "playground.html")

    async def static(request: Request) -> Response:
        return _asset(assets, request.path_params["name"])

    return Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/static/{name}", static, methods=["GET"]),
            Route("/view/{name}", view, methods=["GET"]),
            Route("/api/{task}", ask, methods=["POST"]),
        ],
        middleware=[Middleware(Guard)],
        exception_handlers={HTTPException: _http_error, Exception: _unexpected},
        lifespan=lifespan,
    )


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """A temporary folder and a crew that works in it; both are gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="unmask-playground-"))
    app.state.crew = Crew(folder)
    app.state.views = OrderedDict()
    app.state.shared = _shared(app.state.crew, app.state.views)
    try:
        await app.state.crew.warm()
        yield
    finally:
        await app.state.crew.end()
        shutil.rmtree(folder, ignore_errors=True)


async def ask(request: Request) -> Response:
    """Read, check, let a worker answer; stop the worker if every browser that asked goes away."""
    task = request.path_params["task"]
    if task not in limits.SECONDS:
        return error(f"there is no such request; use one of {', '.join(limits.SECONDS)}", 404)
    try:
        question = Question.of(await _document(request))
        answer = await _unless_gone(request, request.app.state.shared.ask(task, question.to_json()))
    except Failed as failed:
        return error(str(failed), failed.status)
    except BadQuestion as bad:
        return error(str(bad), 400)
    except ClientDisconnect:
        return error("the request was cancelled", 499)
    return JSONResponse(answer)


async def view(request: Request) -> Response:
    page = request.app.state.views.get(f"/view/{request.path_params['name']}")
    if page is None:
        return error("this run is no longer stored; run it again", 404)
    return HTMLResponse(page, headers={"Content-Security-Policy": VIEW_POLICY})


def _keep(views: OrderedDict[str, str], page: str) -> str:
    """Keep a page for its frame, and forget the oldest; the address is not to be guessed."""
    address = f"/view/{secrets.token_urlsafe(16)}"
    views[address] = page
    while len(views) > limits.PAGES:
        views.popitem(last=False)
    return address


def _shared(crew: Crew, views: OrderedDict[str, str]) -> Shared:
    """The crew for all who ask; the page of a run is kept once, and its answer only as long as that."""

    async def work(task: str, question: dict[str, Any]) -> dict[str, Any]:
        answer = await crew.ask(task, question)
        if "page" in answer:
            answer["view"] = _keep(views, answer.pop("page"))
        return answer

    return Shared(work, lambda answer: "view" not in answer or answer["view"] in views)


async def _document(request: Request) -> Any:
    """The body as JSON, if it is small and arrives soon."""
    body = bytearray()
    try:
        async with asyncio.timeout(limits.READING):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limits.BODY:
                    raise Failed(f"the request has more than {limits.BODY:,} bytes; use a shorter word or problem", 413)
    except TimeoutError:
        raise Failed(f"the request did not arrive within {limits.READING} seconds; send it again", 408) from None
    try:
        return json.loads(body, object_pairs_hook=distinct_keys(BadQuestion))
    except (ValueError, RecursionError):
        raise BadQuestion("the request is not JSON, or it is nested too deeply; send one JSON object") from None


async def _unless_gone(request: Request, work: Any) -> Any:
    """Await the work, and cancel it soon after the browser closed the connection."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await asyncio.wait((working,), timeout=limits.GRACE)
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
    sentence = {404: "there is no such page here", 405: "this address does not accept this HTTP method"}
    response = error(sentence.get(exception.status_code, "this request cannot be answered"), exception.status_code)
    response.headers.update(exception.headers or {})
    return response


async def _unexpected(_: Request, __: Exception) -> Response:
    return error("the playground failed; please report the problem and the word", 500)
