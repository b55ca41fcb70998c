"""Compare the definitions of the proofs with the package: random models, computed by the kernel and by the engine.

    python proofs/definitions.py

A compiled model holds little else than 0, ±1 and ±B, and would not tell a wrong rounding, another order of a sum or a
missing ReLU. Random weights do. Each model is a folder, written by the format page; the reference engine gives the
logits of every row of planner and predictor and the canvas after every step, and Rocq must compute the same from
Numbers.v, Layer.v and Diffusion.v: integer by integer, the error of a head that attends to nothing included.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from check import HERE, coqc
from safetensors.numpy import save_file

from unmask import load_model, run_word
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing

VOCABULARY = ["a", "b", "m", "0", "1"]
MASK, LENGTH, SLOTS, STEPS = 2, 2, 3, 2
ROWS = LENGTH + SLOTS
WORDS = [[0, 0], [1, 0]]
PARTS = {"planner": 2, "predictor": len(VOCABULARY)}
LAYERS, HEADS, MODELS = 2, 3, 6  # three heads, because the order of two makes no difference


@dataclass(frozen=True)
class RandomWeights:
    """Tensors of random numbers of F_p. Queries and keys are small, unless `loud`: then all exponentials may be 0."""

    rng: np.random.Generator
    precision: int
    loud: bool

    def numbers(self, *shape: int, small: bool = False) -> np.ndarray:
        largest = max(1, 2**self.precision // 8) if small else 4**self.precision - 1
        return self.rng.integers(-largest, largest + 1, size=shape, dtype=np.int32)

    def transformer(self, outputs: int) -> dict[str, np.ndarray]:
        width, keys, hidden = 3, 2, 3
        tensors = {"embed": self.numbers(len(VOCABULARY), width), "pos": self.numbers(ROWS, width)}
        tensors["out"] = self.numbers(outputs, width)
        for layer in range(LAYERS):
            for head in range(HEADS):
                where = f"layers.{layer}.heads.{head}"
                tensors[f"{where}.wq"] = self.numbers(width, keys, small=not self.loud)
                tensors[f"{where}.wk"] = self.numbers(width, keys, small=not self.loud)
                tensors[f"{where}.wv"] = self.numbers(width, width)
            where = f"layers.{layer}.mlp"
            tensors[f"{where}.w1"], tensors[f"{where}.b1"] = self.numbers(width, hidden), self.numbers(hidden)
            tensors[f"{where}.w2"], tensors[f"{where}.b2"] = self.numbers(hidden, width), self.numbers(width)
        return tensors


def write_folder(
    path: Path,
    precision: int,
    weights: dict[str, dict[str, np.ndarray]],
    *,
    attention: str = "unmasked",
    **changes: object,
) -> None:
    """A masked diffusion model, or what the changes of its config make of it."""
    part = {"attention": attention, "loop": None, "noise": None}
    config = {
        "format": "unmask-model/1",
        "reasoner": "mdm",
        "precision": precision,
        "length": LENGTH,
        "steps": STEPS,
        "padding": SLOTS,
        "block": None,
        "k": None,
        "vocabulary": VOCABULARY,
        "input_symbols": VOCABULARY[:2],
        "mask": VOCABULARY[MASK],
        "pad": None,
        "accept": "1",
        "reject": "0",
        "begin": None,
        "aliases": {},
        "characters": None,
        "transformers": {name: {"file": f"{name}.safetensors", **part} for name in weights},
        "problem": None,
        "provenance": [],
        "registers": {},
        **changes,
    }
    path.mkdir()
    for name, tensors in weights.items():
        save_file(tensors, path / f"{name}.safetensors")
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")


def listed(array: object) -> str:
    """A Rocq list of lists of integers."""
    if isinstance(array, (list, np.ndarray)):
        return f"[{'; '.join(map(listed, array))}]"
    return str(array)


def transformer(tensors: dict[str, np.ndarray]) -> str:
    """A record of Diffusion.v; weight matrices are given by their columns."""

    def columns(name: str) -> str:
        return listed(tensors[name].T)

    layers: list[str] = []
    while f"layers.{len(layers)}.mlp.w1" in tensors:
        layer = len(layers)
        heads: list[str] = []
        while (where := f"layers.{layer}.heads.{len(heads)}") and f"{where}.wq" in tensors:
            query, key, value = (columns(f"{where}.{part}") for part in ("wq", "wk", "wv"))
            heads.append(f"{{| wq := {query}; wk := {key}; wv := {value} |}}")
        where = f"layers.{layer}.mlp"
        mlp = (
            f"{{| w1 := {columns(f'{where}.w1')}; b1 := {listed(tensors[f'{where}.b1'])}; "
            f"w2 := {columns(f'{where}.w2')}; b2 := {listed(tensors[f'{where}.b2'])} |}}"
        )
        layers.append(f"{{| heads := [{'; '.join(heads)}]; feed_forward := {mlp} |}}")
    embed, pos, out = (listed(tensors[name]) for name in ("embed", "pos", "out"))
    return f"{{| embed := {embed}; positions := {pos}; layers := [{'; '.join(layers)}]; out := {out} |}}"


def equations(path: Path, name: str, precision: int) -> tuple[list[str], int]:
    """What the package computes with a folder, as equations of Rocq; and how many of them are errors."""
    model, engine = load_model(path), ReferenceEngine()
    found: list[tuple[str, object]] = []
    for word in WORDS:
        tokens = [*word, *[MASK] * SLOTS]
        for part in PARTS:
            left = f"logits {precision} exponential_{precision} ({part} {name}) {listed(tokens)}%nat"
            try:
                found.append((left, engine.session(model.transformers[part]).read(np.array([tokens]), (0, ROWS))[0]))
            except AttendsToNothing:
                found.append((left, None))
        left = f"run {precision} exponential_{precision} {name} {listed(word)}%nat"
        try:
            canvases = run_word(model, [VOCABULARY[token] for token in word], engine=engine).canvas
            found += [(f"{left} {step}", canvas) for step, canvas in enumerate(canvases, start=1)]
        except AttendsToNothing:
            found.append((f"{left} {STEPS}", None))
    sides = [(left, "None" if value is None else f"Some {listed(value)}") for left, value in found]
    errors = sum(value is None for _, value in found)
    return [f"{left} = ({right}){'%nat' if left.startswith('run') else ''}" for left, right in sides], errors


def formal(name: str, weights: dict[str, dict[str, np.ndarray]], statements: list[str]) -> str:
    """A model in Rocq, and a proof by computation of each equation."""
    proved = "\n".join(f"Goal {statement}. Proof. vm_compute. reflexivity. Qed." for statement in statements)
    return f"""Definition {name} : model := {{|
  planner := {transformer(weights["planner"])};
  predictor := {transformer(weights["predictor"])};
  mask := {MASK}; padding := {SLOTS} |}}.
{proved}
"""


HEADER = """From Coq Require Import ZArith List.
From Unmask Require Import Exponential ExponentialTables Layer Diffusion.
Import ListNotations.
Open Scope Z_scope.
"""


def compare(precision: int, scratch: Path) -> tuple[int, int]:
    """How many results agree, and how many of them are errors; exits with what Rocq says if one does not."""
    text, count, failed = HEADER, 0, 0
    for seed in range(MODELS):
        drawn = RandomWeights(np.random.default_rng([precision, seed]), precision, loud=seed % 3 == 2)
        weights = {part: drawn.transformer(outputs) for part, outputs in PARTS.items()}
        path = scratch / f"{precision}-{seed}"
        write_folder(path, precision, weights)
        statements, errors = equations(path, f"model_{seed}", precision)
        text += formal(f"model_{seed}", weights, statements)
        count, failed = count + len(statements), failed + errors
    source = HERE / "build" / f"Random_{precision}.v"
    source.parent.mkdir(exist_ok=True)
    source.write_text(text, encoding="utf-8")
    coqc(source)
    return count, failed


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for precision in range(1, 5):
            count, failed = compare(precision, Path(scratch))
            print(
                f"p = {precision}: {MODELS} random models, {count} results agree, {failed} of them errors", flush=True
            )


if __name__ == "__main__":
    main()
