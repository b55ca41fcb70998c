"""A worker: a process that answers questions one by one, and may be killed at any time.

    python -m unmask.playground.worker       {"task", "question", "seconds"} ──▶ {"answer"} or {"error"}, a line each

A worker cannot write files (no file may grow beyond 0 bytes), and holds at most `request_limits.MEMORY`. It ends with
its parent, however that ends: on Linux the kernel ensures this, elsewhere the end of standard input and an alarm.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from unmask.errors import UnmaskError
from unmask.playground import request_limits
from unmask.playground.answers import answer_planners, answer_proof, answer_run, answer_steps, answer_words
from unmask.playground.requested_problem import PlaygroundQuestion, RequestedProblem, requested_problem

TASKS: dict[str, Callable[[RequestedProblem], dict[str, Any]]] = {
    "run": answer_run,
    "steps": answer_steps,
    "planners": answer_planners,
    "prove": answer_proof,
    "words": answer_words,
}
TOO_MUCH_MEMORY = "this needs more memory than the playground may use; use a shorter word or a smaller problem"
GRACE = 5
PR_SET_PDEATHSIG = 1


def answer_question(task: str, question: Any) -> dict[str, Any]:
    """Return the answer of a task to a question, or an error message and its HTTP status."""
    try:
        return {"answer": TASKS[task](requested_problem(PlaygroundQuestion.of(question)))}
    except UnmaskError as error:
        return {"error": str(error), "status": 422}
    except RecursionError:
        return {"error": "the problem is nested too deeply; write it with fewer parentheses", "status": 422}
    except MemoryError:
        # the state of this process is no longer reliable
        return {"error": TOO_MUCH_MEMORY, "status": 422, "last": True}
    except Exception as error:
        return {"error": f"the playground failed with {type(error).__name__}; please report this", "status": 500}


def confine() -> None:
    """Drop the rights that the work does not need. On systems that cannot limit memory, only the time is limited."""
    with suppress(ImportError):
        import resource

        for resource_id, most in (
            (resource.RLIMIT_AS, request_limits.MEMORY),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
        ):
            with suppress(ValueError, OSError):
                resource.setrlimit(resource_id, (most, most))


def end_with_parent() -> None:
    """Ask the kernel to kill this process when the server dies, even by a signal that cannot be handled."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == 1:  # the server ended before this call
                os._exit(0)


def main() -> None:
    """Serve until standard input ends; output of other code is not mistaken for an answer."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    confine()
    end_with_parent()
    for line in sys.stdin:
        request = json.loads(line)
        signal.alarm(request["seconds"] + GRACE)
        document = answer_question(request["task"], request["question"])
        signal.alarm(0)
        print(json.dumps(document), file=answers, flush=True)


if __name__ == "__main__":
    main()
