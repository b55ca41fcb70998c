"""Shared: the same question is worked on once, however many ask it.

    ask(task, question) ──▶ answer        while it is worked on, all who ask wait for the same work;
                                          for a while after, they are given the same answer

Work goes on as long as anyone waits for it. A failure is told to all who waited, and not kept.
"""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from unmask.playground import limits

Answer = dict[str, Any]


@dataclass
class _Work:
    task: asyncio.Future[Answer]
    waiting: int = 0


class Shared:
    """`work` answers a question; `holds` says whether an answer still leads to all that it names."""

    def __init__(self, work: Callable[[str, Answer], Awaitable[Answer]], holds: Callable[[Answer], bool]) -> None:
        self._work = work
        self._holds = holds
        self._under_way: dict[str, _Work] = {}
        self._kept: OrderedDict[str, tuple[float, Answer]] = OrderedDict()

    async def ask(self, task: str, question: dict[str, Any]) -> Answer:
        """The answer, which belongs to all who asked: it is not to be changed."""
        key = json.dumps([task, question], sort_keys=True)
        kept = self._kept_answer(key)
        if kept is not None:
            return kept
        if key not in self._under_way:
            self._under_way[key] = _Work(asyncio.ensure_future(self._answered(key, task, question)))
        work = self._under_way[key]
        work.waiting += 1
        try:
            return await asyncio.shield(work.task)
        finally:
            work.waiting -= 1
            if not work.waiting:  # done, or nobody wants it any more
                work.task.cancel()
                self._forget(key, work)

    async def _answered(self, key: str, task: str, question: dict[str, Any]) -> Answer:
        answer = await self._work(task, question)
        self._kept[key] = time.monotonic(), answer
        self._kept.move_to_end(key)
        while len(self._kept) > limits.KEPT:
            self._kept.popitem(last=False)
        return answer

    def _kept_answer(self, key: str) -> Answer | None:
        since, answer = self._kept.get(key, (0.0, None))
        if answer is None:
            return None
        if time.monotonic() - since > limits.FRESH or not self._holds(answer):
            del self._kept[key]
            return None
        return answer

    def _forget(self, key: str, work: _Work) -> None:
        """Unless it is other work by now."""
        if self._under_way.get(key) is work:
            del self._under_way[key]
