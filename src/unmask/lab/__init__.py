"""The lab: what is learned. The same tasks and frameworks as compiled models, trained (extra `lab`); floats, a leaf.

    Problem ──tasks/──▶ exact canvases ──training/──▶ a network ──evaluation/──▶ accuracy, passes
                                                           └── inside/ ──▶ what it attends to
    sweep/: many such runs as cells of a table, on Dask        report/: results.json ──▶ Markdown, SVG

`settings/` is what a run depends on. `tasks/` knows no torch: it says what every row holds after every step, from the
problem's algebra or from a program. `network/` is one readable transformer. A trained model is run by the loops of
`reasoners/` and the samplers of `samplers/`, as a compiled one is.
"""
