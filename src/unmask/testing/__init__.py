"""Shared by checks and tests: random saturating models of every kind, and gadgets run as assembled weights.

`random_transformer` and `random_model` make transformers and models with extreme weights from a seed, using
`draws`. `gadget_runs` assembles a single gadget and runs it on given rows.
"""

from unmask.testing.random_model import random_model

__all__ = ["random_model"]
