import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small matrices: threads would only wait for each other."""
    import torch

    torch.set_num_threads(1)
