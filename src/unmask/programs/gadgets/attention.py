"""Attention gadgets: which keys one head sees, over named registers.

A column (q ¦ k) of a head adds (q of the query row)·(k of the key row) to the score. Columns are summed in order, and
every sum is clipped, so their order matters: the columns of a simulated model, BOOST, FOCUS or EQ, HIDE.

| gadget         | function           | what the head does                                             |
|----------------|--------------------|----------------------------------------------------------------|
| EQ             | `eq`, `match`      | scores 0 on the keys with the query's code, -B on all others   |
| LOOKUP, SELF   | `lookup`, `itself` | copies any number from the row with a given code, or its own   |
| FOCUS          | `focus`            | leaves a simulated head only the keys with the query's code    |
| HIDE           | `hide`             | hides flagged keys                                             |
| BOOST          | `boost`            | lets a query that may lose all its keys attend to something    |
| AT MOST        | `at_most`          | sees the keys whose number is at most the query's              |
| LATEST         | `latest`           | shows which of two flags occurred last                         |
"""

import numpy as np

from unmask.programs.program import HALF, ONE, B, Coefficient, Columns, Form, HeadBuilder, LayerBuilder


def eq(head: HeadBuilder, a: Columns, b: Columns) -> None:
    """EQ(a, b): score 0 on the keys whose code b is the query's code a, and -B on all others (lem:pos-enc-properties).

    Columns:      per bit (B·a_i ¦ b_i), (B·one ¦ -one). Codes are signed bits: equal bits give B - B, others -B - B.
    Bounds:       two columns per bit. Least p: 1.
    Exactness:    exact for codes of any length: after each pair of columns the score is 0 or -B.
    Deviations:   in the paper the code of a single position has no bit; here every code has at least one.
    """
    match(head, scaled(a, B), b)


def match(
    head: HeadBuilder,
    a: list[Form],
    b: Columns,
    scale: Coefficient = B,
    *,
    asks: Columns | None = None,
    cares: Columns | None = None,
) -> None:
    """Add the columns of EQ for forms a_i, which are scaled bits: per bit (a_i ¦ b_i), (scale·asks ¦ -cares_i).

    A query with `asks` = 0 and the code 0 matches every key. A bit of a key with `cares` = 0 and the code 0 matches
    every query. Both default to `one`.
    """
    asks = head.one if asks is None else asks
    for form, bit, care in zip(a, b, np.broadcast_to(head.one if cares is None else cares, b.shape), strict=True):
        head.bit((form, [(bit, ONE)]), ([(asks, scale)], [(care, -ONE)]))


def scaled(code: Columns, scale: Coefficient) -> list[Form]:
    """Return the bits of a code, each times a coefficient."""
    return [[(bit, scale)] for bit in code]


def constant_code(value: int, bits: int, one: Columns) -> list[Form]:
    """Return the signed bits of a constant, times B, from the column that is always 1."""
    return [[(one, B if value >> i & 1 else -B)] for i in reversed(range(bits))]


def encoded(onehot: Columns, bits: int) -> list[Form]:
    """Return the signed bits, times B, of the number with the one-hot code `onehot`; zeros if the code is all 0."""
    numbers = np.arange(onehot.size)
    forms: list[Form] = []
    for i in reversed(range(bits)):
        set_bit = (numbers >> i & 1).astype(bool)
        forms.append([(onehot[set_bit], B), (onehot[~set_bit], -B)])
    return forms


def lookup(layer: LayerBuilder, address: Columns, code: Columns) -> HeadBuilder:
    """LOOKUP(address, code): a head that copies any linear map of the row whose `code` is the query's `address`.

    Columns:      those of EQ. Exactly one key matches: it scores 0 and all others -B, so the weights are 1 and 0.
    Bounds:       one head, two columns per bit. Least p: 1.
    Exactness:    exact for all numbers of F_p. Every address must be the code of a row, else the head divides by zero;
                  no two rows may share a code.
    Deviations:   none.
    """
    head = layer.head()
    eq(head, address, code)
    return head


def lookup_row(layer: LayerBuilder, row: int, code: Columns) -> HeadBuilder:
    """Return a head with which all rows read one row: the one whose `code` is the number `row`."""
    head = layer.head()
    match(head, constant_code(row, code.size, head.one), code)
    return head


def itself(layer: LayerBuilder, row_code: Columns) -> HeadBuilder:
    """SELF: a head that reads its own row; no two rows have the same `row_code`."""
    return lookup(layer, row_code, row_code)


def clear(head: HeadBuilder, *registers: Columns) -> None:
    """Set registers to 0 in a SELF head: x ← x - x."""
    for columns in registers:
        head.copy(columns, columns, -ONE)


def focus(
    head: HeadBuilder,
    a: Columns,
    b: Columns,
    *,
    copies: int = 2,
    asks: Columns | None = None,
    cares: Columns | None = None,
) -> None:
    """FOCUS(a, b): keep exp(score) on the keys whose code b is the query's code a, and make it 0 on all others.

    The gadget is added to a head of a simulated model (lem:focus-on-marked-positions). Queries with `asks` = 0 see
    every key, keys with `cares` = 0 are seen by every query (see `match`).

    Columns:      EQ with [B/2] for B: per bit ([B/2]·a_i ¦ b_i), ([B/2]·one ¦ -one), all of it twice.
    Bounds:       four columns per bit (p = 1: six). Least p: 2; with three copies 1.
    Exactness:    exp is exact for every earlier score; the score itself may be cut at 2^(p-1), where exp is B already.
    Deviations:   a mismatch ends at up to -B + 2^(1-p), not at -B, which is enough from p = 2 on; with one copy a large
                  score survives. Queries that may lose all their keys need BOOST.
    """
    for _ in range(copies):
        match(head, scaled(a, HALF), b, HALF, asks=asks, cares=cares)


def focus_copies(p: int) -> int:
    """Return the number of copies of the columns of FOCUS: 3 for p = 1, else 2."""
    return 3 if p == 1 else 2


def hide(head: HeadBuilder, flag: Columns, *, copies: int = 2, of: Columns | None = None) -> None:
    """HIDE(flag): make exp(score) 0 on the flagged keys, for all queries or for those that `of` flags.

    The gadget is added to a head of a simulated model (lem:ignore-positions); other keys keep their scores.

    Columns:      (-B·one ¦ flag), twice.
    Bounds:       two columns. Least p: 1.
    Exactness:    exact for every earlier score: B - B - B = -B. After EQ, whose scores are at most 0, one column is
                  enough.
    Deviations:   none from lem:ignore-positions, which has the column twice. The footnote of lem:unmask-conversion-fp
                  subtracts B once, which a large score survives. Queries that may lose all their keys need BOOST.
    """
    for _ in range(copies):
        head.column([(head.one if of is None else of, -B)], [(flag, ONE)])


def hide_later(head: HeadBuilder, before: Columns, position: Columns) -> None:
    """Make attention causal in an unmasked transformer: hide the keys whose position is beyond the query's.

    Per position c twice (-B·[c > own position] ¦ [c = own position]): `before` is the thermometer code of the query,
    `position` the one-hot code of the key. It takes two columns per position, so the width is not logarithmic.
    """
    for _ in range(2):
        for later, key_position in zip(before, position, strict=True):
            head.column([(later, -B)], [(key_position, ONE)])


def boost(head: HeadBuilder, flag: Columns, *, copies: int = 2, on: Columns | None = None) -> None:
    """BOOST(flag): give flagged queries the score B on every key (or on those that `on` flags).

    Such a query attends to something for all scores, so it never divides by zero. The columns come before
    FOCUS and HIDE, which remove keys.

    Columns:      (B·flag ¦ one), twice: a score of -B needs two copies.
    Bounds:       two columns. Least p: 1.
    Exactness:    exact: -B + B + B = B; queries without the flag keep their scores.
    Deviations:   the paper has no such gadget; without it a row whose keys are all hidden divides by zero.
    """
    for _ in range(copies):
        head.column([(flag, B)], [(head.one if on is None else on, ONE)])


def at_most(head: HeadBuilder, limit: Columns, number: Columns) -> None:
    """AT MOST(limit, number): score B on the keys whose number is at most the query's limit, -B on all others.

    Both are codes with the same number of signed bits, highest first.

    Columns:      (B·one ¦ one); per bit, the lowest first, twice (B·[limit bit] ¦ 2·[no number bit]), and twice
                  (-B·[no limit bit] ¦ 2·[number bit]): a bit that differs adds ±2B and so overrides all lower bits.
    Bounds:       one head, four columns per bit and one. Least p: 1.
    Exactness:    exact. A HIDE after it needs its two columns.
    Deviations:   the paper has no such gadget.
    """
    see_all(head)
    none_above(head, limit, number)


def see_all(head: HeadBuilder) -> None:
    """Give every key the score B."""
    head.column([(head.one, B)], [(head.one, ONE)])


def none_above(head: HeadBuilder, limit: Columns, number: Columns, *, copies: int = 2) -> None:
    """Give keys with a number above the limit the score -B, keys below it B; equal ones keep their score."""
    one = head.one
    for a, b in zip(reversed(limit), reversed(number), strict=True):
        below = [(one, B), (a, B)], [(one, ONE), (b, -ONE)]
        above = [(one, -B), (a, B)], [(one, ONE), (b, ONE)]
        head.bit(*[below] * copies, *[above] * copies, rising=True)


def latest(head: HeadBuilder, plus: Columns, minus: Columns, target: Columns) -> None:
    """LATEST(plus, minus): B if the last visible row with one of the flags has `plus`, -B if it has `minus`, else 0.

    The head must have the scores B and -B only (AT MOST). Every flag must be set in two successive rows.

    Values:       B·plus - B·minus.
    Exactness:    exp(B) = B and Z = B + … + B = B, so any number of visible rows have the weight 1 each. Sums
                  clip after every row, so the two rows of a flag add ±2B, which leads to ±B from any sum.
    Deviations:   the paper has no such gadget. It is a flip-flop in one head, by saturation alone.
    """
    head.copy(plus, target, B)
    head.copy(minus, target, -B)
