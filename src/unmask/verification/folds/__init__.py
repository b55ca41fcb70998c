"""Gadgets as assembled weights → a lemma for every width: decided, not sampled.

A sum of F_p adds from left to right and clips after every term, so it is a fold over a finite set. What a gadget does
with any number of columns, units or rows is therefore a question about the states that a finite automaton can reach.
`closure` answers such questions and knows nothing of gadgets; `emitted` asks the compiler's own gadgets for weights of
any width; `assembled` reads the letters off these weights; `scores`, `softmax`, `gates`, `columns`, `selection` and
`carries` state what is to be shown; `lemma` is one statement with its wrong variants, `lemmas` lists them all, `page`
writes them down.
"""
