"""A trained network, run and judged as a compiled model is: by the loops of `reasoners/` (`trained`, `medium`), and by
the samplers of `samplers/` (`predictor`, `planners`)."""
