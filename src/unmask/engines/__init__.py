"""One forward pass of one transformer: tokens → logits, or layers [a, b) of a residual stream.

Every engine gives the same integers: `reference` is the definition, equation by equation; `fast` detects from values
what it need not compute, layer by layer (`layer_state`, `head_state`) and head by head (`attention`, with `classes/`
where no code decides), and hands chains of thought to `chains/`. `engine` says what every engine offers, `footprint`
the memory that a run will take; the loops are not here but in reasoners/. `shared/` is what the fast engine and the
prover both rest on: a proof trusts it.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.engines.fast import FastEngine
    from unmask.engines.reference import ReferenceEngine

__all__ = [
    "FastEngine",
    "ReferenceEngine",
]

_MODULES = {
    "FastEngine": "unmask.engines.fast",
    "ReferenceEngine": "unmask.engines.reference",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
