"""Transformer weights: integers and shapes, and the folder they live in."""
