"""The folders whose bytes are frozen: case → hash of everything that `compile` or `convert` writes.

`python tests/frozen_folders.py` records them anew, into folder_hashes.json; say in the changelog why.
"""

import json
from pathlib import Path

from unmask.api import compile_problem, convert_model
from unmask.testing import random_model
from unmask.weights.storage import content_hash

HASHES = Path(__file__).with_name("folder_hashes.json")

KINDS = ("mdm", "smdm", "topk", "plt", "pcot", "cot")
CIRCUIT_KINDS = ("mdm", "smdm", "plt", "cot")
REGULAR = [
    ("(a|b)*abb", 0, 2),
    ("(a|b)*abb", 1, 2),
    ("(a|b)*abb", 7, 3),
    ("[a-c]+x?\\d{2}", 6, 2),
    ("group:S3", 5, 2),
    ("group:A5", 3, 2),
    ("(a|b)*a(a|b){3}b", 3, 2),
    ("((a|b)*a(a|b){4}b(a|b)*c)*", 4, 2),  # a monoid beyond 1,024 elements: |Q| slots per node
]
CIRCUITS = [
    ("family:parity", 5, 2),
    ("family:addition", 6, 2),
    ("family:formula", 4, 3),
    ("family:contains-aba", 5, 2),
    ("family:sorting", 4, 2),
    ("family:reachability", 9, 2),
]
EXPRESSIONS = [("expr:(a+b)*(c+d)-e", None, 2), ("expr:a*b+c in 0..4 compact", None, 3)]
CONVERSIONS = [
    ("mdm", "topk", None),
    ("mdm", "smdm", None),
    ("mdm", "plt", None),
    ("mdm", "pcot", None),
    ("mdm", "pcot", "mdm_to_pcot_padded"),
    ("plt", "mdm", None),
    ("cot", "pcot", None),
    ("pcot", "cot", None),
    ("pcot", "mdm", None),
    ("smdm", "mdm", None),
    ("topk", "mdm", None),
]


def frozen_cases():
    """(name, function that makes the model) of every frozen folder."""
    for problems, kinds in ((REGULAR, KINDS), (CIRCUITS, CIRCUIT_KINDS), (EXPRESSIONS, KINDS)):
        for problem, length, precision in problems:
            for kind in kinds:
                name = f"compile {problem} --length {length} --to {kind} --precision {precision}"
                yield (
                    name,
                    lambda p=problem, k=kind, n=length, q=precision: compile_problem(p, k, length=n, precision=q),
                )
    for source, target, by in CONVERSIONS:
        for seed in (1, 2):
            name = f"convert random:{seed} from {source} to {target} by {by}"
            yield name, lambda s=source, t=target, b=by, r=seed: converted(random_model(r, s, 2, precision=2), t, b)
        name = f"convert (a|b)*ab from {source} to {target} by {by}"
        yield name, lambda s=source, t=target, b=by: converted(compile_problem("(a|b)*ab", s, length=2), t, b)


def converted(model, target, by):
    *_, (_, conversion) = convert_model(model, target, by=by)
    return conversion.model


if __name__ == "__main__":
    hashes = {name: content_hash(make()) for name, make in frozen_cases()}
    HASHES.write_text(json.dumps(hashes, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(hashes)} folders")
