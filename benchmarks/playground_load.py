"""The playground under load: clients × seconds → answers, refusals, the slowest answers, memory; and what survives.

    python benchmarks/playground_load.py --clients 50 --seconds 20

Every client asks again as soon as it has its answer or its refusal: each time another question; all the same one; while
a worker is killed with -9 twice a second; while others cut their requests in the middle; and 2,000 small requests in
all. In the end the server is killed with -9, and what is left of its processes is counted. Memory is that of the server
and its workers together (resident, Linux alone): before, at its peak, after.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

QUESTION = {"problem": "(a|b)*abb", "word": "ab" * 12}
PAGE = 4096


@contextlib.contextmanager
def playground():
    """`unmask serve` on a free port: (host:port, process)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "unmask", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None, "the playground did not start"
        yield found[0], process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


@contextlib.contextmanager
def beside(work, every):
    """Something done again and again while the block runs; its results."""
    over, found = threading.Event(), []

    def again():
        while not over.wait(every):
            found.append(work())

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def kill_a_worker(process):
    for pid in workers(process)[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def cut(host):
    """A request whose body ends in the middle, and one that ends in its first line."""
    address, port = host.split(":")
    for part in (b'POST /api/run HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"problem"', b"POST /api/r"):
        with contextlib.suppress(OSError), socket.create_connection((address, int(port)), timeout=10) as connection:
            connection.sendall(part)


def load(host, clients, seconds, questions):
    """(how often each status was had, the seconds of every answer)."""
    statuses, took, last, lock = Counter(), [], time.monotonic() + seconds, threading.Lock()

    def client():
        while time.monotonic() < last:
            with lock:
                body = json.dumps(next(questions))
            start = time.monotonic()
            status = ask(host, body)
            with lock:
                statuses[status] += 1
                if status == 200:
                    took.append(time.monotonic() - start)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses, took


def ask(host, body):
    """The status of one question; 0 where the connection broke."""
    connection = http.client.HTTPConnection(host, timeout=120)
    try:
        connection.request("POST", "/api/run", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return 0
    else:
        return response.status
    finally:
        connection.close()


def answers_again(host, patience=30):
    """Whether it answers a new question once the queue has emptied."""
    last, body = time.monotonic() + patience, json.dumps({**QUESTION, "seed": 10**6 - 1})
    while (status := ask(host, body)) != 200 and time.monotonic() < last:
        time.sleep(0.5)
    return status == 200


def workers(process):
    """The children of the server, and theirs; none where the system does not say."""
    found, ask_next = [], [process.pid]
    while ask_next:
        pid = ask_next.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text(encoding="ascii").split()]
                found += children
                ask_next += children
    return found


def memory(process):
    """Megabytes that the server and its workers hold; 0 where the system does not say."""
    pages = 0
    for pid in (process.pid, *workers(process)):
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * PAGE >> 20


def report(name, statuses, took, held):
    p99 = statistics.quantiles(took, n=100)[98] if len(took) > 1 else float("nan")
    broken = sum(statuses.values()) - statuses[200] - statuses[503]
    print(
        f"{name}: {statuses[200]} answers, {statuses[503]} refusals, {broken} broken; "
        f"half of the answers within {statistics.median(took or [float('nan')]):.2f} s, 99 % within {p99:.2f} s; "
        f"{held[0]} MB before, {max(held)} MB at most, {held[-1]} MB after",
        flush=True,
    )


def small_requests(host, count):
    """So many GETs of the page, one after the other: (statuses, seconds of each)."""
    statuses, took = Counter(), []
    for _ in range(count):
        start, connection = time.monotonic(), http.client.HTTPConnection(host, timeout=120)
        connection.request("GET", "/")
        response = connection.getresponse()
        response.read()
        connection.close()
        statuses[response.status] += 1
        took.append(time.monotonic() - start)
    return statuses, took


def left_after_a_kill():
    """Processes of a playground under load that outlive its server, which is killed with -9, by ten seconds."""
    with playground() as (host, process):
        threads = [threading.Thread(target=ask, args=(host, json.dumps({**QUESTION, "seed": i}))) for i in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        children = workers(process)
        process.kill()
        process.wait()
        for thread in threads:
            thread.join()
        last = time.monotonic() + 10
        while (alive := [pid for pid in children if _runs(pid)]) and time.monotonic() < last:
            time.sleep(0.1)
        return len(children), len(alive)


def _runs(pid):
    """Is it a process that is no corpse?"""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[0] != "Z"
        )
    except OSError:
        return False


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--clients", type=int, default=50)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--requests", type=int, default=2000)
    given = options.parse_args()
    seeds = itertools.count()
    others = ({**QUESTION, "seed": seed} for seed in seeds)
    loads = {
        "another question each time": (others, None),
        "the same question": (itertools.repeat(QUESTION), None),
        "a worker killed twice a second": (others, lambda _, process: kill_a_worker(process)),
        "requests cut in the middle": (others, lambda host, _: cut(host)),
    }
    for name, (questions, harm) in loads.items():
        with playground() as (host, process):
            ask(host, json.dumps({**QUESTION, "seed": 10**6}))  # the workers are ready
            before = memory(process)
            done = (lambda host=host, process=process, harm=harm: harm(host, process)) if harm else (lambda: None)
            with beside(lambda process=process: memory(process), 0.2) as held, beside(done, 0.5):
                statuses, took = load(host, given.clients, given.seconds, questions)
            assert answers_again(host), "it answers no more"
            report(name, statuses, took, [before, *held, memory(process)])
    with playground() as (host, process):
        before = memory(process)
        with beside(lambda: memory(process), 0.2) as held:
            statuses, took = small_requests(host, given.requests)
        report(f"{given.requests} small requests", statuses, took, [before, *held, memory(process)])
    print("killed with -9 under load: of {} processes, {} were left".format(*left_after_a_kill()))


if __name__ == "__main__":
    main()
