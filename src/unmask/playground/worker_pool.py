"""Worker processes that answer questions, a short queue, a time limit per task, and answers shared between requests.

    WorkerPool.ask(task, question) → answer       or RequestFailed: an error message and an HTTP status
    SharedAnswers.ask(task, question) → answer    identical questions share one computation and its answer

A worker that takes too long, or whose answer is no longer wanted, is killed. Workers keep no state.
"""

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import UnmaskError
from unmask.playground import request_limits

LONGEST_LINE = 16 << 20
QUESTIONS_PER_WORKER = 200  # then a new process replaces the worker
"""The number of answers after which a worker is replaced, so that its caches cannot grow forever."""
KILLED_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM)
"""Ends of a worker that are not caused by its work alone: the same request may succeed the next time."""


class RequestFailed(UnmaskError):
    """Raised instead of an answer: the reason, and the status of the response."""

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


class WorkerProcess:
    """One process, one question at a time."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.answered = 0

    @classmethod
    async def start(cls, folder: Path) -> "WorkerProcess":
        quiet = {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(folder)}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "unmask.playground.worker",
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=folder,
            env={**os.environ, **quiet},
            limit=LONGEST_LINE,
            start_new_session=True,  # the server handles an interrupt at the terminal
        )
        return cls(process)

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError
        self.answered += 1
        return json.loads(line)

    async def ended(self) -> int | None:
        """Return how a worker that stopped answering has ended; None if it still runs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(request_limits.ENDING):
                await self.process.wait()
        return self.process.returncode

    async def kill(self) -> None:
        """Kill the process. If it may be dead, wait for `ended` first: a kill would hide its exit code from asyncio."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


class WorkerPool:
    """At most `MOST_WORKERS` busy workers and `WAITING` queued questions; further questions are refused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._idle: list[WorkerProcess] = []
        self._working: set[WorkerProcess] = set()
        self._inside = 0
        self._ended = False
        self._free = asyncio.Semaphore(request_limits.MOST_WORKERS)

    async def ask(self, task: str, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a worker, within the time limit of the task."""
        if self._inside >= request_limits.MOST_WORKERS + request_limits.WAITING:
            raise RequestFailed("the playground is busy with other requests; try again in a few seconds", 503)
        self._inside += 1
        try:
            async with asyncio.timeout(request_limits.PATIENCE):
                await self._free.acquire()
        except TimeoutError:
            raise RequestFailed("the playground was busy for too long; try again in a few seconds", 503) from None
        else:
            try:
                return await self._answer_from_worker(task, question)
            finally:
                self._free.release()
        finally:
            self._inside -= 1

    async def _answer_from_worker(self, task: str, question: dict[str, Any]) -> dict[str, Any]:
        seconds = request_limits.SECONDS[task]
        worker = await self._idle_worker()
        self._working.add(worker)
        reusable = False
        try:
            async with asyncio.timeout(seconds):
                document = await worker.ask({"task": task, "question": question, "seconds": seconds})
            reusable = "last" not in document and worker.answered < QUESTIONS_PER_WORKER
        except TimeoutError:
            raise RequestFailed(
                f"this took longer than {seconds} seconds and was stopped; use a shorter word or a smaller problem",
                422,
            ) from None
        except ConnectionError:
            raise _failure_after(await worker.ended()) from None
        except ValueError:  # the line is not JSON, or it is too long
            raise _failure_after(None) from None
        finally:  # also when the client has left
            self._working.discard(worker)
            if reusable:
                self._idle.append(worker)
            else:
                await asyncio.shield(self._replace(worker))
        if "error" in document:
            raise RequestFailed(document["error"], document["status"])
        return document["answer"]

    async def _replace(self, worker: WorkerProcess) -> None:
        """Start the next worker before it is needed."""
        await worker.kill()
        if not self._ended:
            self._idle.append(await WorkerProcess.start(self.folder))

    async def _idle_worker(self) -> WorkerProcess:
        while self._idle:
            worker = self._idle.pop()
            if worker.process.returncode is None:
                return worker
        return await WorkerProcess.start(self.folder)

    async def warm(self) -> None:
        """Start workers before the first request."""
        self._idle += [await WorkerProcess.start(self.folder) for _ in range(request_limits.MOST_WORKERS)]

    async def end(self) -> None:
        self._ended = True
        for worker in (*self._idle, *self._working):
            await worker.kill()


def _failure_after(end: int | None) -> RequestFailed:
    """Return the error for a request whose worker ended in this way."""
    if end in KILLED_BY_OTHERS:
        return RequestFailed("the process that computed this answer was killed; try again in a few seconds", 503)
    return RequestFailed(
        "the computation stopped, probably because memory ran out; use a shorter word or a smaller problem", 422
    )


Answer = dict[str, Any]


@dataclass
class _Work:
    task: asyncio.Future[Answer]
    waiting: int = 0


class SharedAnswers:
    """`work` answers a question; `is_valid` says whether everything that an answer refers to still exists."""

    def __init__(self, work: Callable[[str, Answer], Awaitable[Answer]], is_valid: Callable[[Answer], bool]) -> None:
        self._work = work
        self._is_valid = is_valid
        self._under_way: dict[str, _Work] = {}
        self._cached: OrderedDict[str, tuple[float, Answer]] = OrderedDict()

    async def ask(self, task: str, question: dict[str, Any]) -> Answer:
        """Return the answer. All requests share it, so callers must not change it."""
        key = json.dumps([task, question], sort_keys=True)
        cached = self._cached_answer(key)
        if cached is not None:
            return cached
        if key not in self._under_way:
            self._under_way[key] = _Work(asyncio.ensure_future(self._compute_and_cache(key, task, question)))
        work = self._under_way[key]
        work.waiting += 1
        try:
            return await asyncio.shield(work.task)
        finally:
            work.waiting -= 1
            if not work.waiting:  # done, or the client has left
                work.task.cancel()
                self._forget(key, work)

    async def _compute_and_cache(self, key: str, task: str, question: dict[str, Any]) -> Answer:
        answer = await self._work(task, question)
        self._cached[key] = time.monotonic(), answer
        self._cached.move_to_end(key)
        while len(self._cached) > request_limits.KEPT:
            self._cached.popitem(last=False)
        return answer

    def _cached_answer(self, key: str) -> Answer | None:
        since, answer = self._cached.get(key, (0.0, None))
        if answer is None:
            return None
        if time.monotonic() - since > request_limits.FRESH or not self._is_valid(answer):
            del self._cached[key]
            return None
        return answer

    def _forget(self, key: str, work: _Work) -> None:
        """Remove the work, unless other work has replaced it."""
        if self._under_way.get(key) is work:
            del self._under_way[key]
