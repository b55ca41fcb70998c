"""Evidence for every width and every length: lemmas about gadgets, and the uniformity of what compilers write.

`all_lemmas` lists the lemmas, `lemma` says what a lemma is. `score_lemmas` and `softmax_lemmas` are about heads,
`mlp_lemmas` and `carry_lemmas` about MLPs; `gadget_programs` builds the gadgets, right and wrong ones.
`uniform_models` checks the positions and weights that compilers and conversions write.
"""
