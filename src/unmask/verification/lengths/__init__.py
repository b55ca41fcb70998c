"""Proofs for every length N at once: what `unmask prove --every-length` does."""
