"""The yardstick: one dense float32 pass of a small transformer in torch, if torch is installed."""

import time
from importlib.util import find_spec

ROWS, WIDTH, HEADS, HEAD_WIDTH, HIDDEN, LAYERS = 4096, 256, 2, 64, 512, 2


def dense_pass_seconds() -> float | None:
    """CPU seconds on one core, the best of five passes over 4,096 rows."""
    if find_spec("torch") is None:
        return None
    import torch

    torch.manual_seed(0)

    def weight(*shape: int):
        return torch.randn(*shape) / shape[0] ** 0.5

    layers = [
        (
            [[weight(WIDTH, HEAD_WIDTH) for _ in range(3)] + [weight(HEAD_WIDTH, WIDTH)] for _ in range(HEADS)],
            weight(WIDTH, HIDDEN),
            weight(HIDDEN, WIDTH),
        )
        for _ in range(LAYERS)
    ]
    start_from = torch.randn(ROWS, WIDTH)

    def forward():
        x = start_from
        for heads, w1, w2 in layers:
            attended = x
            for q, k, v, o in heads:
                weights = torch.softmax((x @ q) @ (x @ k).T / HEAD_WIDTH**0.5, dim=-1)
                attended = attended + weights @ (x @ v) @ o
            x = attended + torch.relu(attended @ w1) @ w2
        return x

    seconds = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        for _ in range(6):
            start = time.process_time()
            forward()
            seconds.append(time.process_time() - start)
    torch.set_num_threads(threads)
    return min(seconds[1:])
