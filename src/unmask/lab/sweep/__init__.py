"""Many runs as one table: a `cell` is a config and what is measured of it, a `preset` a list of cells, `cluster` where
they run (Dask distributed), `results` what is kept of them; `sweep` joins these, and goes on where it was stopped."""
