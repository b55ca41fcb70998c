"""What is asked about a model, and what may be answered.

Problem or Model ──▶ Standard (what is right, about which words) ──▶ Question ──▶ Verdict: proved, held, refuted,
unknown. Running words and proving are two ways to answer, each in a room of its own, which this one knows nothing of.
"""
