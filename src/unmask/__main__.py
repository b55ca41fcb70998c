"""`python -m unmask`."""

from unmask.start import main

main()
