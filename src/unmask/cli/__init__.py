"""The command line: one module per command or group of related commands, and what they share.

`main` is what the shell command `unmask` calls; it is defined in `start`. `commands` lists the commands, and the module
of a command has its name: `compile`, `run`, `verify_and_compare`, `prove`, `export`, `view`, `samplers`, `bench`,
`lab`, `paper`, `doctor`. `options` has what commands share, `terminal` the output, `output_files` the files they write.
`show_run`, `show_verdict` and `show_comparison` print results as the commands do.
"""

from unmask.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "console": "unmask.cli.terminal",
        "main": "unmask.cli.start",
        "show_comparison": "unmask.cli.verify_and_compare",
        "show_run": "unmask.cli.run",
        "show_verdict": "unmask.cli.verify_and_compare",
    },
)
