"""Reference models are built once for all tests of the bench."""

import pytest


@pytest.fixture(scope="session")
def bench_cache(tmp_path_factory):
    """The folder of the cache, which is $UNMASK_CACHE while the tests run."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNMASK_CACHE", str(folder))
        yield folder
