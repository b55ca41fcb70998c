"""Regular languages for every N: `Claim` → its obligations settled, or `Open`.

`diffusion`, `looped`, `parallel` and `chain` prove one kind of model each; `node` is a row that multiplies, `halves` a
layout; `certificate` and `witness` write down what `unmask.checker.families` replays."""
