"""How much work something is, in calls of functions: the same number on every machine, however busy it is."""

import sys


def calls(work):
    """The number of functions, of Python and of C, that `work()` calls; what it raises is raised here, too."""
    counted = 0

    def count(_, event, __):
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def refused(kind, work):
    """(the error that `work()` must raise, the calls until then)."""
    caught = []

    def guarded():
        try:
            work()
        except kind as error:
            caught.append(error)

    counted = calls(guarded)
    assert caught, f"nothing of {kind} was raised"
    return caught[0], counted
