"""`python -m unmask.checker.families CERTIFICATE [FOLDER …] [--solver COMMAND] [--questions FILE]`.

Exit code 0 checked, 1 refused, 2 error. Without a solver, --questions keeps what should be asked, as SMT-LIB.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from unmask.checker.families import solver
from unmask.checker.families.check import check
from unmask.checker.outcome import outcome, read_certificate
from unmask.errors import UnmaskError
from unmask.weights.storage import load


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m unmask.checker.families", description=__doc__)
    parser.add_argument("certificate", type=Path, metavar="CERTIFICATE.family.json")
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="folders to compare, of any N")
    parser.add_argument("--solver", metavar="COMMAND", help="reads SMT-LIB and answers; by default z3 or cvc5")
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="write the questions to FILE instead of asking a solver"
    )
    try:
        given = parser.parse_args(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return outcome(lambda: _checked(given))


def _checked(given: argparse.Namespace) -> str:
    asked = None if given.questions is not None else solver.found(given.solver)
    if asked is None and given.questions is None:
        raise UnmaskError(
            "no SMT solver was found; name one with --solver, or write the questions to a file with --questions"
        )
    document = read_certificate(given.certificate)
    sentence, checked = check(document, (load(folder) for folder in given.folders), asked)
    if given.questions is not None:
        parts = (f"; {name}\n{text}(reset)\n" for name, text in checked.questions.asked.items())
        try:
            with given.questions.open("x", encoding="utf-8") as file:  # replaces nothing
                file.write("".join(parts))
        except OSError as error:
            raise UnmaskError(f"{given.questions} cannot be written: {error.strerror}; choose another name") from None
    return sentence


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
