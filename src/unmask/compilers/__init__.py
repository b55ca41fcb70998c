"""Problem → Model: one compiler per kind of problem.

`compiler` chooses the compiler: `regular_compiler`, `circuit_compiler`, `expression_compiler` or `system_compiler`
(programs, grammars, circuit families). A compiler says which programs a kind of model consists of, and how many steps
and slots it has. `model_families` turns these into a `Model`; where there is one program for every N, it is a
`ModelFamily`, and a compiled model is its instance at N. `sampling_models` compiles `coins:PROBLEM`.
"""
