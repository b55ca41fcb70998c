"""Problem → Program → Transformer: what a transformer does, over named registers, before numbers are chosen.

`language/` is what programs are written in, `gadgets/` what one head or one MLP can do, `planners/` the programs that
choose which slots to write. Each kind of problem has a room of programs (`regular/`, `circuits/`, `expressions/`,
`reachability/`, `addition/`): a description of the problem and a vocabulary come in, a `Program` goes out.
`recurrences/` does the same for any system of recurrences: a user's program, a grammar, and circuits, whose looped
model is made there, too.
`compilers/` puts programs into models. `simulation/` runs a given transformer inside a larger program, for theorems.
"""
