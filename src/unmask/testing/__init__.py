"""What checks and tests share: random saturating models of every kind, and gadgets run as assembled weights.

In comes a seed; out go transformers and models with extreme weights (`random_transformer`, `random_model`, made of
`draws` and `saturating_weights`). `gadget_runs` assembles a single gadget and runs it on given rows.
"""

from unmask.testing.random_model import random_model

__all__ = ["random_model"]
