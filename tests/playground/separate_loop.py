"""Coroutine → its result, in a separate thread: the browser of other tests has a running loop in this one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def run_in_separate_loop(work):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
