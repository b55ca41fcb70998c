"""Checks of the paper's lemmas about gadgets: assembled weights, on all cases if they are few, otherwise on many."""

from itertools import product

import numpy as np

from unmask.engines.engine import forward
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.paper.checks.evidence import Check, Effort, Evidence, ItemProof, require
from unmask.paper.lemmas.all_lemmas import CITED, cited_lemmas
from unmask.paper.lemmas.lemma import LemmaEvidence
from unmask.programs import planner_programs
from unmask.programs.assembly import assemble
from unmask.programs.gadgets import integers, mlp, whole_layers
from unmask.programs.gadgets.attention import boost, focus, focus_copies, hide, match
from unmask.programs.program import HeadBuilder
from unmask.programs.simulation import Simulation
from unmask.testing.draws import Draws
from unmask.testing.gadget_runs import bits, blank, run_gadget, run_gadget_words, vectors
from unmask.theorems.conversion_checks import random_saturating_transformer

PRECISIONS = tuple(Precision(p) for p in (1, 2, 3, 4))


def restricted_layer(gadget: str) -> Check:
    """Return the check that a random layer with HIDE or FOCUS acts on visible rows as if there were no other rows."""

    def check(effort: Effort) -> Evidence:
        cases = 0
        for seed in range(effort.of(120)):
            source = random_saturating_transformer(seed, "unmasked", precision=1 + seed % 3)
            draws, rows = Draws(seed, 11), 6
            visible = draws.integers(0, 1, (rows,)).astype(bool)
            visible[draws.integer(0, rows - 1)] = True
            stream = draws.integers(-source.precision.bound, source.precision.bound, (1, rows, source.width))
            try:
                expected = ReferenceEngine().session(source).layers(stream[:, visible], 0, 1)
            except AttendsToNothing:
                continue
            program, work, marks = _restricted_program(gadget, source, rows, visible)
            output = run_gadget(program, source.precision, (work, stream), marks)[:, visible][:, :, work]
            require(
                np.array_equal(output, expected), f"the layer of random transformer {seed} sees too much or too little"
            )
            cases += 1
        return Evidence(f"random layers with marked rows, {gadget.upper()} and BOOST, p = 1 … 3", cases)

    return check


def _restricted_program(gadget: str, source, rows: int, visible: np.ndarray):
    """Return a program that runs the first layer of the source on the visible rows, its stream, and the marks."""
    program, one = blank(rows), source.precision.one
    hidden = program.register("hidden")
    code = program.register("code", 2)
    row_code = program.register("own", 2)
    work = Simulation.of(program, source, "work")

    def guard(head: HeadBuilder) -> None:
        boost(head, hidden)
        if gadget == "hide":
            hide(head, hidden)
        else:
            focus(head, row_code, code, copies=focus_copies(source.precision.p))

    work.layer(0, program.layer(), guard)
    marks = np.zeros((1, rows, 5), dtype=np.int64)
    marks[0, :, 0] = np.where(visible, 0, one)
    marks[0, :, 1:3] = np.where(visible, -one, one)[:, None] * np.array([1, -1])  # visible rows have the code r
    marks[0, :, 3:] = np.array([-one, one])
    return program, work.work, (np.concatenate([hidden, code, row_code]), marks)


def detect(effort: Effort) -> Evidence:
    """Check [σ occurs], for words up to a length at which 1/N would round to 0."""
    symbols, cases = ("a", "b", "c"), 0
    for precision, rows in product(PRECISIONS, (1, 2, 3, 15, 16, 17, 60)):
        program = blank(rows, symbols)
        codes, average, occurs = (program.register(name, symbols) for name in ("symbol", "average", "found"))
        program.embed(np.arange(3), codes)
        layer = program.layer()
        whole_layers.detect(whole_layers.everywhere(layer), layer.mlp, codes, average, occurs)
        draws = Draws(rows, precision.p)
        words = draws.integers(0, 1, (effort.of(20) + 1, rows))
        words[0] = 0
        words[0, -1] = 2
        expected = precision.one * np.stack([(words == s).any(axis=1) for s in range(3)], axis=1)
        residual = run_gadget_words(program, precision, words)[..., occurs]
        require(np.array_equal(residual, np.repeat(expected[:, None], rows, axis=1)), f"wrong for N = {rows}")
        cases += len(words)
    return Evidence("words of lengths 1 … 60, one with a symbol that occurs once, p = 1 … 4", cases)


def blocks(_: Effort) -> Evidence:
    """Check that the planner chooses exactly the next block in every state, also for P > N."""
    cases = 0
    for precision, length, block, count in product(PRECISIONS[:3], (1, 2, 5), (1, 2, 7), (1, 3)):
        program = planner_programs.block_planner(("a", "b", "m"), "m", length=length, block=block, blocks=count)
        slot, state = np.arange(program.rows) - length, np.arange(count + 1)[:, None]
        words = np.where(slot < block * state, Draws(length, block).integers(0, 1, (count + 1, program.rows)), 2)
        transformer = assemble(program, precision)
        session = ReferenceEngine().session(transformer)
        chosen = np.argmax(session.logits(forward(session, transformer, words)), axis=-1)
        expected = (slot >= 0) & (slot // block == state)
        require(np.array_equal(chosen, expected), f"a wrong block is chosen for N = {length}, P = {block}")
        cases += len(words)
    return Evidence("every state of N = 1, 2, 5 symbols and up to 3 blocks of up to 7 slots, p = 1 … 3", cases)


def encoding(_: Effort) -> Evidence:
    cases = 0
    for precision, size in product(PRECISIONS, (1, 2, 3, 4)):
        rows = size + 1
        program = blank(rows, ("0", "1", "&"))
        row_code = program.code("own", n)
        previous = program.code("previous", (n - 1).positive_part())
        pointer = whole_layers.binary_encoding(
            program, size, marker=2, digit_one=1, row_code=row_code, previous=previous
        )
        words = np.concatenate([np.full((2**size, 1), 2), bits(size)], axis=1)
        for loops in (size, size + 3):
            gathered = run_gadget_words(program, precision, words, loops=loops)[:, size, pointer.bits]
            require(np.array_equal(gathered, precision.one * bits(size)), f"wrong bits after {loops} loops")
            cases += len(words)
    return Evidence("every number of at most 4 bits, after K and K + 3 loops, p = 1 … 4", cases)


def argmax(effort: Effort) -> Evidence:
    cases = 0
    for precision, size in product(PRECISIONS, (1, 2, 3, 4)):
        x = vectors(precision, size, most=effort.of(5000))
        program = blank()
        columns, hot = program.register("x", size), program.register("y", size)
        mlp.argmax(program.layer().mlp, columns, hot)
        output = run_gadget(program, precision, (columns, x))[:, 0, hot]
        expected = precision.one * (np.argmax(x, axis=1)[:, None] == np.arange(size))
        require(np.array_equal(output, expected), f"wrong for {size} entries at p = {precision.p}")
        cases += len(x)
    return Evidence("vectors of up to 4 entries, all if they are few, else saturated and tied ones, p = 1 … 4", cases)


def project(_: Effort) -> Evidence:
    cases = 0
    for precision, size in product(PRECISIONS, (1, 2, 3, 6)):
        program = blank()
        x, others, y = program.register("x", size), program.register("others", size), program.register("y")
        mlp.project(program.layer().mlp, x, others, y)
        for d in range(size):
            unit = np.broadcast_to(precision.one * (np.arange(size) != d), (2**size, size))
            output = run_gadget(program, precision, (x, precision.one * bits(size)), (others, unit))[:, 0, y[0]]
            require(np.array_equal(output, precision.one * bits(size)[:, d]), f"entry {d} of {size} is wrong")
            cases += 2**size
    return Evidence("every entry of every vector of up to 6 bits, p = 1 … 4", cases)


def arithmetic(effort: Effort) -> Evidence:
    """Check a + b, a - b, [a >= b], 2^s·a, [a = 0], [a - b]_+, and the signed code in W_Q."""
    size = 4 if effort.percent >= 100 else 2
    a, b = np.array(list(product(range(2**size), repeat=2))).T
    cases = 0
    for precision in PRECISIONS:
        program = blank()
        x, y = integers.rails(program, "a", size), integers.rails(program, "b", size)
        mlps = [program.layer().mlp for _ in range(4)]
        results = {
            "sum": integers.add(program, mlps[:3], "sum", x, y),
            "difference": integers.subtract(program, mlps[:3], "difference", x, y),
        }
        order = integers.at_least(program, mlps[:2], "order", x, y)
        shifted, zero, positive = (
            integers.rails(program, *spec) for spec in (("2a", size + 1), ("zero", 1), ("part", size))
        )
        integers.shift(mlps[0], x, 1, shifted)
        integers.is_zero(mlps[0], x, zero)
        integers.positive_part(mlps[3], results["difference"], positive)
        head = program.layer().head()  # 1 if the signed codes of a and b agree
        same, fetched = program.register("same", size), program.register("fetched")
        match(head, integers.signed(x), same)
        head.copy(program.one, fetched)
        digits = a[:, None] >> np.arange(size - 1, -1, -1) & 1
        contents = [*_rails(x, a, precision), *_rails(y, b, precision), (same, precision.one * (2 * digits - 1))]
        residual = run_gadget(program, precision, *contents)[:, 0]
        expected = {
            "a + b": (results["sum"].bits, (a + b) % 2**size),
            "the carry": (results["sum"].carry, (a + b) >> size),
            "a - b": (results["difference"].bits, (a - b) % 2**size),
            "[a >= b]": (order, a >= b),
            "2a": (shifted, 2 * a),
            "[a = 0]": (zero, a == 0),
            "[a - b]_+": (positive, np.maximum(a - b, 0)),
        }
        for name, (number, true) in expected.items():
            ones = residual[:, number.ones] // precision.one
            zeros = residual[:, number.zeros] // precision.one
            require((ones + zeros == 1).all(), f"{name} is not in dual rail")
            require(np.array_equal(ones @ (1 << np.arange(len(number) - 1, -1, -1)), true), f"{name} is wrong")
            cases += len(a)
        require((residual[:, fetched] == precision.one).all(), "the signed code does not match itself")
    return Evidence(f"seven operations on all pairs of {size} bits, p = 1 … 4", cases)


def _rails(number: integers.Rails, values: np.ndarray, precision: Precision):
    digits = values[:, None] >> np.arange(len(number) - 1, -1, -1) & 1
    return (number.ones, precision.one * digits), (number.zeros, precision.one * (1 - digits))


# The gadget lemmas that an item depends on, decided for every width by closure over the compiler's own weights.


LARGEST_DECIDED_PRECISION = 4
"""The largest p that is decided in the check of an item."""


def with_lemmas(label: str, check: Check) -> Check:
    """Return a check that also decides the lemmas that the item depends on; it fails if any of them fails."""

    def both(effort: Effort) -> Evidence:
        evidence = effort.run(check)
        decided = cited_lemmas(label, LARGEST_DECIDED_PRECISION)
        proofs = (*evidence.proofs, *([_proof(label, decided)] if decided else []))
        return Evidence(evidence.method, evidence.cases, proofs)

    return both if label in CITED else check


def _proof(label: str, decided: tuple[LemmaEvidence, ...]) -> ItemProof:
    later = [f"{lemma.name} from p = {lemma.least}" for lemma in decided if lemma.least > 1]
    refuted = sum(len(lemma.refutations) for lemma in decided)
    wrong = [f"{refuted} wrong variants refuted"] if refuted else []
    return ItemProof(
        covers="every width",
        by="closure",
        names=tuple(lemma.name for lemma in decided),
        note="; ".join((f"p = 1 … {LARGEST_DECIDED_PRECISION}", *later, *wrong)),
        run=f"unmask paper {label} --check",
    )
