"""Coroutine → what it gives, in a thread of its own: a browser that other tests have opened keeps a loop here."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def in_own_loop(work):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
