"""Workers are killed if they take too long or their request is cancelled; they cannot write files or use all memory."""

import asyncio
import os
import signal

import pytest

from unmask.playground import request_limits
from unmask.playground.worker_pool import RequestFailed, SharedAnswers, WorkerPool

from .separate_loop import run_in_separate_loop

CATASTROPHE = {"problem": "(a|a)*b", "word": "a" * 60}  # the model is quick; the oracle, `re` itself, is not
QUICK = {"problem": "a*", "word": "aa"}


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def with_pool(folder, work):
    async def everything():
        pool = WorkerPool(folder)
        try:
            return await work(pool)
        finally:
            await pool.end()

    return run_in_separate_loop(everything())


def test_work_that_takes_too_long_is_stopped_and_the_next_is_answered(tmp_path, monkeypatch):
    async def work(pool):
        await pool.ask("run", QUICK)
        (worker,) = pool._idle
        monkeypatch.setitem(request_limits.SECONDS, "run", 1)
        with pytest.raises(RequestFailed, match="longer than 1 seconds") as caught:
            await pool.ask("run", CATASTROPHE)
        assert caught.value.status == 422
        assert not alive(worker.process.pid)
        monkeypatch.setitem(request_limits.SECONDS, "run", 20)
        assert (await pool.ask("run", QUICK))["answer"] == "accepted"

    with_pool(tmp_path, work)


def test_cancelled_work_is_stopped(tmp_path):
    async def work(pool):
        await pool.ask("run", QUICK)
        (worker,) = pool._idle
        request = asyncio.ensure_future(pool.ask("run", CATASTROPHE))
        await asyncio.sleep(0.3)
        assert alive(worker.process.pid)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert not alive(worker.process.pid)
        assert pool._inside == 0
        assert [idle.answered for idle in pool._idle] == [0]  # a new worker is ready

    with_pool(tmp_path, work)


def test_a_full_queue_refuses_requests_until_it_has_space(tmp_path, monkeypatch):
    monkeypatch.setattr(request_limits, "MOST_WORKERS", 1)
    monkeypatch.setattr(request_limits, "WAITING", 1)

    async def work(pool):
        working, waiting = (asyncio.ensure_future(pool.ask("run", QUICK)) for _ in range(2))
        await asyncio.sleep(0)
        with pytest.raises(RequestFailed, match="busy with other requests") as caught:
            await pool.ask("run", QUICK)
        assert caught.value.status == 503
        assert (await working)["answer"] == (await waiting)["answer"] == "accepted"
        assert (await pool.ask("run", QUICK))["answer"] == "accepted"

    with_pool(tmp_path, work)


def test_a_request_that_waits_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(request_limits, "MOST_WORKERS", 1)
    monkeypatch.setattr(request_limits, "PATIENCE", 0.01)

    async def work(pool):
        working = asyncio.ensure_future(pool.ask("run", CATASTROPHE))
        await asyncio.sleep(0)
        with pytest.raises(RequestFailed, match="busy for too long") as caught:
            await pool.ask("run", QUICK)
        assert caught.value.status == 503
        working.cancel()

    with_pool(tmp_path, work)


def test_a_worker_that_dies_is_replaced(tmp_path):
    async def work(pool):
        await pool.ask("run", QUICK)
        pool._idle[0].process.kill()
        await pool._idle[0].process.wait()
        assert (await pool.ask("run", QUICK))["answer"] == "accepted"

    with_pool(tmp_path, work)


@pytest.mark.parametrize(
    ("by", "status", "message"),
    [
        (signal.SIGKILL, 503, "was killed; try again in a few seconds"),
        (signal.SIGTERM, 503, "was killed; try again in a few seconds"),
        (signal.SIGSEGV, 422, "use a shorter word or a smaller problem"),
    ],
)
def test_the_loss_of_a_worker_is_reported_with_its_status(tmp_path, caplog, by, status, message):
    async def work(pool):
        await pool.ask("run", QUICK)
        (worker,) = pool._idle
        request = asyncio.ensure_future(pool.ask("run", CATASTROPHE))
        await asyncio.sleep(0.3)
        os.kill(worker.process.pid, by)
        with pytest.raises(RequestFailed, match=message) as caught:
            await request
        assert caught.value.status == status
        assert worker.process.returncode == -by  # the exit code was read by asyncio
        assert (await pool.ask("run", QUICK))["answer"] == "accepted"

    with_pool(tmp_path, work)
    assert caplog.messages == []


def test_all_workers_end_with_the_pool(tmp_path):
    async def work(pool):
        await pool.warm()
        return [worker.process.pid for worker in pool._idle]

    pids = with_pool(tmp_path, work)
    assert len(pids) == request_limits.MOST_WORKERS
    assert not any(alive(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_cannot_write(own_process, tmp_path):
    output = own_process("from unmask.playground.worker import confine; confine(); open('x', 'w').write('y' * 10**6)")
    assert "File too large" in output
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 0


def test_a_worker_that_needs_too_much_memory_says_so_and_is_not_used_again(own_process):
    code = """
from unmask.playground import worker
worker.confine()
worker.TASKS["run"] = lambda subject: bytearray(worker.request_limits.MEMORY)
print(worker.answer_question("run", {"problem": "a", "word": "a"}))
"""
    output = own_process(code)
    assert "more memory" in output
    assert "'last': True" in output


def test_an_unexpected_error_becomes_a_message(own_process):
    code = """
from unmask.playground import worker
worker.TASKS["run"] = lambda subject: 1 // 0
print(worker.answer_question("run", {"problem": "a", "word": "a"}))
"""
    assert "'error': 'the playground failed with ZeroDivisionError; please report this', 'status': 500" in own_process(
        code
    )


# Identical questions share one computation while a request waits for it; a few answers are cached for a short time.


class Work:
    """Count the questions, and answer them when `let` is set."""

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
            raise RequestFailed("it failed", 503)
        return {"number": len(self.asked)}


def with_work(test, *, holds=lambda _: True):
    async def everything():
        work = Work()
        await test(work, SharedAnswers(work, holds))

    run_in_separate_loop(everything())


def asking(shared, count=1, word="aa"):
    return [asyncio.ensure_future(shared.ask("run", {"word": word})) for _ in range(count)]


def test_fifty_at_once_are_one_piece_of_work():
    async def test(work, shared):
        requests = asking(shared, 50)
        await asyncio.sleep(0)
        work.let.set()
        assert await asyncio.gather(*requests) == [{"number": 1}] * 50
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


def test_cancelled_shared_work_is_stopped_and_started_again():
    async def test(work, shared):
        requests = asking(shared, 2)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        await asyncio.sleep(0)
        assert work.cancelled == 1
        assert shared._under_way == {}
        work.let.set()
        assert await shared.ask("run", {"word": "aa"}) == {"number": 2}

    with_work(test)


def test_all_requests_get_a_shared_failure_and_it_is_not_cached():
    async def test(work, shared):
        work.fails = True
        work.let.set()
        errors = await asyncio.gather(*asking(shared, 3), return_exceptions=True)
        assert [(type(error), error.status) for error in errors] == [(RequestFailed, 503)] * 3
        work.fails = False
        assert await shared.ask("run", {"word": "aa"}) == {"number": 2}

    with_work(test)


def test_few_answers_are_kept(monkeypatch):
    monkeypatch.setattr(request_limits, "KEPT", 2)

    async def test(work, shared):
        work.let.set()
        for word in ("a", "b", "c", "c", "b", "a"):
            await shared.ask("run", {"word": word})
        assert [word for _, word in work.asked] == ["a", "b", "c", "a"]
        assert len(shared._cached) == 2

    with_work(test)


@pytest.mark.parametrize("gone", ["old", "its view is gone"])
def test_an_answer_that_no_longer_holds_is_found_again(gone, monkeypatch):
    if gone == "old":
        monkeypatch.setattr(request_limits, "FRESH", -1)

    async def test(work, shared):
        work.let.set()
        await shared.ask("run", {"word": "a"})
        await shared.ask("run", {"word": "a"})
        assert len(work.asked) == 2

    with_work(test, holds=lambda _: gone == "old")
