"""The field's samplers, under the field's names, over any predictor; floats are allowed here.

Predictor × Sampler × canvas ──sample──▶ Sample        sample.py
PROBLEM × N ──exam/──▶ right answers, orders, first wrong writes, least passes
law:FILE × N ──laws/──▶ the exact law of a sampler, KL and total variation
"""
