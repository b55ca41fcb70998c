"""Depth and gates of extracted circuits against N; writes the tables and plots of docs/how-to/extract-a-circuit.md."""

from itertools import product
from pathlib import Path

import numpy as np
from pages import table, write_page

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.paper.checks.circuit_checks import circuit_model
from unmask.problems.circuit_problems import FamilyProblem
from unmask.reasoners.decoding import decode
from unmask.samplers.line_plot import Point, Series, axis_from_zero, plot
from unmask.testing.random_transformer import random_diffusion, random_transformer
from unmask.verification.circuits.constant_depth import (
    constant_depth_circuit,
    constant_depth_model,
    model_depth,
    pass_depth,
    token_bits,
)
from unmask.verification.circuits.one_hot import chain_sum

DOCS = Path(__file__).parents[1] / "docs"
SEED, SYMBOLS = 7, 3
ROWS = (2, 3, 4, 6, 8, 10, 14, 20, 28, 36)
EVERY_WORD, SOME_WORDS = 6561, 100
LENGTHS = {"contains-aba": (4, 6, 8, 10, 12, 16, 20), "formula": (2, 4, 8, 16), "parity": (2, 4, 8)}
STEPS = (2, 3, 4, 5, 6)


def one_pass():
    """Yield (N, depth, gates, depth of the chain, inputs, wrong) for random weights, p = 1, and each number of rows."""
    for rows in ROWS:
        transformer = random_transformer(SEED, rows, symbols=SYMBOLS)
        circuit = constant_depth_circuit(transformer)
        chain = constant_depth_circuit(transformer, total=chain_sum)
        words = (
            np.array(list(product(range(SYMBOLS), repeat=rows)))
            if SYMBOLS**rows <= EVERY_WORD
            else np.random.default_rng(rows).integers(0, SYMBOLS, (SOME_WORDS, rows))
        )
        yield rows, circuit.depth, len(circuit.gates), chain.depth, len(words), wrong(circuit, transformer, words)


def wrong(circuit, transformer, words):
    """Return the number of words on which the circuit differs from the reference engine."""
    outputs = circuit.evaluate(token_bits(words, range(SYMBOLS)))
    count = 0
    for word, (undefined, *bits) in zip(words, outputs, strict=True):
        try:
            logits = ReferenceEngine().session(transformer).read(word[None], (0, len(word)))
            symbols = decode(logits, transformer.precision)[0]
            count += bool(undefined) or not np.array_equal(np.reshape(bits, (len(word), -1)), np.eye(SYMBOLS)[symbols])
        except AttendsToNothing:
            count += not undefined
    return count


def families():
    """Yield (family, N, T, depth, bound, gates, words, wrong) for compiled circuits, extracted again."""
    for family, lengths in LENGTHS.items():
        problem = FamilyProblem(family)
        for length in lengths:
            model = circuit_model(family, "mdm", length, precision=1)
            circuit = constant_depth_model(model)
            bits = np.array(list(product((0, 1), repeat=length)) if length <= 8 else _some(length), dtype=bool)
            expected = [problem.outcome([problem.letters[int(b)] for b in row]).accepted for row in bits]
            outputs = circuit.evaluate(bits)
            differ = sum(
                list(row) != [False, not answer, answer] for row, answer in zip(outputs, expected, strict=True)
            )
            yield family, length, model.steps, circuit.depth, model_depth(model), len(circuit.gates), len(bits), differ


def _some(length):
    return np.random.default_rng(length).integers(0, 2, (SOME_WORDS, length)).tolist()


def write_plot(passes):
    """Write depth against the number of rows: of the cascade, and of the chain of additions."""
    cascade = Series("cascade", tuple(Point(rows, depth) for rows, depth, *_ in passes))
    additions = Series("additions", tuple(Point(rows, depth) for rows, _, _, depth, *_ in passes))
    across = axis_from_zero("rows N", ROWS, whole=True)
    up = axis_from_zero("AND/OR depth", [point.y for point in (*cascade.points, *additions.points)], whole=True)
    picture = plot("AND/OR depth of one layer over F_1", across, up, [cascade, additions], size=(460, 280))
    (DOCS / "reference" / "performance" / "depth.svg").write_text(picture, encoding="utf-8")


def main():
    """Measure, and write."""
    passes, compiled = list(one_pass()), list(families())
    steps = [(T, constant_depth_model(random_diffusion(23, 2, steps=T)).depth) for T in STEPS]
    bound = 2 + pass_depth(random_transformer(SEED, 1).precision, 1)
    heads = {
        "pass": ("N", "depth", "gates", "depth of the chain of additions", "inputs tried", "wrong"),
        "families": ("family", "N", "T", "depth", "bound", "gates", "words tried", "wrong"),
        "steps": ("T", "depth"),
    }
    tables = {"pass": passes, "families": compiled, "steps": steps}
    bounded = ["", f"The formula bounds the depth by {bound} at every N and every width."]
    write_page(
        DOCS / "how-to" / "extract-a-circuit.md",
        {k: table(heads[k], rows) + (bounded if k == "pass" else []) for k, rows in tables.items()},
    )
    write_plot(passes)
    for rows in tables.values():
        print("\n".join(str(row) for row in rows))


if __name__ == "__main__":
    main()
