"""Freed tensors stay with the process: the C library would return them and ask for the same pages in every batch.

On Linux that took 40 % of the CPU time of a run. No number of a run depends on it; another C library is left alone.
"""

import ctypes

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # of <malloc.h>
LARGEST_INT = 2**31 - 1
LARGEST_THRESHOLD = 1 << 25  # what the C library takes at the most
PAD = 1 << 26


def keep_freed_memory() -> None:
    """Tensors of up to 32 MiB come from a heap that is not trimmed and grows 64 MiB at a time."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):
        return
    for setting, value in ((M_MMAP_THRESHOLD, LARGEST_THRESHOLD), (M_TRIM_THRESHOLD, LARGEST_INT), (M_TOP_PAD, PAD)):
        mallopt(ctypes.c_int(setting), ctypes.c_int(value))
