"""Check a converter on random saturating models: `unmask.verification.conversions`, by its old name."""

from unmask.verification.conversions import Disagreement, check_source, check_theorem

__all__ = ["Disagreement", "check_source", "check_theorem"]
