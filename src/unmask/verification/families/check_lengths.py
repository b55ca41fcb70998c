"""Problem × kind × lengths: is the folder that `compile` writes the family's, entry by entry?"""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from unmask.numerics.precision import Precision
from unmask.programs.compilers.compiler import Compiler
from unmask.programs.compilers.family import Family
from unmask.verification.families.bridge import compare
from unmask.verification.families.obligations.ledger import Ledger, Open
from unmask.weights.storage import load, save


def check_lengths(
    compiler: Compiler, family: Family, precision: Precision, lengths: Iterable[int], ledger: Ledger
) -> None:
    """One obligation for every length from the family's least on: written, read again, and compared."""
    for length in lengths:
        if length < family.least:
            continue  # these folders are not the family's; each is proved by itself

        def show(length: int = length) -> str:
            with TemporaryDirectory(prefix="unmask-") as scratch:
                folder = Path(scratch) / "model"
                save(compiler.compile(family.kind, length, precision), folder)
                model = load(folder)
            if model.length != length or model.precision != precision:
                raise Open("the folder has another length or precision", (length,))
            return f"{compare(family, model):,} entries"

        ledger.settle(f"N = {length}: the folder is the family's", "comparison", show)
