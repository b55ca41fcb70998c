"""Gadgets of one width on every content, by whole matrices: what the closures of `paper/lemmas` must agree with."""

from itertools import product

import numpy as np

from unmask.numerics.arithmetic import product as inner_products
from unmask.numerics.arithmetic import weighted
from unmask.paper.lemmas.gadget_programs import INDEXED
from unmask.paper.lemmas.score_lemmas import Single
from unmask.programs.assembly import assemble


def words(question, width, known=None, letters=()):
    """(letters, what is known at the end) of every word of a width."""
    known = question.ends.start if not letters else known
    if len(letters) == width:
        yield letters, known
        return
    for letter in question.alphabet(known):
        yield from words(question, width, letter.then, (*letters, letter))


def least_wrong_width(question, design, precision, most):
    """The least width at which some word, score and flags end wrongly, by the matrices of that width; None if none."""
    for width in range(most + 1):
        if any(not right for right in verdicts(question, design, precision, width)):
            return width
    return None


def verdicts(question, design, precision, width):
    """Is the head right? One answer for every word of a width that may end, and all single contents."""
    program, _ = design.emit(width)
    head = assemble(program, precision).layers[0].heads[0]
    read = {k for m in (head.wq, head.wk) for k in m.row.tolist()}
    flags = [(0, 1) if program.columns(name)[0] in read else (0,) for name in ("boosted", "hidden")]
    flags.append((0, 1) if program.columns("hides")[0] in read else (1,))
    scores = precision.numbers() if program.columns("score")[0] in read else (0,)
    for letters, known in words(question, width):
        unseen = question.ends.unseen(known)
        if unseen is None:
            continue
        for boosted, hidden, hides in product(*flags):
            query = np.zeros((1, program.width), dtype=np.int64)
            keys = np.zeros((len(scores), program.width), dtype=np.int64)
            query[:, program.columns("one")] = keys[:, program.columns("one")] = precision.one
            query[:, program.columns("boosted")] = boosted * precision.one
            query[:, program.columns("hides")] = hides * precision.one
            keys[:, program.columns("hidden")] = hidden * precision.one
            keys[:, program.columns("score")[0]] = scores
            for i, letter in enumerate(letters):
                for rows, contents in ((query, letter.query), (keys, letter.key)):
                    for name, value in contents:
                        rows[:, program.columns(name)[i if name in INDEXED else 0]] = precision.one * value
            q, k = (weighted(rows, m.rows(), m.shape[1], precision) for rows, m in ((query, head.wq), (keys, head.wk)))
            there = question.observed(inner_products(q, k.T, precision)[0], precision)
            single = Single(boosted, hidden, hides)
            yield np.array_equal(there, question.wanted(np.array(scores), single, unseen, precision))
