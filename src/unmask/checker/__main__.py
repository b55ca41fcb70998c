"""`python -m unmask.checker FOLDER CERTIFICATE`: exit code 0 checked, 1 refused, 2 error."""

import sys
from collections.abc import Sequence
from pathlib import Path

from unmask.checker.certificate import read_certificate, run_checker
from unmask.checker.check_induction import check
from unmask.weights.storage import load


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m unmask.checker FOLDER CERTIFICATE.induction.json", file=sys.stderr)
        return 2
    folder, path = (Path(argument) for argument in arguments)
    return run_checker(lambda: check(read_certificate(path), load(folder)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
