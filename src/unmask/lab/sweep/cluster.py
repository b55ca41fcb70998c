"""Where cells run: a Dask cluster of this machine, or any scheduler that answers at an address."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from unmask.errors import UnmaskError
from unmask.lab.settings.config import LabError

PATIENCE = 10  # seconds for a scheduler to answer


@contextmanager
def client_of(scheduler: str | None, workers: int, memory: int | None = None) -> Generator[Any]:
    """A client of the scheduler, or of a cluster of single-threaded processes that ends with it.

    Its workers share the memory; one that takes more than its part is ended, and its cell fails.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UnmaskError("the sweep needs Dask; install it with `pip install 'unmask[lab]'`") from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            reason = " ".join(str(error).split())[:120]
            raise LabError(
                f"no Dask scheduler answers at {scheduler} ({reason}); start one, or leave --scheduler out"
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
    part = None if memory is None else memory // workers
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=part, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
