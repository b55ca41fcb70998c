"""Is a model right? Model × what is right → Verdict (`verify.py`, the one walk); and measured resources beside their
bounds (`compare.py`).

Rooms: `question/` (what is asked, and what may be answered), `running/` (words → a verdict), `symbolic/` (weights →
tables over the letters), `proofs/` (tables → a verdict for every word), `circuits/` (models as circuits of AND, OR and
NOT). And what holds for every length: `lengths/` (problem × kind → a verdict for every N), `conversions/` (theorem → a
verdict for every source and every N). `trusted.py` lists the modules that a proof of a folder rests on.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.verification.circuits.reasoners import constant_depth_model
    from unmask.verification.lengths.obligations import close
    from unmask.verification.question.verdict import Verdict

__all__ = [
    "Verdict",
    "close",
    "constant_depth_model",
]

_MODULES = {
    "Verdict": "unmask.verification.question.verdict",
    "close": "unmask.verification.lengths.obligations",
    "constant_depth_model": "unmask.verification.circuits.reasoners",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
