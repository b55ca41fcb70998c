"""All items of the paper, with its figures and takeaways, which repeat results; and the search for items."""

from difflib import get_close_matches

from unmask.errors import UnmaskError
from unmask.paper import rocq_proofs
from unmask.paper.checks import own_result_checks, problem_checks
from unmask.paper.checks.evidence import several
from unmask.paper.definition_items import ASSUMPTIONS, FRAMEWORKS, NUMBERS
from unmask.paper.item import Item, paper_item
from unmask.paper.lemma_items import LEMMAS
from unmask.paper.result_items import (
    CONSTANT_STEPS,
    COT_TO_PCOT,
    MDM_TO_PCOT,
    ONE_SLOT_PER_NODE,
    OTHERS,
    OWN,
    PCOT_TO_COT,
    PCOT_TO_MDM,
    POLYLOG_STEPS,
    THEOREMS,
    TO_MDM,
    TO_PLT,
    by_theorem,
)

FIGURES = (
    paper_item(
        label="fig:figure-1a",
        kind="figure",
        title="the frameworks and their simulations",
        statement="Arrows: masked diffusion → looped → masked diffusion → parallel chain of thought → chain of "
        "thought → parallel chain of thought → masked diffusion, each a conversion of weights. The dashed arrow, a "
        "strict separation under log N steps whose slots the figure does not count, is an inclusion by conversion; "
        "that it is strict is own:cot-to-ac0*, and that parity is not in AC0, which is cited.",
        construction="theorems/all_theorems.py",
        run="unmask compile random:7 --length 1 --to cot --out chain && unmask convert chain --to plt --out looped",
        check=several(
            TO_PLT, TO_MDM, MDM_TO_PCOT, PCOT_TO_COT, COT_TO_PCOT, PCOT_TO_MDM, own_result_checks.chains_in_parallel
        ),
    ),
    paper_item(
        label="fig:figure-1b",
        kind="figure",
        title="the frameworks and the classes of circuits",
        statement="Regular languages within masked diffusion of log N steps and N slots (one per node, for monoids of "
        "at most 1,024 elements); AC0 and AC^d equal to it with constantly and polylogarithmically many steps; chains "
        "of log N steps within AC0 (own:cot-to-ac0*). The inclusion of the regular languages is strict: "
        "family:equal-halves is not regular and takes one step. Cited: AC0 is strictly within AC^d, the regular "
        "languages are within NC, and NC is the union of the AC^d.",
        construction="programs/regular/product_tree.py, programs/circuit_systems.py, "
        "verification/circuits/constant_depth.py",
        repaired="the figure draws CoT[log N] within AC0 as a strict inclusion without a reference. It is strict if "
        "heads and hidden units are at most N^a for one a for the whole class, by a cited lower bound for cliques "
        "(docs/paper/our-results.md); the paper does not bound them, and for all polynomials strictness is open. The "
        "equalities hold for T and P that are computable in logarithmic space.",
        run="unmask paper thm:regular-languages-in-mdm-efficient --check",
        check=several(
            ONE_SLOT_PER_NODE,
            own_result_checks.chains_in_parallel,
            own_result_checks.chains_in_groups,
            CONSTANT_STEPS,
            POLYLOG_STEPS,
        ),
        erratum="10: a strict inclusion without a reference; 1 for the corollaries. See also 4: "
        "the text places chains of log N steps within "
        "TC0, the figure within AC0, which is correct.",
    ),
    paper_item(
        label="fig:expression-tree",
        kind="figure",
        title="an expression, in parallel and in sequence",
        statement="(2+3)×(4+1)-6= in three steps of masked diffusion, which write 6, 4 and 1 symbols, and in eleven "
        "of a chain. In general, masked diffusion takes as many steps as the height of the tree of operations, and a "
        "chain takes one step for each symbol that it writes.",
        construction="programs/arithmetic_expressions.py",
        run="unmask compare 'expr:(a+b)*(c+d)-e'",
        check=problem_checks.figure,
        bound="T = depth of the tree, P = symbols written; chain of thought: T = P",
    ),
)

TAKEAWAYS = (
    paper_item(
        label="takeaway:takeaway-1",
        kind="takeaway",
        title="masked diffusion and chain of thought simulate each other",
        statement="thm:mdms-can-simulate-cot and thm:cot-can-simulate-mdms, with the overheads given there; one symbol "
        "at a time by prop:cot-as-pcot.",
        construction="theorems/pcot_to_mdm.py, theorems/mdm_to_pcot.py",
        run=by_theorem("pcot", "mdm", "pcot_to_mdm"),
        check=several(COT_TO_PCOT, PCOT_TO_MDM, MDM_TO_PCOT, PCOT_TO_COT),
    ),
    paper_item(
        label="takeaway:takeaway-2",
        kind="takeaway",
        title="masked diffusion is faster on parallel problems",
        statement="This is thm:cot-mdm-separation without the number of slots: parity takes ⌈log2 N⌉ steps of masked "
        "diffusion, and chains of log N steps are circuits of constant depth. That parity has no such circuit is "
        "cited.",
        construction="theorems/cot_to_ac0.py, verification/resources.py",
        run="unmask compare group:Z2 --lengths 8,16",
        check=several(own_result_checks.chains_in_parallel, problem_checks.steps_both_ways),
        erratum="4, as for thm:cot-mdm-separation.",
    ),
    paper_item(
        label="takeaway:takeaway-3",
        kind="takeaway",
        title="masked diffusion and looped transformers are equivalent",
        statement="thm:lts-mdms: each simulates the other in the same number of steps, with more space in one "
        "direction.",
        construction="theorems/mdm_to_plt.py, theorems/plt_to_mdm.py",
        run=by_theorem("mdm", "plt", "mdm_to_plt"),
        check=several(TO_PLT, TO_MDM),
    ),
    paper_item(
        label="takeaway:takeaway-4",
        kind="takeaway",
        title="regular languages in log N steps",
        statement="thm:regular-languages-in-mdm-efficient; both layouts, one slot per node and |Q| slots per node, "
        "take ⌈log2 N⌉ steps.",
        construction="programs/regular/product_tree.py",
        run="unmask compile '(ab)*' --length 8 --to mdm --out model && unmask run model abababab",
        check=several(ONE_SLOT_PER_NODE, problem_checks.states_per_node),
        bound="⌈log2 N⌉ steps",
        proofs=(rocq_proofs.REGULAR,),
    ),
    paper_item(
        label="takeaway:takeaway-5",
        kind="takeaway",
        title="steps and circuit depth",
        statement="cor:mdms-with-constant-steps and cor:mdms-with-polylog-steps. That constantly many steps do not "
        "decide parity, because it is not in AC0, is cited.",
        construction="programs/circuit_systems.py, verification/circuits/constant_depth.py",
        repaired="*standard transformers* must be *padded transformers*: AC0 needs polynomial padding. T and P must "
        "be computable in logarithmic space, as in the corollaries.",
        run="unmask compile family:majority --length 8 --to mdm --out circuit && unmask verify circuit",
        check=several(CONSTANT_STEPS, POLYLOG_STEPS),
        bound="depth at most c·T",
        erratum="9, and 1 for the corollaries.",
    ),
)


# All items of the paper, then our own results; look-up by label, number or words.


ITEMS: tuple[Item, ...] = (*NUMBERS, *FRAMEWORKS, *ASSUMPTIONS, *LEMMAS, *THEOREMS, *OTHERS, *FIGURES, *TAKEAWAYS, *OWN)
BY_LABEL = {item.label: item for item in ITEMS}

EQUATIONS = {
    "eq:mdm-simulates-lt": "thm:lts-mdms",
    "eq:softmax-attention-matrix": "def:transformer-layer*",
    "eq:gumbel-max-sampling": "def:gumbel-max-sampling",
    "eq:ignore-positions-condition": "lem:ignore-positions",
    "eq:focus-on-positions-condition": "lem:focus-on-marked-positions",
    "eq:focusing-attention-dot-product": "lem:focus-on-marked-positions",
    "eq:pos-enc-select-block": "lem:select-block",
    "eq:additional-pos-enc-1": "lem:unmask-conversion-fp",
}
"""Labelled equations that are part of an item."""


ABBREVIATIONS = {"thm": "theorem", "cor": "corollary", "lem": "lemma", "def": "definition", "prop": "proposition"}


def find_item(label: str) -> Item:
    """Return the item with a label. The label of an equation leads to the item that contains it."""
    label = EQUATIONS.get(label, label)
    for name in (label, f"{label}*"):
        if name in BY_LABEL:
            return BY_LABEL[name]
    labels = [*BY_LABEL, *EQUATIONS]
    close = get_close_matches(label, labels, 3) or [name for name in labels if label.lower() in name][:3]
    hint = f"did you mean {' or '.join(close)}?" if close and label else "`unmask paper` lists them all"
    raise UnmaskError(f"the paper has no item {label!r}; {hint}")


def search_items(query: str) -> tuple[Item, ...]:
    """Return the items with a label, a number such as "Theorem 3.1", or words; first those with the words in the title.

    Every word must occur in the label, the number, the kind, the title or the statement of an item.
    """
    if ":" in query and " " not in query.strip():
        return (find_item(query.strip()),)
    words = [ABBREVIATIONS.get(word.strip(".,;"), word.strip(",;")) for word in query.lower().split()]
    numbered = [item for item in ITEMS if item.number and item.number.lower() == " ".join(words)]
    if numbered:
        return tuple(numbered)
    matching = [item for item in ITEMS if words and all(word in _text(item) for word in words)]
    if not matching:
        return (find_item(query),)
    return tuple(sorted(matching, key=lambda item: not all(word in _title(item) for word in words)))


def _title(item: Item) -> str:
    return f"{item.label.replace('-', ' ')} {item.label} {item.number or ''} {item.title}".lower()


def _text(item: Item) -> str:
    return f"{_title(item)} {item.kind} {item.statement.lower()}"
