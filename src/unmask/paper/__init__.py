"""The paper, item by item: each statement, the module that implements it, and the check that was run for it.

`all_items` lists the items. `definition_items`, `lemma_items` and `result_items` contain their statements and checks.
`checks/` contains the checks. `lemmas/` proves gadgets correct for every width, and checks that compilers write uniform
models. `findings` runs the check of an item and derives its status. It also reads and writes the record (evidence.json)
and writes docs/paper/items.md. `rocq_proofs` lists the proofs checked by Rocq.
"""
