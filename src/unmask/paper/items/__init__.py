"""Every labelled item of the paper: its statement, its construction, its bound, and the check behind its status.

An `item` is data. `definitions`, `lemmas`, `results` and `summaries` follow the paper, `own` goes beyond it, `rocq`
names what a kernel has checked besides, and `all_items` puts them in order and finds one by its label.
"""
