"""Transformer weights: integers and shapes, and the folder they live in.

A Transformer (`transformer`, over `matrix`, `positions`, `registers`) in the frame of its kind is a Model (`model`,
`kinds`). `storage` turns a Model into a folder and any folder, from anywhere, into a Model or an error message, with
`config`, `tensors` and `characters` for its parts and `limits` for its sizes. `price` counts what a model takes, `card`
says it.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.weights.matrices import Matrix

__all__ = [
    "Matrix",
]

_MODULES = {
    "Matrix": "unmask.weights.matrices",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
