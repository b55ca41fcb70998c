"""Gadgets of one width on all contents, by whole matrices: the closures of `paper/lemmas` must agree with them."""

from itertools import product

import numpy as np

from unmask.numerics.arithmetic import product as inner_products
from unmask.numerics.arithmetic import weighted
from unmask.paper.lemmas.gadget_programs import INDEXED
from unmask.paper.lemmas.score_lemmas import FlagContents
from unmask.programs.assembly import assemble


def words(question, width, facts=None, letters=()):
    """Yield (letters, facts at the end) for every word of a width."""
    facts = question.visibility.start if not letters else facts
    if len(letters) == width:
        yield letters, facts
        return
    for letter in question.alphabet(facts):
        yield from words(question, width, letter.then, (*letters, letter))


def least_wrong_width(question, design, precision, most):
    """Return the least width with a wrong score for some word, score before and flags, or None."""
    for width in range(most + 1):
        if not all(verdicts(question, design, precision, width)):
            return width
    return None


def verdicts(question, design, precision, width):
    """Yield whether the head is correct, for every word of a width that may end, and all contents of the flags."""
    program, _ = design.emit(width)
    head = assemble(program, precision).layers[0].heads[0]
    read = {k for m in (head.wq, head.wk) for k in m.row.tolist()}
    flags = [(0, 1) if program.columns(name)[0] in read else (0,) for name in ("boosted", "hidden")]
    flags.append((0, 1) if program.columns("hides")[0] in read else (1,))
    scores = precision.numbers() if program.columns("score")[0] in read else (0,)
    for letters, facts in words(question, width):
        is_unseen = question.visibility.is_unseen(facts)
        if is_unseen is None:
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
            observed = question.observed(inner_products(q, k.T, precision)[0], precision)
            expected = question.expected(np.array(scores), FlagContents(boosted, hidden, hides), is_unseen, precision)
            yield np.array_equal(observed, expected)
