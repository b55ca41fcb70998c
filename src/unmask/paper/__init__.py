"""The paper, item by item: what it says, where that lives here, and what was run to check it."""
