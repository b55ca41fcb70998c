"""Shapes and element types of arrays, for annotations: `Int[np.ndarray, "batch slots"]`.

If jaxtyping is already loaded, these are its types; the tests load it and check every annotation while the code runs.
Otherwise they are plain arrays, so that users do not need jaxtyping.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int
else:

    class _Array:
        """`Array[type, shape]` → the type alone."""

        def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
            return item[0]

    Bool = Float = Int = _Array

__all__ = ["Bool", "Float", "Int"]
