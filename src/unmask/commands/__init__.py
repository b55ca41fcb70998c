"""The commands of `unmask`, one module each: they parse arguments, call the library, and print.

A command prints lines or a JSON document, or writes a folder, and returns an exit code. The work is a call to
`pipeline` or another package, which is imported when the command runs. Shared modules: `options`, `budgeted` (--limit
and --timeout), `engines`, `lines` and `many_words` (standard input), `output_file`, `completion` and `shell`.
"""
