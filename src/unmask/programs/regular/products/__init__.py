"""One slot per node of the tree: the element of the transition monoid that its factor of the word has.

`elements` and `symbols` say what a slot can hold, `coding` how it stands in the residual stream, `composition` and
`node` multiply; `diffusion`, `looped` and `parallel` put it into the three frameworks.
"""
