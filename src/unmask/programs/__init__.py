"""Programs over named registers: gadgets, positional expressions, and their assembly into weights."""
