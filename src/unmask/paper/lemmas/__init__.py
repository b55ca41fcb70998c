"""Evidence for every width and every length: lemmas about gadgets, and the uniformity of compiled models.

`all_lemmas`        the list of all lemmas, and the table of a page
`lemma`             what a lemma is, how it is decided, and how gadgets of every width are read off assembled weights
`gadget_programs`   programs of one gadget, and of wrong variants
`score_lemmas`      the score of one query and one key: EQ, FOCUS, HIDE, BOOST, AT MOST
`softmax_lemmas`    a head over any number of rows: LOOKUP, VISIBLE ROWS, DETECT, EMPTY, LATEST
`mlp_lemmas`        NOR, AND, THRESH, ONEHOT, ARGMAX, SELECT, PROJECT, GATE
`integer_lemmas`    ADD, SUBTRACT, COMPARE
`uniform_models`    whether the positions and weights of compiled and converted models are uniform in N
"""
