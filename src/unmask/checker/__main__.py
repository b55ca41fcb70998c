"""`python -m unmask.checker FOLDER CERTIFICATE`: exit code 0 checked, 1 refused, 2 error."""

import sys
from collections.abc import Sequence
from pathlib import Path

from unmask.checker.certificate import Refused, parsed
from unmask.checker.induction import check
from unmask.errors import UnmaskError
from unmask.escapes import visible
from unmask.files import read_file
from unmask.weights.storage import load

LARGEST_FILE = 1 << 28


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m unmask.checker FOLDER CERTIFICATE.induction.json", file=sys.stderr)
        return 2
    folder, path = (Path(argument) for argument in arguments)
    try:
        content = read_file(path, f"the certificate {path}", most=LARGEST_FILE, error=UnmaskError)
        print(visible(check(parsed(content), load(folder))))
    except Refused as refusal:
        print(visible(f"refused: {refusal}"))
        return 1
    except (OSError, UnmaskError) as error:
        print(visible(f"error: {error}"), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
