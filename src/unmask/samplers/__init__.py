"""The field's samplers, under the field's names, over any predictor; floats are allowed here.

Predictor × Sampler × canvas ──passes/──▶ Sample
PROBLEM × N ──exam/──▶ right answers, orders, first wrong writes, least passes
law:FILE × N ──laws/──▶ the exact law of a sampler, KL and total variation

`rules/` holds the samplers and `zoo` finds them by name, `predictors/` are what they sample from, `report/` shows what
was measured.
"""
