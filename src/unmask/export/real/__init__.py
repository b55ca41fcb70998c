"""Integer weights → a transformer over the reals that decides the same: scaled scores, repairs, a forward pass.

`weights` scales, `repairs` does in weights what rounding and saturation did for free in F_p, `forward` is one pass in
NumPy: tokens in, logits out, in the floats that the export will run in.
"""
