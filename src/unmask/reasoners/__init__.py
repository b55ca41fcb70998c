"""The four ways to reason, as loops around a forward pass; each yields what is written, step by step."""
