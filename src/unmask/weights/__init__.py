"""Transformer weights: integers and shapes, and the model folder that stores them.

A Model (`model`, `kinds`) consists of Transformers (`transformer`, built from `matrices`) and the fields of its kind.
`storage` writes a model folder, and reads any folder into a Model or an error message. `config_json` and `tensors`
handle its two kinds of files, `size_limits` the largest sizes.
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
