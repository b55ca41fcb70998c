"""Proofs for every N at once, about families of models: what `unmask prove --every-length` does.

`prove` is the walk, `claim` what is claimed, `ledger` the list of obligations. Heads are decided by closure (`heads`),
rows by enumeration (`rows`, `node`), positions by an SMT solver (`arithmetic`), products by a closure of pairs
(`pairs`). `queue` and `halves` are the layouts; `diffusion`, `looped`, `parallel` and `chain` put it together, one kind
of model each. `bridge` ties a family to folders, entry by entry; `report` is the page.
"""
