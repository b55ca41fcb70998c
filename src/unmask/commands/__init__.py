"""What each command of `unmask` does: one file per command, parsing and printing only.

In come the words of a shell, out go lines, a document of JSON or a folder, and an exit code; the work itself is one
call into `pipeline` or another front door, imported when the command runs. What several commands share stands beside
them: `options`, `budgeted` (--limit and --timeout), `engines`, `lines` and `many_words` (standard input),
`output_file`, `completion` and `shell`.
"""
