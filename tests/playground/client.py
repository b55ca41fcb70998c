"""Requests as any program can send them, with only the standard library."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from urllib.parse import urlsplit

JSON = {"Content-Type": "application/json"}


@contextlib.contextmanager
def started(*, folder=None):
    """Start `unmask serve` on a free port; yield (address, process), and interrupt it at the end."""
    environment = {**os.environ, **({"TMPDIR": str(folder)} if folder else {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "unmask", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        yield re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0], process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


class Client:
    def __init__(self, address):
        self.address = address
        self.host = urlsplit(address).netloc

    def send(self, method, path, body=None, headers=None, *, timeout=60):
        """Return (status, headers, body) of one request; the given headers replace the usual ones."""
        connection = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def post(self, task, question, **headers):
        """Return (status, document); a string is sent as it is."""
        body = question if isinstance(question, str | bytes) else json.dumps(question)
        sent = {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
        status, received, answer = self.send("POST", f"/api/{task}", body, sent)
        assert received["Content-Type"] == "application/json"
        return status, json.loads(answer)

    def ask(self, task, problem, word, **options):
        """Return the answer to a question that has one."""
        status, answer = self.post(task, {"problem": problem, "word": word, **options})
        assert status == 200, answer
        return answer

    def refusal(self, task, question, expected, **headers):
        """Return the error message of a request that is refused with this status."""
        status, answer = self.post(task, question, **headers)
        assert (status, set(answer)) == (expected, {"error"}), answer
        assert "Traceback" not in answer["error"]
        assert "\n" not in answer["error"]
        return answer["error"]
