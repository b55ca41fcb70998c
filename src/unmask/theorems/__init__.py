"""Weights to weights: one file per theorem that relates two frameworks."""
