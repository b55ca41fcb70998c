"""The playground under load: clients × seconds → answers, refusals, the slowest answers, memory, leftover processes.

    python benchmarks/playground_load.py --clients 50 --seconds 20

Every client asks again as soon as it has an answer or a refusal. There are five loads: a new question each time; the
same question from all clients; new questions while a worker is killed with SIGKILL twice a second; new questions while
other requests are cut in the middle; 2,000 small requests. At the end the server is killed with SIGKILL, and its
remaining processes are counted. Memory is that of the server and its workers together (resident, only on Linux):
before, at its peak, after.
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
        match = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert match is not None, "the playground did not start"
        yield match[0], process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


@contextlib.contextmanager
def repeatedly(work, every):
    """Call `work` every `every` seconds while the block runs; give the block the list of results."""
    over, results = threading.Event(), []

    def again():
        while not over.wait(every):
            results.append(work())

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield results
    finally:
        over.set()
        thread.join()


def kill_a_worker(process):
    for pid in workers(process)[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def cut(host):
    """Send a request that ends in the middle of its body, and one that ends in its first line."""
    address, port = host.split(":")
    for beginning in (b'POST /api/run HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"problem"', b"POST /api/r"):
        with contextlib.suppress(OSError), socket.create_connection((address, int(port)), timeout=10) as connection:
            connection.sendall(beginning)


def load(host, clients, seconds, questions):
    """Return (number of responses by status, seconds of every answer)."""
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
    """Return the HTTP status of one question; 0 if the connection broke."""
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
    """Return whether the server answers a new question once its queue is empty."""
    last, body = time.monotonic() + patience, json.dumps({**QUESTION, "seed": 10**6 - 1})
    while (status := ask(host, body)) != 200 and time.monotonic() < last:
        time.sleep(0.5)
    return status == 200


def workers(process):
    """Return the descendants of the server process; [] if the system does not list them."""
    descendants, ask_next = [], [process.pid]
    while ask_next:
        pid = ask_next.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text(encoding="ascii").split()]
                descendants += children
                ask_next += children
    return descendants


def memory(process):
    """Return the resident megabytes of the server and its workers; 0 if the system does not report them."""
    pages = 0
    for pid in (process.pid, *workers(process)):
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * PAGE >> 20


def report(name, statuses, took, megabytes):
    p99 = statistics.quantiles(took, n=100)[98] if len(took) > 1 else float("nan")
    broken = sum(statuses.values()) - statuses[200] - statuses[503]
    print(
        f"{name}: {statuses[200]} answers, {statuses[503]} refusals, {broken} broken; "
        f"half of the answers within {statistics.median(took or [float('nan')]):.2f} s, 99 % within {p99:.2f} s; "
        f"{megabytes[0]} MB before, {max(megabytes)} MB at most, {megabytes[-1]} MB after",
        flush=True,
    )


def small_requests(host, count):
    """Get the page `count` times, one request after the other; return (statuses, seconds of each)."""
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
    """Kill the server of a playground under load; return (its processes, those that live ten seconds later)."""
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
    """Return whether a process exists and is not a zombie."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[0] != "Z"
        )
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--requests", type=int, default=2000)
    options = parser.parse_args()
    seeds = itertools.count()
    distinct_questions = ({**QUESTION, "seed": seed} for seed in seeds)
    loads = {
        "another question each time": (distinct_questions, None),
        "the same question": (itertools.repeat(QUESTION), None),
        "a worker killed twice a second": (distinct_questions, lambda _, process: kill_a_worker(process)),
        "requests cut in the middle": (distinct_questions, lambda host, _: cut(host)),
    }
    for name, (questions, harm) in loads.items():
        with playground() as (host, process):
            ask(host, json.dumps({**QUESTION, "seed": 10**6}))  # the workers are ready
            before = memory(process)
            disturbance = (
                (lambda host=host, process=process, harm=harm: harm(host, process)) if harm else (lambda: None)
            )
            with repeatedly(lambda process=process: memory(process), 0.2) as megabytes, repeatedly(disturbance, 0.5):
                statuses, took = load(host, options.clients, options.seconds, questions)
            assert answers_again(host), "it answers no more"
            report(name, statuses, took, [before, *megabytes, memory(process)])
    with playground() as (host, process):
        before = memory(process)
        with repeatedly(lambda: memory(process), 0.2) as megabytes:
            statuses, took = small_requests(host, options.requests)
        report(f"{options.requests} small requests", statuses, took, [before, *megabytes, memory(process)])
    print("killed with -9 under load: of {} processes, {} were left".format(*left_after_a_kill()))


if __name__ == "__main__":
    main()
