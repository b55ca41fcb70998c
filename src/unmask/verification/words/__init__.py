"""One model, every word of its length: Model × reference → proved, refuted by a word, or unknown.

| module                | content, in the order in which a proof uses it                             |
|-----------------------|----------------------------------------------------------------------------|
| `references`          | what a model is compared with: a problem or a model; running words         |
| `function_reference`  | a Python function as a reference                                           |
| `equivalence`         | the entry point of proofs                                                  |
| `extraction`          | weights → network of finite variables, by execution over all words at once |
| `symbolic_layers`     | one layer over symbolic rows                                               |
| `symbolic_heads`      | one head over symbolic rows                                                |
| `network`             | the variables                                                              |
| `induction`           | network compared with an automaton, with a certificate for the checker     |
| `statewise_induction` | the same, state by state                                                   |
| `deciders`            | model and specification as gates                                           |
| `sat_sweeping`        | equality of gates by SAT, with a DRAT certificate                          |
"""
