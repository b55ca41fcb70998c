"""One forward pass of one transformer: tokens → logits, or layers [a, b) of a residual stream.

All engines compute the same integers. `reference` is the definition, equation by equation. `fast` skips what it can
prove unnecessary from the current values; it uses `prepared_weights`, `head_attention`, `visible_keys` (which keys a
query can see) and `class_attention` (equal queries and keys computed once), and `chain_kernel` for chains of thought.
`engine` is the interface, `footprint` the memory that a run takes. The loops over steps are in reasoners/.

The prover uses `visible_keys` and `prepared_weights`, too, so a proof trusts them.
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
