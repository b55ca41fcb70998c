"""The same question is worked on once, as long as anyone waits for it; answers are kept, a few and not for long."""

import asyncio

import pytest

from unmask.playground import limits
from unmask.playground.crew import Failed
from unmask.playground.shared import Shared

from .own_loop import in_own_loop


class Work:
    """Counts what it is asked; answers when it is let."""

    def __init__(self):
        self.asked, self.cancelled, self.fails = [], 0, False
        self.let = asyncio.Event()

    async def __call__(self, task, question):
        self.asked.append((task, question["word"]))
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fails:
            raise Failed("it failed", 503)
        return {"number": len(self.asked)}


def with_work(test, *, holds=lambda _: True):
    async def everything():
        work = Work()
        await test(work, Shared(work, holds))

    in_own_loop(everything())


def asking(shared, count=1, word="aa"):
    return [asyncio.ensure_future(shared.ask("run", {"word": word})) for _ in range(count)]


def test_fifty_at_once_are_one_piece_of_work():
    async def test(work, shared):
        asked = asking(shared, 50)
        await asyncio.sleep(0)
        work.let.set()
        assert await asyncio.gather(*asked) == [{"number": 1}] * 50
        assert await shared.ask("run", {"word": "aa"}) == {"number": 1}
        assert work.asked == [("run", "aa")]
        assert shared._under_way == {}

    with_work(test)


def test_another_word_and_another_task_are_other_questions():
    async def test(work, shared):
        work.let.set()
        for task, word in (("run", "a"), ("run", "b"), ("prove", "a"), ("run", "a")):
            await shared.ask(task, {"word": word})
        assert work.asked == [("run", "a"), ("run", "b"), ("prove", "a")]

    with_work(test)


def test_work_goes_on_while_one_waits():
    async def test(work, shared):
        first, second = asking(shared, 2)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        work.let.set()
        assert await second == {"number": 1}
        assert work.cancelled == 0

    with_work(test)


def test_work_that_nobody_waits_for_is_stopped_and_begun_anew():
    async def test(work, shared):
        asked = asking(shared, 2)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await asyncio.sleep(0)
        assert work.cancelled == 1
        assert shared._under_way == {}
        work.let.set()
        assert await shared.ask("run", {"word": "aa"}) == {"number": 2}

    with_work(test)


def test_a_failure_is_told_to_all_and_not_kept():
    async def test(work, shared):
        work.fails = True
        work.let.set()
        found = await asyncio.gather(*asking(shared, 3), return_exceptions=True)
        assert [(type(one), one.status) for one in found] == [(Failed, 503)] * 3
        work.fails = False
        assert await shared.ask("run", {"word": "aa"}) == {"number": 2}

    with_work(test)


def test_few_answers_are_kept(monkeypatch):
    monkeypatch.setattr(limits, "KEPT", 2)

    async def test(work, shared):
        work.let.set()
        for word in ("a", "b", "c", "c", "b", "a"):
            await shared.ask("run", {"word": word})
        assert [word for _, word in work.asked] == ["a", "b", "c", "a"]
        assert len(shared._kept) == 2

    with_work(test)


@pytest.mark.parametrize("gone", ["old", "its view is gone"])
def test_an_answer_that_no_longer_holds_is_found_again(gone, monkeypatch):
    if gone == "old":
        monkeypatch.setattr(limits, "FRESH", -1)

    async def test(work, shared):
        work.let.set()
        await shared.ask("run", {"word": "a"})
        await shared.ask("run", {"word": "a"})
        assert len(work.asked) == 2

    with_work(test, holds=lambda _: gone == "old")
