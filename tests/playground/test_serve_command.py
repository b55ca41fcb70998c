"""`unmask serve`: it listens only on the loopback interface and leaves nothing behind."""

import http.client
import json
import signal
import socket
import time
from pathlib import Path

from .client import Client, started


def test_a_port_in_use_is_an_error(unmask):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        code, _, err = unmask("serve", "--port", listener.getsockname()[1])
    assert code == 2
    assert "choose another with --port" in err


def test_without_the_extra_it_says_what_to_install(unmask, monkeypatch):
    monkeypatch.setattr("unmask.cli.view.find_spec", lambda _: None)
    code, _, err = unmask("serve")
    assert code == 2
    assert "pip install 'unmask[serve]'" in err


def test_it_works_in_a_folder_of_its_own_that_is_gone_at_the_end(tmp_path):
    with started(folder=tmp_path) as (address, process):
        assert len(list(tmp_path.iterdir())) == 1
        assert Client(address).ask("run", "(a|b)*abb", "aabb")["answer"] == "accepted"
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_killed_leaves_no_process(tmp_path):
    """Not even a busy worker survives, although the killed server can no longer stop it."""
    with started(folder=tmp_path) as (address, process):
        workers = children(process.pid)
        assert workers
        question = json.dumps({"problem": "(a|a)*b", "word": "a" * 60})
        busy = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        busy.request("POST", "/api/run", question, {"Content-Type": "application/json"})
        time.sleep(1)
        process.kill()
        process.wait(timeout=20)
        busy.close()
        for _ in range(100):
            if not any(map(running, workers)):
                break
            time.sleep(0.1)
        assert not any(map(running, workers))


def children(pid):
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def running(pid):
    """Return whether a process is running, and not only a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
