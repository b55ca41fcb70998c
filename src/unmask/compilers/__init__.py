"""Problem → Model: one compiler per kind of problem.

`compiler` chooses the compiler: `regular_compiler`, `circuit_compiler`, `expression_compiler` or `system_compiler`
(programs, grammars, circuit families). A compiler returns the programs of a kind of model, and its numbers of steps and
slots. `model_families` turns these into a `Model`. If there is one program for every N, it is a `ModelFamily`, and a
compiled model is its instance at N. `sampling_models` compiles `coins:PROBLEM`.
"""
