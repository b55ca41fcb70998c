"""Where cells run: a Dask cluster of this machine, or any scheduler that answers at an address."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from unmask.errors import UnmaskError
from unmask.lab.settings.config import LabError

PATIENCE = 10  # seconds for a scheduler to answer
PART = 700 << 20  # bytes that a worker has at the least: torch and a cell of the presets take about two thirds of it


@contextmanager
def client_of(scheduler: str | None, workers: int, memory: int | None = None) -> Generator[Any]:
    """A client of the scheduler, or of a cluster of single-threaded processes that ends with it.

    Its workers share the memory, and are no more than it has parts for; one that takes more than its part is ended, and
    its cell fails.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise UnmaskError("the sweep needs Dask; install it with `pip install 'unmask[lab]'`") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is wrong is said once, in a sentence
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            reason = " ".join(str(error).split())[:120]
            raise LabError(
                f"no Dask scheduler answers at {scheduler} ({reason}); start one, or leave out --scheduler"
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise LabError(
                    f"the Dask scheduler at {scheduler} has no workers; start `dask worker {scheduler}`"
                ) from None
            yield client
        return
    workers = workers if memory is None else workers_within(workers, memory)
    part = None if memory is None else memory // workers
    with (
        dask.config.set({"distributed.worker.memory.pause": False}),  # a worker that pauses would wait for ever
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=part, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def workers_within(workers: int, memory: int) -> int:
    """As many of the workers as the memory has parts for."""
    if memory < PART:
        raise LabError(
            f"a worker of the sweep needs {PART >> 20} MB, but the limit is {memory >> 20} MB; raise it with --limit"
        )
    return min(workers, memory // PART)
