"""The four ways to reason: model × input → what is written, step by step.

One loop per framework (`masked_diffusion`, `looped`, `chain_of_thought`), over whatever `medium` the values live in:
arrays when words are run (`arrays`, and `run` around it), tables over all words in verification/words, wires in
verification/circuits. Around the loops: how logits become symbols (`decoding`), the noise of a seed (`tape`), planners
that replace a model's own (`planners`), and words as people type them (`words`). In come a model and token ids, out go
traces.
"""
