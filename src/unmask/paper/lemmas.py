"""The lemmas of the paper: numbers, gadgets, attention."""

from unmask.numerics import lemmas
from unmask.paper import conversion_checks as conversions
from unmask.paper import gadget_checks as gadgets
from unmask.paper import number_checks as numbers
from unmask.paper.item import Check, Item


def _lemma(
    label: str,
    title: str,
    statement: str,
    construction: str,
    check: Check,
    *,
    bound: str | None = None,
    erratum: str | None = None,
) -> Item:
    return Item(
        label, "lemma", title, statement, construction, "holds", f"unmask paper {label} --check", check, bound, erratum
    )  # fmt: skip


LEMMAS = (
    _lemma(
        "lem:our-finite-precision-properties",
        "large exponents saturate",
        "If x in F_p is above (p + 1)·ln 2, then exp(x) = B and exp(-x) = 0.",
        "numerics/lemmas.py",
        numbers.about_numbers(lemmas.exp_saturates, "x beyond the threshold"),
    ),
    _lemma(
        "lem:finite-precision-properties",
        "exp at the ends",
        "exp(B) = B and exp(-B) = 0.",
        "numerics/lemmas.py",
        numbers.about_numbers(lemmas.exp_of_bound, "end of the range"),
    ),
    _lemma(
        "lem:pos-enc-properties",
        "equal codes",
        "B times a signed code interleaved with ones, against another interleaved with minus ones, scores 0 if the "
        "codes "
        "are equal and exactly -B if not; the exponentials are 1 and 0.",
        "programs/attention.py",
        numbers.codes,
        bound="2 columns per bit",
    ),
    _lemma(
        "lem:our-pos-enc-properties",
        "equal codes, scaled",
        "With [B/m] for B the score is exactly max(-B, -2·[B/m]·h), where h counts the differing bits.",
        "numerics/lemmas.py",
        numbers.scaled_codes,
        bound="2 columns per bit",
        erratum="9: the printed bound -2B/m fails where [B/m] rounds down, e.g. for m = 2.",
    ),
    _lemma(
        "lem:mlp-arithmetic-operations",
        "arithmetic by MLPs",
        "From the bits of a and b, in dual rail, MLPs compute a + b, a - b, 2^s·a, [a >= b], [a = 0] and [a - b]_+.",
        "programs/integers.py",
        gadgets.arithmetic,
        bound="3 MLPs, O(log² N) hidden units, O(log N) columns",
        erratum="12: no MLP outputs the -1 of a signed code; a code has no sign bit; gates of large fan-in must be "
        "NORs.",
    ),
    _lemma(
        "lem:ignore-positions",
        "ignoring marked rows",
        "A layer can be changed so that marked rows are invisible, and the others compute what they would without "
        "them.",
        "programs/attention.py",
        gadgets.restricted_layer("hide"),
        bound="2 columns per head (HIDE), 2 more for the marked rows themselves (BOOST)",
        erratum="11: marked rows may divide by zero as queries; BOOST keeps them from it.",
    ),
    _lemma(
        "lem:focus-on-marked-positions",
        "focusing on marked rows",
        "A layer can be changed so that every row sees exactly the rows whose code is r.",
        "programs/attention.py",
        gadgets.restricted_layer("focus"),
        bound="4 columns per bit and head for p >= 2, 6 for p = 1",
        erratum="10 and 11: a mismatch ends at up to -B + 2^(1-p), not -B; p = 1 needs three copies; other rows need "
        "BOOST.",
    ),
    _lemma(
        "lem:detection",
        "does a symbol occur",
        "One unmasked layer computes, in every row and for every symbol, whether it occurs in the word.",
        "programs/detection.py",
        gadgets.detect,
        bound="one head, 2 hidden units per symbol",
    ),
    _lemma(
        "lem:select-block",
        "the next block",
        "One layer chooses, of T blocks of P slots of which the first t are written, block t + 1.",
        "programs/select_block.py",
        gadgets.blocks,
        bound="one layer, one head",
        erratum="14: row n - P does not exist in the first block, and where P > N it is a mask that is never written.",
    ),
    _lemma(
        "lem:binary-encoding",
        "from digits to a code",
        "On & b_1 … b_K one layer, looped K times, brings the K bits together in the row of the last one.",
        "programs/binary_encoding.py",
        gadgets.encoding,
        bound="K = ⌊log2 N⌋ + 1 loops of one layer",
        erratum="15: n = N = 2^k needs k + 1 bits; what is gathered must be cleared in every loop.",
    ),
    _lemma(
        "lem:mlp-for-argmax",
        "argmax by an MLP",
        "One MLP maps K numbers to the unit vector of the largest; the lowest index wins a tie.",
        "programs/logic.py",
        gadgets.argmax,
        bound="one MLP, 2K(K - 1) hidden units",
        erratum="13: the factor 2^p is not in F_p; ties were left open.",
    ),
    _lemma(
        "lem:projection-mlp",
        "one entry of a vector",
        "One MLP maps x in {0,1}^D and a unit vector to the entry of x it names.",
        "programs/projection.py",
        gadgets.project,
        bound="D hidden units",
        erratum="12: the result is one bit, not D; written with x + e - 1 it fails for p = 1, with the complement it "
        "holds.",
    ),
    _lemma(
        "lem:mask-conversion",
        "unmasked to causal",
        "An unmasked transformer of L layers on N rows is a causal one on N rows and L·N pads; the last N rows end "
        "with "
        "its result.",
        "theorems/unmasked_to_causal.py",
        conversions.of_transformers("unmasked_to_causal", "unmasked", seeds=40),
        bound="L·N pads, L + 1 layers",
        erratum="16: L(N - 1) pads and L layers are too few; the block of row n is n div N.",
    ),
    _lemma(
        "lem:unmask-conversion-fp",
        "causal to unmasked",
        "A causal transformer of L layers on N rows is an unmasked one on N⌈log2 N⌉ rows: each row stands once per "
        "bit of "
        "its number. The paper's construction with N² rows, repaired, is there too.",
        "theorems/causal_to_unmasked.py",
        conversions.several(
            conversions.of_transformers("causal_to_unmasked", "causal", seeds=30),
            conversions.of_transformers("causal_to_unmasked_by_blocks", "causal", seeds=20),
        ),
        bound="N(⌈log2 N⌉ - 1) pads, L + 1 layers; the paper: N(N - 1) and 2L + 1",
        erratum="17: five places of the proof fail as printed. And the number of rows need not be quadratic.",
    ),
    _lemma(
        "lem:idenitity-dump",
        "store the stream in slots, and read it back",
        "A stream of R rows of width D can be written as R·D symbols and read back in the next step.",
        "theorems/plt_to_mdm.py",
        conversions.dumped,
        bound="R·D slots over an alphabet that contains F_p",
        erratum="18: the stream is in F_p, not in {0,1}; shapes and hosts are other than stated.",
    ),
)
