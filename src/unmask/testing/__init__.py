"""Random saturating models of every kind: what converters, engines and outside readers are tested on."""

from unmask.testing.random_model import random_model

__all__ = ["random_model"]
