"""What a proof for every N owes, and how it is settled: heads by closure (`heads`), rows by enumeration (`rows`),
positions by an SMT solver (`arithmetic`), products by a closure of `pairs`, the layout of a tree as a `queue`. A
settled obligation is a line of the `ledger`; one that is not is raised as `Open`."""
