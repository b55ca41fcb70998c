"""The check of def:uniform-transformers: the static check over every compiler and every conversion."""

from collections import Counter

from unmask.paper.checks.evidence import Effort, Evidence
from unmask.verification.uniformity import walk


def uniformity(_: Effort) -> Evidence:
    """What each of them declares about positions, at several N; raises where that is not what is claimed of it."""
    subjects = walk.check()
    statuses = Counter(subject.growth.status for subject in subjects)
    return Evidence(
        f"every compiler and every conversion at several N, positions alone: {statuses['uniform']} are formulas on "
        f"numbers of O(log N) bits, {statuses['relative']} are such formulas over their source's positions, "
        f"{statuses['given as a table']} list a circuit, an expression or a program and cannot be claimed uniform",
        len(subjects),
    )
