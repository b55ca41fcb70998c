"""Evidence for every width and every length: lemmas about gadgets, and the uniformity of what compilers write."""
