"""Results of our own, which the paper does not state: they go beyond it, or repair one of its statements."""

from unmask.paper.checks import conversions, own
from unmask.paper.checks.evidence import several
from unmask.paper.items.item import Item
from unmask.paper.items.results import by_theorem

OWN = (
    Item(
        label="own:mdm-to-fixed-k*",
        kind="own result",
        title="one k for all steps",
        statement="MDM[T, P] ⊆ top-k[T, 2P] with k = P: P dummy slots take up what the planner does not choose. A "
        "repair of thm:single-model-equivalence that keeps its fixed k.",
        construction="theorems/mdm_to_fixed_k.py",
        claim="holds",
        against_print=None,
        run=by_theorem("mdm", "topk", "mdm_to_fixed_k"),
        check=conversions.converter("mdm_to_fixed_k"),
        bound="T steps, 2P slots, k = P, max(L_U, L_S) + 1 layers, D_U + D_S + 2|Σ| + ⌈log2(N + 2P)⌉ + 7 columns",
        erratum="3.",
    ),
    Item(
        label="own:pcot-to-cot-answer-only*",
        kind="own result",
        title="a parallel chain in fewer than twice the steps",
        statement="pCoT[T, P] ⊆ CoT[2P - P' + 1], so P + 1 steps for T = 1: only the answer of the last block is "
        "written. The paper claims CoT[P] (prop:cot-as-pcot), which is open.",
        construction="theorems/pcot_to_cot_answer_only.py",
        claim="holds",
        against_print=None,
        run=by_theorem("pcot", "cot", "pcot_to_cot_answer_only"),
        check=conversions.converter("pcot_to_cot_answer_only"),
        bound="2P - P' + 1 steps, L + 1 layers, 2D + O(log(N + P)) columns",
        erratum="13.",
    ),
    Item(
        label="own:cot-to-ac0*",
        kind="own result",
        title="log N steps of chain of thought are within AC0",
        statement="T steps of chain of thought at fixed precision are decided by a circuit whose depth depends on "
        "neither N nor T: it tries all chains in parallel. It has |Σ|^T passes, which is polynomial for T = O(log "
        "N). That parity is not in AC0 is cited. Everything else in the separation from masked diffusion, which "
        "decides parity in ⌈log2 N⌉ steps, is run here.",
        construction="theorems/circuits/cot_to_ac0.py",
        claim="holds",
        against_print=None,
        run="unmask paper own:cot-to-ac0 --check",
        check=several(own.chains_in_parallel, own.parity_by_diffusion),
        bound="depth at most that of one pass and 5, a formula in p and the number of layers",
        erratum="4.",
    ),
    Item(
        label="own:parity-needs-long-chains*",
        kind="own result",
        title="short chains of thought do not decide parity",
        statement="At fixed precision, CoT[T] decides parity only if T = N^Ω(1). The circuit of own:cot-to-ac0* has "
        "depth d, which depends on the precision and the number of layers but on neither N nor T, and size "
        "|Σ|^T·poly(N + T). Parity at depth d needs size exp(Ω(N^(1/(d - 1)))), by Håstad's theorem, which is cited. "
        "So parity is in MDM[log N, N], and for no k in CoT[log^k N]. The paper only conjectures such a separation.",
        construction="theorems/circuits/cot_to_ac0.py",
        claim="holds",
        against_print=None,
        run="unmask paper own:parity-needs-long-chains --check",
        check=several(own.depth_without_steps, own.parity_by_diffusion),
        bound="T = Ω(N^(1/(d - 1))) steps, d the depth of the circuit",
    ),
    Item(
        label="own:majority-by-topk*",
        kind="own result",
        title="top-k counts",
        statement="A top-k model with k = ⌊N/2⌋ + 1 decides majority in two steps. That majority is not in AC0 is "
        "cited, so no masked diffusion model with constantly many steps decides it. Two caveats: k must grow with N, "
        "because for a constant k top-k is within AC0; and the lowest slot must win a tie, because with the other "
        "rule one word of 16 fails at N = 4.",
        construction="theorems/majority_by_topk.py",
        claim="holds",
        against_print=None,
        run="unmask paper own:majority-by-topk --check",
        check=own.majority,
        bound="2 steps, N + 1 slots, 2 layers, 2⌈log2(2N + 1)⌉ + 13 columns",
        erratum="3.",
    ),
)
