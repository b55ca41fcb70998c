"""Arrays → what a page can hold: small integers, differences along the first axis, deflate, base64.

    packed(a) = {"type": "int8", "shape": [T, …], "data": base64(deflate(a[0], a[1] - a[0], …))}

Consecutive steps of a run are nearly equal, so their differences are nearly all 0. Differences wrap around, so that
they fit into the type of the array.
"""

import base64
import zlib
from typing import Any

import numpy as np

TYPES = (np.int8, np.int16, np.int32)


def packed(array: np.ndarray) -> dict[str, Any]:
    """An array of integers, in the smallest type of ours that holds all of them."""
    largest = int(np.abs(array).max(initial=0))
    kind = next(t for t in TYPES if largest <= np.iinfo(t).max)
    little = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
    difference = little.copy()
    difference[1:] -= little[:-1]
    data = base64.b64encode(zlib.compress(difference.tobytes(), 9)).decode("ascii")
    return {"type": np.dtype(kind).name, "shape": list(array.shape), "data": data}


def unpacked(document: dict[str, Any]) -> np.ndarray:
    """The inverse, as the page computes it."""
    raw = zlib.decompress(base64.b64decode(document["data"]))
    kind = np.dtype(document["type"])
    difference = np.frombuffer(raw, dtype=kind.newbyteorder("<")).reshape(document["shape"])
    return np.cumsum(difference, axis=0, dtype=kind)
