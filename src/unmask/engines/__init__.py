"""One forward pass: `reference` is the definition."""
