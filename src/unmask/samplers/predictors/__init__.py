"""One file per kind of predictor.

A canvas goes in, logits for every slot come out (`passes/predictor.py`): of a `compiled` model through an engine, bit
for bit, or of any masked language model of `hugging_face`.
"""
