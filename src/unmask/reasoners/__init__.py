"""Reasoners: model × input → the symbols that the model writes, step by step.

`loops` has one loop per framework (masked diffusion, looped, chain of thought), over any medium. A medium is the form
in which values are computed: arrays for runs (`array_medium`), tables over all words in verification/words, wires in
verification/circuits. `run_words` runs a model on words, `cached_run` with a cache of keys and values. `decoding` turns
logits into symbols, `planners` replace a model's own planner, `typed_words` reads words as users type them, and
`sampled_law` computes the exact distribution of samples.
"""
