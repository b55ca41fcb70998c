"""What a pass of a sampler is made of: canvas, beliefs, chance, and the loop.

A `predictor` and a sampler go in, a finished canvas with its passes comes out of `sample`. In between a sampler sees a
`state`, the predictor's `beliefs`, a quota of `schedules` or `blocks`, and all its randomness through `chance`.
"""
