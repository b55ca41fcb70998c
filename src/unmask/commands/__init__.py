"""What each command of `unmask` does: one file per command, parsing and printing only."""
