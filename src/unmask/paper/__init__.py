"""The paper, item by item: what it says, which module implements it, and the check that was run for it.

`all_items` lists the items; `definition_items`, `lemma_items` and `result_items` hold them, each with its statement and
its check. `checks/` runs the checks. `lemmas/` proves gadgets right for every width, and checks that compilers write
uniform models. `findings` makes a status from an item and its check, reads and writes the record (evidence.json) and
writes docs/paper/items.md. `rocq_proofs` lists what Rocq has checked.
"""
