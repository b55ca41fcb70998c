"""Proofs for every length N at once: what `unmask prove PROBLEM` does.

`prove_lengths` is the entry point. A proof is a list of obligations (`obligations`). Each is settled by a closure over
finitely many states, by an SMT solver, or by comparison.

| module                              | content                                                               |
|-------------------------------------|-----------------------------------------------------------------------|
| `regular_trees`, `regular_loops`    | regular languages: mdm, smdm, topk, pcot; plt and cot                 |
| `system_proof`                      | systems of recurrences: mdm, smdm, topk                               |
| `system_slots`, `system_rows`       | slots and rows of a system, with N unknown                            |
| `circuit_recurrences`               | circuit families that are compiled as recurrences                     |
| `addition_proof`                    | addition in one step                                                  |
| `head_reads`                        | which row a head reads, for every N                                   |
| `row_tables`                        | what a row computes from what its heads read                          |
| `letter_coverage`                   | which letters the node of a tree covers                               |
| `expected_weights`, `compiled_lengths` | comparison of the family with what `compile` writes at some lengths |
| `family_certificate`                | the certificate for `python -m unmask.checker.families`               |
"""
