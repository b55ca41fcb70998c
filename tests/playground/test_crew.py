"""Workers are killed when they take too long or nobody waits; they cannot write, nor take all memory."""

import asyncio
import os
import signal

import pytest

from unmask.playground import limits
from unmask.playground.crew import Crew, Failed

from .own_loop import in_own_loop

CATASTROPHE = {"problem": "(a|a)*b", "word": "a" * 60}  # the model is quick; the oracle, `re` itself, is not
QUICK = {"problem": "a*", "word": "aa"}


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def with_crew(folder, work):
    async def everything():
        crew = Crew(folder)
        try:
            return await work(crew)
        finally:
            await crew.end()

    return in_own_loop(everything())


def test_work_that_takes_too_long_is_stopped_and_the_next_is_answered(tmp_path, monkeypatch):
    async def work(crew):
        await crew.ask("run", QUICK)
        (worker,) = crew._idle
        monkeypatch.setitem(limits.SECONDS, "run", 1)
        with pytest.raises(Failed, match="longer than 1 seconds") as caught:
            await crew.ask("run", CATASTROPHE)
        assert caught.value.status == 422
        assert not alive(worker.process.pid)
        monkeypatch.setitem(limits.SECONDS, "run", 20)
        assert (await crew.ask("run", QUICK))["answer"] == "accepted"

    with_crew(tmp_path, work)


def test_work_that_nobody_waits_for_is_stopped(tmp_path):
    async def work(crew):
        await crew.ask("run", QUICK)
        (worker,) = crew._idle
        asked = asyncio.ensure_future(crew.ask("run", CATASTROPHE))
        await asyncio.sleep(0.3)
        assert alive(worker.process.pid)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert not alive(worker.process.pid)
        assert crew._inside == 0
        assert [one.answered for one in crew._idle] == [0]  # another is ready

    with_crew(tmp_path, work)


def test_a_full_queue_refuses_and_takes_the_next_when_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "AT_ONCE", 1)
    monkeypatch.setattr(limits, "WAITING", 1)

    async def work(crew):
        working, waiting = (asyncio.ensure_future(crew.ask("run", QUICK)) for _ in range(2))
        await asyncio.sleep(0)
        with pytest.raises(Failed, match="busy with other requests") as caught:
            await crew.ask("run", QUICK)
        assert caught.value.status == 503
        assert (await working)["answer"] == (await waiting)["answer"] == "accepted"
        assert (await crew.ask("run", QUICK))["answer"] == "accepted"

    with_crew(tmp_path, work)


def test_who_waits_too_long_is_asked_to_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "AT_ONCE", 1)
    monkeypatch.setattr(limits, "PATIENCE", 0.01)

    async def work(crew):
        working = asyncio.ensure_future(crew.ask("run", CATASTROPHE))
        await asyncio.sleep(0)
        with pytest.raises(Failed, match="busy for too long") as caught:
            await crew.ask("run", QUICK)
        assert caught.value.status == 503
        working.cancel()

    with_crew(tmp_path, work)


def test_a_worker_that_dies_is_replaced(tmp_path):
    async def work(crew):
        await crew.ask("run", QUICK)
        crew._idle[0].process.kill()
        await crew._idle[0].process.wait()
        assert (await crew.ask("run", QUICK))["answer"] == "accepted"

    with_crew(tmp_path, work)


@pytest.mark.parametrize(
    ("by", "status", "said"),
    [
        (signal.SIGKILL, 503, "was killed; try again in a few seconds"),
        (signal.SIGTERM, 503, "was killed; try again in a few seconds"),
        (signal.SIGSEGV, 422, "use a shorter word or a smaller problem"),
    ],
)
def test_who_loses_a_worker_is_told_whether_to_come_back(tmp_path, caplog, by, status, said):
    async def work(crew):
        await crew.ask("run", QUICK)
        (worker,) = crew._idle
        asked = asyncio.ensure_future(crew.ask("run", CATASTROPHE))
        await asyncio.sleep(0.3)
        os.kill(worker.process.pid, by)
        with pytest.raises(Failed, match=said) as caught:
            await asked
        assert caught.value.status == status
        assert worker.process.returncode == -by  # nobody else has asked the system for it
        assert (await crew.ask("run", QUICK))["answer"] == "accepted"

    with_crew(tmp_path, work)
    assert caplog.messages == []


def test_all_workers_end_with_the_crew(tmp_path):
    async def work(crew):
        await crew.warm()
        return [worker.process.pid for worker in crew._idle]

    pids = with_crew(tmp_path, work)
    assert len(pids) == limits.AT_ONCE
    assert not any(alive(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_cannot_write(own_process, tmp_path):
    said = own_process("from unmask.playground.worker import confine; confine(); open('x', 'w').write('y' * 10**6)")
    assert "File too large" in said
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 0


def test_a_worker_that_needs_too_much_memory_says_so_and_is_not_used_again(own_process):
    code = """
from unmask.playground import worker
worker.confine()
worker.TASKS["run"] = lambda subject: bytearray(worker.limits.MEMORY)
print(worker.answer("run", {"problem": "a", "word": "a"}))
"""
    said = own_process(code)
    assert "more memory" in said
    assert "'last': True" in said


def test_an_unforeseen_failure_is_a_sentence(own_process):
    code = """
from unmask.playground import worker
worker.TASKS["run"] = lambda subject: 1 // 0
print(worker.answer("run", {"problem": "a", "word": "a"}))
"""
    assert "'error': 'the playground failed with ZeroDivisionError; please report this', 'status': 500" in own_process(
        code
    )
