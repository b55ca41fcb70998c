"""The proofs that Rocq has checked for items of the paper (docs/paper/rocq.md, `make rocq`)."""

from unmask.paper.checks.evidence import ItemProof

WIDTHS = "every p, every width and every number of rows"


def _proof(covers: str, *names: str, note: str | None = None) -> ItemProof:
    return ItemProof(covers=covers, by="Rocq", names=names, run="make rocq", note=note)


REGULAR = _proof(
    "every p >= 2, every N >= 1 and every word",
    "regular_language_is_decided",
    "every_monoid_is_decided",
    "automaton_is_decided",
    "every_automaton_is_decided",
    "regular_languages_are_in_MDM_log_N",
    "decided_with_e_to_the_x",
    note="one slot per node, any finite monoid, any exponential as in docs/paper/rocq.md (the package's tables are "
    "proved to be such for p <= 4, and tested for p <= 8); the weights of compiled folders are compared with "
    "the theorem's",
)
SATURATION = _proof(
    "every p",
    "exponential_of_rounding",
    note="with 45/64 in place of ln 2 = 0.693 …: exp(x) = B from (45/64)·p on, exp(-x) = 0 from (45/64)·(p + 1) on; "
    "the numbers in between are in the check",
)
ENDS = _proof("every p", "exp_bound", "exp_minus_bound")
CODES = _proof(WIDTHS, "eq_score", "lookup_copies", "lookup_value")
HIDE = _proof(
    WIDTHS,
    "hide_makes_invisible",
    "boost_never_divides_by_zero",
    "one_hide_is_not_enough",
    "hiding_every_row_is_an_error",
    note="of one head, errors included",
)
FOCUS = _proof(
    WIDTHS,
    "focus_restricts",
    "two_copies_of_focus_fail_at_p_1",
    note="of one head; two copies for p >= 2, three for p = 1",
)
GATES = _proof(
    "every p and every fan-in", "nor_is_nor", "and_is_and", "textbook_and_fails", note="the gates, not the arithmetic"
)
THRESHOLD = _proof("every p", "thresh_is_positive", note="the MLP, not the average")
BUFFERS = _proof(
    "every p", "two_buffers_overwrite", "one_buffer_is_not_enough", note="how a row is overwritten, no more"
)
DECODING = _proof(
    "every p and every number of symbols",
    "argmax_is_the_first_largest",
    "mask_is_left_out",
    note="ties included; of the proofs' own definition",
)
