"""The paper, item by item: what it says, where that lives here, and what was run to check it.

`items/` are the statements, `checks/` what is run for them. An item and an effort go in, a `finding` comes out: a
status with its evidence. `report` runs all of them or reads the last record (evidence.json), `page` writes
docs/paper/items.md, `show` prints for `unmask paper`.
"""
