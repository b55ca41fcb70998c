"""The check of def:uniform-transformers: positions of every compiler and conversion, weights where N is a variable."""

from collections import Counter

from unmask.paper.checks.evidence import Effort, Evidence
from unmask.verification.uniformity import walk


def uniformity(_: Effort) -> Evidence:
    """What each of them declares and writes, at several N; raises where that is not what is claimed of it."""
    subjects = walk.check()
    statuses = Counter(subject.growth.status for subject in subjects)
    entries = [subject.entries for subject in subjects if subject.entries is not None]
    return Evidence(
        f"every compiler and every conversion at several N: the positions of {statuses['uniform']} are formulas on "
        f"numbers of O(log N) bits, those of {statuses['relative']} are such formulas over their source's positions, "
        f"{statuses['given as a table']} list a circuit, an expression or a program and cannot be claimed uniform; the "
        f"weights of {len(entries)} are those of one program for every N ({sum(entries):,} entries compared), those of "
        "the others are not looked at",
        len(subjects),
    )
