"""Programs and families of circuits for every N: `SystemClaim` → its obligations settled, or `Open`.

`slots` and `searches` are what a system means, `cases` and `rows` what its weights do, `ranks` why no slot waits for
ever; `recurrence` puts them together. `circuits` says what the recurrence of a family computes; `addition` proves the
one family that is no recurrence."""
