"""The lemmas of the paper: numbers, gadgets, attention."""

from typing import Any

from unmask.numerics import number_lemmas
from unmask.paper import rocq_proofs
from unmask.paper.checks import gadget_checks, number_checks, theorem_checks
from unmask.paper.checks.evidence import Check, several
from unmask.paper.checks.gadget_checks import with_lemmas
from unmask.paper.item import Item, paper_item


def _lemma(*, label: str, check: Check, **fields: Any) -> Item:
    """Return the item of a lemma of the paper; its check also decides the gadget lemmas that it depends on."""
    run = f"unmask paper {label} --check"
    return paper_item(label=label, kind="lemma", run=run, check=with_lemmas(label, check), **fields)


LEMMAS = (
    _lemma(
        label="lem:our-finite-precision-properties",
        title="large exponents saturate",
        statement="If x in F_p is above (p + 1)·ln 2, then exp(x) = B and exp(-x) = 0.",
        construction="numerics/number_lemmas.py",
        check=number_checks.about_numbers(number_lemmas.exp_saturates, "x beyond the threshold"),
        proofs=(rocq_proofs.SATURATION,),
    ),
    _lemma(
        label="lem:finite-precision-properties",
        title="exp at the ends",
        statement="exp(B) = B and exp(-B) = 0.",
        construction="numerics/number_lemmas.py",
        check=number_checks.about_numbers(number_lemmas.exp_of_bound, "end of the range"),
        proofs=(rocq_proofs.ENDS,),
    ),
    _lemma(
        label="lem:pos-enc-properties",
        title="equal codes",
        statement="B times a signed code interleaved with ones, against another interleaved with minus ones, scores 0 "
        "if the codes are equal and exactly -B if not; the exponentials are 1 and 0.",
        construction="programs/gadgets/attention.py",
        check=number_checks.codes,
        bound="2 columns per bit",
        proofs=(rocq_proofs.CODES,),
    ),
    _lemma(
        label="lem:our-pos-enc-properties",
        title="equal codes, scaled",
        statement="With [B/m] instead of B the score is exactly max(-B, -2·[B/m]·h), where h is the number of "
        "differing bits. The paper writes B/m for the rounded number [B/m].",
        construction="numerics/number_lemmas.py",
        check=number_checks.scaled_codes,
        bound="2 columns per bit",
        erratum="30: for m = 2 one differing bit scores -(B - 2^-p).",
    ),
    _lemma(
        label="lem:mlp-arithmetic-operations",
        title="arithmetic by MLPs",
        statement="From the bits of a and b, in dual rail, MLPs compute a + b, a - b, 2^s·a, [a >= b], [a = 0] and [a "
        "- b]_+.",
        construction="programs/gadgets/integers.py",
        check=gadget_checks.arithmetic,
        bound="3 MLPs, O(log² N) hidden units, O(log N) columns",
        repaired="the signed code is formed by W_Q and W_K, because no MLP outputs its -1. Numbers are given in dual "
        "rail. [a >= b] replaces [m >= 0], which is always true for a natural number, and [a - b]_+ replaces [m]_+.",
        erratum="23: (a) and (d); (b) and (c) hold as printed.",
        proofs=(rocq_proofs.GATES,),
    ),
    _lemma(
        label="lem:ignore-positions",
        title="ignoring marked rows",
        statement="A layer can be changed so that marked rows are invisible, and the other rows compute the same as "
        "without them.",
        construction="programs/gadgets/attention.py",
        check=gadget_checks.restricted_layer("hide"),
        bound="2 columns per head (HIDE), 2 more for the marked rows themselves (BOOST)",
        erratum="22: where division by zero is an error in every row, marked rows need BOOST.",
        proofs=(rocq_proofs.HIDE,),
    ),
    _lemma(
        label="lem:focus-on-marked-positions",
        title="focusing on marked rows",
        statement="A layer can be changed so that the rows whose code is r see exactly each other, and compute the "
        "same as without the other rows.",
        construction="programs/gadgets/attention.py",
        check=gadget_checks.restricted_layer("focus"),
        bound="4 columns per bit and head for p >= 2, 6 for p = 1",
        erratum="21 and 22: the statement holds; in the proof a mismatch ends at up to -B + 2^(1-p), not -B, so that "
        "p = 1 needs three copies; where division by zero is an error in every row, other rows need BOOST.",
        proofs=(rocq_proofs.FOCUS,),
    ),
    _lemma(
        label="lem:detection",
        title="does a symbol occur",
        statement="One unmasked layer computes, in every row and for every symbol, whether it occurs in the word.",
        construction="programs/gadgets/whole_layers.py",
        check=gadget_checks.detect,
        bound="one head, 2 hidden units per symbol",
        proofs=(rocq_proofs.THRESHOLD,),
    ),
    _lemma(
        label="lem:select-block",
        title="the next block",
        statement="If the first t of T blocks of P slots are written, one layer chooses block t + 1.",
        construction="programs/planner_programs.py",
        check=gadget_checks.blocks,
        bound="one layer, one head",
        erratum="25: the statement holds; in the proof, row n - P may not exist in the first block, or be a mask that "
        "is never written.",
    ),
    _lemma(
        label="lem:binary-encoding",
        title="from digits to a code",
        statement="On & b_1 … b_K one layer, looped K times, gathers the K bits in the row of the last bit.",
        construction="programs/gadgets/whole_layers.py",
        check=gadget_checks.encoding,
        bound="K = ⌊log2 N⌋ + 1 loops of one layer",
        repaired="⌊log2 N⌋ + 1 digits and loops. The paper has ⌈log2 N⌉, which is one too few for n = N = 2^k.",
        erratum="31. Here every loop clears what it gathers, which the lemma does not require.",
    ),
    _lemma(
        label="lem:mlp-for-argmax",
        title="argmax by an MLP",
        statement="One MLP maps K numbers to the unit vector of the largest; the lowest index wins a tie.",
        construction="programs/gadgets/mlp.py",
        check=gadget_checks.argmax,
        bound="one MLP, 2K(K - 1) hidden units",
        erratum="24: the statement, which is about a unique maximum, holds; in the proof the factor 2^p is not in F_p. "
        "Ties, which the uses of the lemma need, are decided here.",
    ),
    _lemma(
        label="lem:projection-mlp",
        title="one entry of a vector",
        statement="One MLP maps x in {0,1}^D and the unit vector e_d to entry d of x.",
        construction="programs/gadgets/mlp.py",
        check=gadget_checks.project,
        bound="D hidden units",
        erratum="23, a remark: the type of the result.",
    ),
    _lemma(
        label="lem:mask-conversion",
        title="unmasked to causal",
        statement="An unmasked transformer of L layers on N rows is simulated by a causal one on N rows and L·N pads. "
        "The last N rows end with its result.",
        construction="theorems/causal_and_unmasked.py",
        check=theorem_checks.transformer_check("unmasked_to_causal", "unmasked", seeds=40),
        bound="L·N pads, L + 1 layers",
        repaired="L·N pads and L + 1 layers, with the result in the last N rows. The paper has L(N - 1) pads, L "
        "layers, and a result in rows that are those of the input for L = 1.",
        erratum="14: for L = 1 the printed form fails; with more layers it is not refuted.",
    ),
    _lemma(
        label="lem:unmask-conversion-fp",
        title="causal to unmasked",
        statement="A causal transformer of L layers on N rows is simulated by an unmasked one of 2L + 1 layers on N² "
        "rows, the last N of which end with its result. It is also simulated by one of L + 1 layers on N⌈log2 N⌉ rows, "
        "with ⌈log2 N⌉ copies of each row.",
        construction="theorems/causal_and_unmasked.py",
        check=several(
            theorem_checks.transformer_check("causal_to_unmasked", "causal", seeds=30),
            theorem_checks.transformer_check("causal_to_unmasked_by_blocks", "causal", seeds=20),
        ),
        bound="N(⌈log2 N⌉ - 1) pads, L + 1 layers; the paper: N(N - 1) and 2L + 1",
        repaired="the result is the output of the last layer, 2L + 1; the paper names the stream after layer L. "
        "Layers and pads are as in the paper.",
        erratum="15: the index of the result, and steps of the proof. The number of rows need not be quadratic.",
        proofs=(rocq_proofs.BUFFERS,),
    ),
    _lemma(
        label="lem:idenitity-dump",
        title="store the stream in slots, and read it back",
        statement="A stream of R rows of width D can be written as R·D symbols and read back in the next step.",
        construction="theorems/plt_to_mdm.py",
        check=theorem_checks.stored_streams,
        bound="R·D slots over an alphabet that contains F_p",
        repaired="any stream over F_p, with one symbol for each number, in R·D slots. The paper has a stream of bits "
        "with two symbols, which a looped transformer does not have, and O(log N)·D numbers.",
        erratum="6.",
    ),
)
