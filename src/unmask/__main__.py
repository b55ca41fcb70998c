"""`python -m unmask`."""

from unmask.cli.start import main

main()
