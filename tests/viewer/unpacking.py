"""Arrays of a page, decoded as its JavaScript does."""

import base64
import zlib
from typing import Any

import numpy as np


def unpacked(document: dict[str, Any]) -> np.ndarray:
    """Decode an array, as the page does."""
    raw = zlib.decompress(base64.b64decode(document["data"]))
    kind = np.dtype(document["type"])
    difference = np.frombuffer(raw, dtype=kind.newbyteorder("<")).reshape(document["shape"])
    return np.cumsum(difference, axis=0, dtype=kind)
