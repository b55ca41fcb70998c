"""Is a model correct? Model × reference → Verdict (`verify`, `verdict`); resources and their bounds (`resources`).

`words/` decides about one model and every word of its length, `lengths/` about a problem, a kind and every N,
`conversions/` about a theorem, every source and every N. `circuits/` writes models as circuits of AND, OR and NOT.
They share one `transformer_layer` over a domain of numbers, and one `word_encoding` of letters as bits.
`model_outcomes` runs words; `answer_tables` answers many words by tables that are extracted from the weights.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.verification.circuits.constant_depth import constant_depth_model
    from unmask.verification.lengths.obligations import reachable_closure as close
    from unmask.verification.verdict import Verdict

__all__ = [
    "Verdict",
    "close",
    "constant_depth_model",
]

_MODULES = {
    "Verdict": "unmask.verification.verdict",
    "close": "unmask.verification.lengths.obligations:reachable_closure",
    "constant_depth_model": "unmask.verification.circuits.constant_depth",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
