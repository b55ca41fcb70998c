"""Compare the conversion of the proofs with the package's: random chains of thought, converted by both.

    python proofs/conversions.py

Each source is a folder with random weights, as in definitions.py; `cot_to_pcot` of the package converts it. Rocq must
compute the same weights from the source, and source and target must generate what the reference engine generates:
symbol by symbol, the error of a head that attends to nothing included.
"""

import tempfile
from pathlib import Path

import numpy as np
from check import HERE, coqc
from definitions import HEADER, VOCABULARY, WORDS, RandomWeights, listed, transformer, write_folder
from shipped import Folder

from unmask import load_model, run_word, save_model
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.theorems.cot_and_pcot import cot_to_pcot
from unmask.weights.model import Model

MODELS, WIDTH, BEGIN = 6, 3, 2
MASK = len(VOCABULARY)  # the mask of the target is its last symbol


def write_chain(path: Path, precision: int, weights: dict[str, np.ndarray], *, begins: bool) -> None:
    """A chain of thought of five rows: two letters and three steps, or a begin symbol, two letters and two steps."""
    steps = 2 if begins else 3
    begin = VOCABULARY[BEGIN] if begins else None
    changes = {"reasoner": "cot", "steps": steps, "padding": steps, "mask": None, "begin": begin}
    write_folder(path, precision, {"model": weights}, attention="causal", **changes)


def generated(model: Model, name: str, masks: list[int]) -> tuple[list[str], int]:
    """What the package generates, as equations of Rocq; and how many of them are errors."""
    found, errors, p = [], 0, model.precision.p
    begin = [] if model.begin is None else [BEGIN]
    for word in WORDS:
        left = f"run_chain {p} exponential_{p} {name} {listed(masks)} {listed([*begin, *word])}"
        try:
            canvases = run_word(model, [VOCABULARY[token] for token in word], engine=ReferenceEngine()).canvas
            found += [f"({left} {t} = Some {listed(canvas)})%nat" for t, canvas in enumerate(canvases, start=1)]
        except AttendsToNothing:
            found.append(f"({left} {model.steps} = None)%nat")
            errors += 1
    return found, errors


def statements(source: Path, target: Path, number: int) -> tuple[str, int, int]:
    """The Rocq text of one source and its target; how many equations it proves, and how many of them are errors."""
    model = load_model(source)
    given = f"source_{number}"
    found, failed = generated(model, given, [])
    converted = cot_to_pcot(model).model
    save_model(converted, target)
    more, errors = generated(converted, f"target_{number}", [MASK])
    weights = f"cot_to_pcot {model.precision.p} {WIDTH} {given} = target_{number}"
    text = "".join(
        f"Definition {name}_{number} : transformer := {transformer(Folder.read(path).tensors['model'])}.\n"
        for name, path in (("source", source), ("target", target))
    )
    proved = [weights, *found, *more]
    text += "".join(f"Goal {statement}. Proof. vm_compute. reflexivity. Qed.\n" for statement in proved)
    return text, len(proved), failed + errors


def compare(precision: int, scratch: Path) -> tuple[int, int]:
    """How many equations hold, and how many of them are errors; exits with what Rocq says if one does not."""
    text, count, failed = HEADER + "From Unmask Require Import Chain CotToPcot.\n", 0, 0
    for seed in range(MODELS):
        drawn = RandomWeights(np.random.default_rng([precision, seed]), precision, loud=seed % 3 == 2)
        source = scratch / f"{precision}-{seed}"
        write_chain(source, precision, drawn.transformer(len(VOCABULARY)), begins=seed % 2 == 1)
        more, equations, errors = statements(source, scratch / f"{precision}-{seed}-target", seed)
        text, count, failed = text + more, count + equations, failed + errors
    path = HERE / "build" / f"Conversion_{precision}.v"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    coqc(path)
    return count, failed


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for precision in range(1, 5):
            count, failed = compare(precision, Path(scratch))
            print(
                f"p = {precision}: {MODELS} random chains of thought converted, {count} results agree, "
                f"{failed} of them errors",
                flush=True,
            )


if __name__ == "__main__":
    main()
