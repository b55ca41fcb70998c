"""Many words through one model: its weights → tables, once; then one look-up per variable for all words.

What a run computes is extracted by symbolic execution (verification/words), exactly and for any weights. So the
prover and these answers share that room, which a proof trusts; `--no-tables`, and every method of `verify`, runs the
engine instead. `compiled` turns an extraction into look-ups, `answers` takes them where there are words enough to pay
for the extraction, and the engine for the rest.
"""
