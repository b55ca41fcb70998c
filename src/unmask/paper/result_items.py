"""The theorems, corollaries, the proposition and the remark."""

from typing import Any

from unmask.paper import rocq_proofs
from unmask.paper.checks import (
    circuit_checks,
    own_result_checks,
    problem_checks,
    space_checks,
    theorem_checks,
    uniform_circuit_checks,
)
from unmask.paper.checks.evidence import ItemProof, several
from unmask.paper.checks.gadget_checks import with_lemmas
from unmask.paper.checks.problem_checks import with_every_length
from unmask.paper.item import Item, paper_item

COMPUTABLE = (
    "T and P must be computable in logarithmic space from 1^N. The paper does not restrict them, and then the left "
    "side contains undecidable languages (erratum 1)"
)
UNIFORM_BOTH_WAYS = (
    "Uniformity: a metered machine prints the circuits of five families, and the positional encoding of one program "
    "for every N calls it. In the other direction, a metered machine prints the circuit of a model gate by gate from "
    "its weights, without pruning. The limit of O(log N) bits for registers is enforced while they run. By hand: a "
    "metered function is a machine with logarithmic space, such a machine writes the weights of one program for every "
    "N, and the conversions between MDM and PLT preserve this (docs/background/uniformity.md)."
)
EXACT_SLOTS = (
    "This holds for every model of width D ≥ 2, for every T: `plt_to_mdm_packed` uses exactly (N + P)·D slots. The "
    "other slots of the last row store its last number digit by digit, so the last slot is free for the answer. "
    "`plt_to_mdm` uses one slot more and has fewer symbols. In both, a step does not know its number: final layers run "
    "in every step, and the gadget EMPTY detects rows that see nothing. If a final layer of the source divides by zero "
    "after the last loop, the answer is a symbol that the source does not have."
)

ONE_SLOT_PER_NODE = with_every_length(problem_checks.one_slot_per_node, "mdm", "smdm", "topk")
LOOPED = with_every_length(problem_checks.looped, "plt")


def every_source(stem: str, note: str) -> ItemProof:
    return ItemProof(
        covers="every N, T and word and every source of a given shape (symbols, columns, layers, heads, units), one "
        "shape and one p at a time",
        by="execution on weights without values, enumeration of all scores and an SMT solver",
        names=("layers", "rows", "scores", "layout", "decoding"),
        run=f"unmask prove theorem:{stem} --every-length",
        note=f"{note}; docs/background/every-length.md",
    )


def by_theorem(source: str, target: str, stem: str) -> str:
    return (
        f"unmask compile random:7 --length 2 --to {source} --out model && "
        f"unmask convert model --to {target} --by {stem} --out converted"
    )


TO_PLT = theorem_checks.conversion_check("mdm_to_plt")
TO_MDM = theorem_checks.conversion_check("plt_to_mdm", lengths=(1, 2), padding=1)
PACKED = theorem_checks.conversion_check("plt_to_mdm_packed", precisions=(1, 2, 3), lengths=(1, 2), padding=1)
COT_TO_PCOT = theorem_checks.conversion_check("cot_to_pcot")
PCOT_TO_COT = theorem_checks.conversion_check("pcot_to_cot")
PCOT_TO_MDM = theorem_checks.conversion_check("pcot_to_mdm")
PCOT_MIRRORED = theorem_checks.conversion_check("pcot_to_mdm_mirrored", seeds=25, precisions=(1, 2))
COT_MIRRORED = theorem_checks.conversion_check("cot_to_mdm_mirrored", seeds=25, precisions=(1, 2))
ONE_BY_ONE = theorem_checks.conversion_check("pcot_to_cot_hosted", seeds=25, precisions=(1, 2), block=1)
HOSTED = theorem_checks.conversion_check("pcot_to_cot_hosted", seeds=25, precisions=(1, 2), growth=False)
MDM_TO_PCOT = theorem_checks.conversion_check("mdm_to_pcot")
CONSTANT_STEPS = several(
    circuit_checks.constant_depth,
    circuit_checks.constantly_many_steps,
    uniform_circuit_checks.printed("contains-aba", "equal-halves"),
    uniform_circuit_checks.printed_by_counters,
)
POLYLOG_STEPS = several(
    circuit_checks.logarithmic_depth,
    circuit_checks.depth_per_step,
    uniform_circuit_checks.printed("formula", "parity", "reachability"),
    uniform_circuit_checks.printed_by_counters,
)
BACK_AND_FORTH = theorem_checks.chain(
    "cot → pcot → mdm → pcot → cot", ("cot_to_pcot", "pcot_to_mdm", "mdm_to_pcot", "pcot_to_cot"), seeds=3, steps=1
)

THEOREMS = (
    Item(
        label="thm:perfect-approximation-limitation",
        kind="theorem",
        title="perfect prediction with uniform unmasking is weak",
        statement="A model that predicts perfectly in every context and unmasks in uniform order computes nothing "
        "outside AC0: the answer may come first, so one pass must know it. That one pass is within AC0 is cited. The "
        "experiment: with its planner, the predictor of parity is always right. In uniform order it is right with "
        "probability exactly 1/2 + 1/2·Π 1/h(v), where h(v) is the size of the subtree of slot v. It is imperfect "
        "exactly at slots whose operands are missing.",
        construction="paper/checks/problem_checks.py",
        claim="cited",
        against_print=None,
        run="unmask compile group:Z2 --length 4 --to mdm --out parity && unmask run parity '+0 +1 +1 +0' --planner "
        "uniform:1 --sample --seed 3 --json",
        check=problem_checks.planner_is_needed,
    ),
    paper_item(
        label="thm:lts-mdms",
        kind="theorem",
        title="masked diffusion and looped transformers",
        statement=f"MDM[T, P] ⊆ PLT[T, P], and PLT[T, P] ⊆ MDM[T, (N + P)·D]. {EXACT_SLOTS}",
        construction="theorems/mdm_to_plt.py, theorems/plt_to_mdm.py",
        run=by_theorem("plt", "mdm", "plt_to_mdm_packed"),
        check=several(TO_PLT, TO_MDM, PACKED, theorem_checks.exact_slots),
        bound="T steps each (one more from a stochastic looped transformer); P pads, (N + P)·D slots; width O(log), a "
        "constant alphabet",
        erratum="16.",
    ),
    paper_item(
        label="thm:lts-can-simulate-mdms",
        kind="theorem",
        title="masked diffusion inside a looped transformer",
        statement="MDM[T, P] ⊆ PLT[T, P]: one loop is one denoising step. With noise, the same tape gives the same "
        "path.",
        construction="theorems/mdm_to_plt.py",
        run=by_theorem("mdm", "plt", "mdm_to_plt"),
        check=several(TO_PLT, theorem_checks.same_tape("mdm_to_plt", seeds=6)),
        bound="T loops, P pads, max(L_U, L_S) + 4 layers",
        erratum="34: in the proof, the predictor does not wait for the planner's decision; both run at once.",
    ),
    paper_item(
        label="thm:emdms-can-simulate-fplts",
        kind="theorem",
        title="a looped transformer inside masked diffusion",
        statement="PLT[T, P] ⊆ MDM[T, (N + P)·D]: the slots hold the residual stream, one number each, and one step is "
        f"one loop. {EXACT_SLOTS} If a stochastic source takes the noise that the slots draw, both run alike bit "
        "by bit. Each number of noise is drawn within d of its law, in total variation, where d < 0.296, 0.0991, "
        "0.0234 for p = 1, 2, 3. So if n numbers are drawn, the laws of runs are within 1 - (1 - d)^n of each other.",
        construction="theorems/plt_to_mdm.py",
        run=by_theorem("plt", "mdm", "plt_to_mdm_packed"),
        check=several(TO_MDM, PACKED, theorem_checks.exact_slots, theorem_checks.distance_of_noise),
        bound="max(T, 1) steps, (N + P)·D slots; with noise T + 1 steps and a slot more per row and noise column; "
        "width O(log), a constant alphabet",
        erratum="16: hosts for the P further rows, steps without a number, a slot for the answer; the proof ends with "
        "another number of slots.",
    ),
    paper_item(
        label="thm:regular-languages-in-mdm-efficient",
        kind="theorem",
        title="regular languages with N slots",
        statement="Every regular language is decided by masked diffusion in max(1, ⌈log2 N⌉) steps with max(1, N - 1) "
        "slots, one per node of the tree. The theorem is about every finite monoid; the compiler does this for "
        "transition monoids of at most 1,024 elements. For larger ones it uses |Q| slots per node, (N - 2)·|Q| + 1 in "
        "all.",
        construction="programs/regular/product_tree.py",
        run="unmask compile '(a|b)*abb' --length 16 --to mdm --out abb && unmask verify abb --method sample --cases "
        "100",
        check=several(ONE_SLOT_PER_NODE, problem_checks.states_per_node),
        bound="max(1, ⌈log2 N⌉) steps, max(1, N - 1) slots",
        erratum="26: the statement holds; in the proof, the printed layout multiplies in a rotated order unless N is a "
        "power of two, and nothing emits the answer.",
        proofs=(rocq_proofs.REGULAR,),
    ),
    paper_item(
        label="thm:mdms-can-simulate-cot",
        kind="theorem",
        title="parallel chain of thought inside masked diffusion",
        statement="pCoT[T, P] ⊆ MDM[T, P + (N + P)(⌈log2(N + P)⌉ - 1)], with as many heads as the chain, or MDM[T, P + "
        "3], with O(log N) heads for each of its heads (own:causal-by-two-streams*). Both are within the paper's P + "
        "(N + P)².",
        construction="theorems/pcot_to_mdm.py, theorems/pcot_to_mdm_mirrored.py",
        run=by_theorem("pcot", "mdm", "pcot_to_mdm"),
        check=several(PCOT_TO_MDM, PCOT_MIRRORED),
        bound="T steps; P + (N + P)(⌈log2(N + P)⌉ - 1) slots, L + 1 layers; or P + 3 slots, 1 + L·(3m + 3) layers, m = "
        "2, 7, 15 for p = 1, 2, 3",
        erratum="17: the statement holds, and (N + P)² slots are not needed; in the proof, the answer is not in the "
        "last slot, and a chain does see its own masks.",
    ),
    paper_item(
        label="thm:cot-can-simulate-mdms",
        kind="theorem",
        title="masked diffusion inside parallel chain of thought",
        statement="MDM[T, P] ⊆ pCoT[T, L·T·(N + P)], as a statement about classes: a model of L₀ layers is also one of "
        "L = L₀ + 1 layers, the last of which is the identity, and T·(L₀·(N + P) + P) ≤ (L₀ + 1)·T·(N + P). For a "
        "given model of L layers the conversion writes T·(L·(N + P) + P) symbols, or L·T·(N + P) if the input is "
        "padded by P symbols, as in the paper's proof.",
        construction="theorems/mdm_to_pcot.py",
        run=by_theorem("mdm", "pcot", "mdm_to_pcot"),
        check=several(MDM_TO_PCOT, theorem_checks.with_padded_input),
        bound="T steps, T·(L·(N + P) + P) symbols, L + 2 layers",
        erratum="18: the divisors of the positions; another lemma is meant; L is the deeper of planner and predictor.",
    ),
    paper_item(
        label="thm:single-model-equivalence",
        kind="theorem",
        title="planner and predictor in one transformer",
        statement="Every masked diffusion model is simulated by one transformer that writes the slots whose largest "
        "logit is above -B. These are the slots that the planner chooses. The converse holds for this threshold rule. "
        "It fails for a fixed k, because ranking k slots is counting.",
        construction="theorems/mdm_and_topk.py",
        repaired="a threshold (logits above -B) chooses the slots. The paper fixes k, but one k cannot choose the "
        "same slots as a planner in every step. With P dummy slots it can: own:mdm-to-fixed-k*. The distribution is "
        "the same at the chosen slots; the paper claims this for all slots.",
        run=by_theorem("mdm", "topk", "planner_and_predictor_to_topk"),
        check=several(
            theorem_checks.conversion_check("planner_and_predictor_to_topk"), theorem_checks.topk_by_threshold
        ),
        bound="T steps, P slots, max(L_U, L_S) + 1 layers",
        erratum="3: k varies from step to step; B must be subtracted twice.",
    ),
    paper_item(
        label="thm:mdms-can-simulate-emdms",
        kind="theorem",
        title="without editing",
        statement="MDM[T, P] ⊆ sMDM[T, T·P]: a new block of slots for every step, so that no slot is written twice.",
        construction="theorems/mdm_and_smdm.py",
        run=by_theorem("mdm", "smdm", "mdm_to_smdm"),
        check=several(theorem_checks.conversion_check("mdm_to_smdm"), theorem_checks.conversion_check("smdm_to_mdm")),
        bound="T steps, T·P slots, one symbol more",
        erratum="20: the statement holds; in the proof, a slot that stays masked cannot be copied as m, so it is "
        "copied as a proxy symbol. The first block has no previous block.",
        proofs=(
            every_source("mdm_to_smdm", "of mdm_to_smdm, for every P, p <= 4, both transformers of one attention"),
        ),
    ),
    paper_item(
        label="thm:mdms-cot-sandwich",
        kind="corollary",
        title="the sandwich",
        statement="CoT[T] ⊆ pCoT[T, T] ⊆ MDM[T, T + (N + T)(⌈log2(N + T)⌉ - 1)] ⊆ pCoT ⊆ CoT, each by a conversion of "
        "weights. The last conversion writes two symbols for each symbol. Each conversion is checked on its own, and "
        "all of them as one chain at N = 1, T = 1. Also CoT[T] ⊆ MDM[T, T + 3] (own:causal-by-two-streams*).",
        construction="theorems/all_theorems.py",
        repaired="in the last two lines L becomes 2L: their proof uses pCoT[T, P] ⊆ CoT[P] of prop:cot-as-pcot, "
        "which is shown for T = O(log N) and open for larger T; pCoT[T, P] ⊆ CoT[2P] holds for every T. Since identity "
        "layers may be added to a model, L may be any larger constant. So every line holds with L = 2(L₀ + 1) for the "
        "language of a model of L₀ layers. The form for T >= N holds as printed, with smaller bounds: T + 3, O(T²) and "
        "O(T²) instead of T², T³ and T³.",
        run="unmask compile random:1 --length 1 --to cot --out chain && unmask convert chain --to mdm --out diffusion "
        "&& unmask convert diffusion --to cot --out again",
        check=several(COT_TO_PCOT, PCOT_TO_MDM, COT_MIRRORED, MDM_TO_PCOT, PCOT_TO_COT, BACK_AND_FORTH),
        bound="the last chain has 2·T·(L·(N + P) + P) steps, where P and L are those of the masked diffusion model",
        erratum="13, 15 and 17.",
    ),
    paper_item(
        label="thm:cot-mdm-separation",
        kind="corollary",
        title="chain of thought is slower",
        statement="CoT[log N] ⊊ MDM[log N, N]. The inclusion: CoT[T] ⊆ MDM[T, T + 3], by a conversion of weights with "
        "O(log N) heads for each head of the chain, and ⌈log2 N⌉ + 3 ≤ N for N ≥ 6. For shorter words a table needs "
        "one step and one slot (by hand). The inclusion is strict: parity and the word problem of A5 take ⌈log2 N⌉ "
        "steps of masked diffusion (and N steps of the compiled chain, an upper bound), and chains of log N steps are "
        "circuits of constant depth (own:cot-to-ac0*). It is cited, not run, that parity has no such circuits.",
        construction="theorems/pcot_to_mdm_mirrored.py, theorems/cot_to_ac0.py, verification/resources.py",
        run="unmask compare group:A5 --lengths 8",
        check=several(
            own_result_checks.chains_in_parallel,
            problem_checks.steps_both_ways,
            theorem_checks.at_most_n_slots,
            COT_MIRRORED,
        ),
        bound="MDM: ⌈log2 N⌉ steps, ⌈log2 N⌉ + 3 slots; CoT: N steps measured",
        erratum="4: the statement holds; the proof gives the inclusion with about N² slots, and assumes a conjecture "
        "that is not needed at fixed precision.",
    ),
)

OTHERS = (
    paper_item(
        label="cor:mdm-lt-equivalence",
        kind="corollary",
        title="the same up to logarithms",
        statement="For K >= 1, MDM[T, Õ(N^K)] = PLT[T, Õ(N^K)].",
        construction="theorems/plt_to_mdm.py, theorems/mdm_to_plt.py",
        refuted=True,
        repaired="the paper has PLT[T, O(N^K)] on the right-hand side. That is false for T = 2^(c·S) with S = "
        "N^K·log² N: the left side then contains a language of DSPACE(S) that is not in DSPACE(N^K·log N), which "
        "contains the right side (space hierarchy theorem; docs/paper/counterexample.md). With Õ on both sides it "
        "holds. For polynomial T the paper's form is open.",
        run="unmask compile random:2 --length 1 --to plt --out looped && unmask convert looped --to mdm --out "
        "diffusion && unmask convert diffusion --to plt --by mdm_to_plt --out again",
        check=several(
            TO_MDM,
            TO_PLT,
            theorem_checks.chain("plt → mdm → plt", ("plt_to_mdm", "mdm_to_plt"), seeds=4, padding=0, steps=2),
            space_checks.machine_in_slots,
            space_checks.periodic_loops,
        ),
        bound="(N + P)·D + 1 slots, and the same number of pads for the conversion back",
        erratum="2.",
    ),
    paper_item(
        label="cor:mdms-can-simulate-regular-languages",
        kind="corollary",
        title="regular languages through looped transformers",
        statement="Regular languages are in MDM[log N, O(N log N)], by the looped transformer with log N loops and its "
        "conversion. thm:regular-languages-in-mdm-efficient needs only N slots. Layout: the looped transformer has one "
        "row per letter. The row holds an element of the monoid (if it has at most 1,024) or a map of states as a "
        "matrix of width O(|Q|²). The conversion stores every number of every row in a slot.",
        construction="theorems/plt_to_mdm.py",
        run="unmask compile '(ab)*' --length 2 --to plt --out looped && unmask convert looped --to mdm --out "
        "diffusion && unmask run diffusion ab",
        check=several(LOOPED, problem_checks.looped_then_converted, problem_checks.converted),
        bound="⌈log2 N⌉ steps, (N + 1)·D + 1 slots",
    ),
    paper_item(
        label="cor:mdms-with-constant-steps",
        kind="corollary",
        title="constantly many steps",
        statement="MDM[O(1), poly(N)] = PLT[O(1), poly(N)] = L-uniform AC0, for T and P computable in logarithmic "
        "space. The model of a circuit has as many steps as the circuit has levels. For every p, the depth of the "
        "circuit of a model is below a bound that does not depend on N, because every sum in F_p is a cascade of "
        f"flip-flops. Circuits are extracted and evaluated only at p = 1. {UNIFORM_BOTH_WAYS}",
        construction="programs/circuit_systems.py, verification/circuits/constant_depth.py, "
        "programs/printed_circuit_programs.py, verification/circuits/printed_extraction.py",
        repaired=f"{COMPUTABLE}.",
        erratum="1.",
        run="unmask compile family:contains-aba --length 8 --to mdm --out circuit && unmask verify circuit",
        check=CONSTANT_STEPS,
        bound="T = depth, a slot per wire and gate; in the other direction depth at most c·T, where c is a formula in "
        "p and the number of layers",
    ),
    paper_item(
        label="cor:mdms-with-polylog-steps",
        kind="corollary",
        title="polylogarithmically many steps",
        statement="MDM[O(log^d N), poly(N)] = PLT[O(log^d N), poly(N)] = L-uniform AC^d, for T and P computable in "
        "logarithmic space. As with constantly many steps: each step adds a constant number of levels to the circuit, "
        f"and steps beyond the depth change nothing. {UNIFORM_BOTH_WAYS}",
        construction="programs/circuit_systems.py, verification/circuits/constant_depth.py, "
        "programs/printed_circuit_programs.py, verification/circuits/printed_extraction.py",
        repaired=f"{COMPUTABLE}.",
        erratum="1.",
        run="unmask compile family:majority --length 8 --to mdm --out circuit && unmask verify circuit",
        check=POLYLOG_STEPS,
        bound="T = depth, a slot per wire and gate; in the other direction depth at most c·T, where c is a formula in "
        "p and the number of layers",
    ),
    paper_item(
        label="cor:mdms-with-polynomially-many-steps*",
        kind="corollary",
        title="polynomially many steps",
        statement="MDM[T, N^K] ⊆ CoT[O(T·N^K)]. That chains of polynomial length are within P is cited.",
        construction="theorems/mdm_to_pcot.py, theorems/cot_and_pcot.py",
        run="unmask compile random:1 --length 1 --to mdm --out diffusion && unmask convert diffusion --to cot --out "
        "chain",
        check=several(
            MDM_TO_PCOT,
            PCOT_TO_COT,
            theorem_checks.chain("mdm → pcot → cot", ("mdm_to_pcot", "pcot_to_cot"), seeds=4, padding=1, steps=2),
        ),
        bound="2·T·(L·(N + P) + P) steps",
        erratum="13: the factor 2, which the O-notation absorbs.",
    ),
    paper_item(
        label="prop:cot-as-pcot",
        kind="proposition",
        title="chain of thought, one symbol or many at a time",
        statement="CoT[T] = pCoT[T, T] for every T. pCoT[T, P] ⊆ CoT[P] with O(T + log N) columns, which is within the "
        "paper's width for T = O(log N). pCoT[T, P] ⊆ CoT[2P] with O(log N) columns for every T. A chain in P steps "
        "has a begin symbol.",
        construction="theorems/cot_and_pcot.py, theorems/pcot_to_cot_hosted.py, programs/hosted_masks.py",
        still_open="the first half, pCoT[T, T] = CoT[T], holds as stated, but it is not obvious: there is no row for a "
        "mask when its symbol is predicted. So the row before it simulates both rows, and several heads compute their "
        "common softmax. The second half, pCoT[T, P] ⊆ CoT[P], is shown for T = O(log N). For larger T and blocks of "
        "several symbols it is open: masks must not see the symbols of their own block, and the construction here "
        "needs a column per block to hide them.",
        run=by_theorem("pcot", "cot", "pcot_to_cot_hosted"),
        check=with_lemmas("prop:cot-as-pcot", several(COT_TO_PCOT, PCOT_TO_COT, ONE_BY_ONE, HOSTED)),
        bound="P steps, L·(2m + 4) layers, O(log N) heads for each head, m = 2, 7, 15 for p = 1, 2, 3; or 2P steps, "
        "L + 1 layers",
        erratum="13.",
        proofs=(every_source("cot_to_pcot", "of cot_to_pcot alone: CoT[T] ⊆ pCoT[T, T]"),),
    ),
    Item(
        label="thm:looped-transformers-characterization",
        kind="remark",
        title="what looped transformers are known to do",
        statement="Regular languages in log N loops; CoT[T] in T loops with width O(T); AC0 with constantly many "
        "loops and polynomial padding, TC0 at log precision; TC^d with log^d N loops at log precision. The first is "
        "run here, with one pad and one row per letter, which holds an element of the monoid (up to 1,024 of them).",
        construction="programs/regular/product_loop.py",
        claim="cited",
        against_print=None,
        run="unmask compile '(a|b)*abb' --length 8 --to plt --out looped && unmask verify looped",
        check=LOOPED,
        erratum="11: items 3 and 4 must say constantly many loops; with log N they would contradict item 1 and the "
        "polylog corollary.",
    ),
)


# Our own results, which the paper does not state: they go beyond it, or repair one of its statements.


def _own_result(**fields: Any) -> Item:
    return Item(kind="own result", claim="holds", against_print=None, **fields)


OWN = (
    _own_result(
        label="own:mdm-to-fixed-k*",
        title="one k for all steps",
        statement="MDM[T, P] ⊆ top-k[T, 2P] with k = P: if the planner chooses fewer than P slots, dummy slots make up "
        "the difference. This repairs thm:single-model-equivalence with a fixed k.",
        construction="theorems/mdm_and_topk.py",
        run=by_theorem("mdm", "topk", "mdm_to_fixed_k"),
        check=theorem_checks.conversion_check("mdm_to_fixed_k"),
        bound="T steps, 2P slots, k = P, max(L_U, L_S) + 1 layers, D_U + D_S + 2|Σ| + ⌈log2(N + 2P)⌉ + 7 columns",
        erratum="3.",
    ),
    _own_result(
        label="own:mdm-speed-up*",
        title="constant factors in the number of steps",
        statement="MDM[cT, P] ⊆ MDM[T, P] for every constant c: planner and predictor take c steps in one pass, with "
        "the same slots and c times as many layers (and four more per step). So a constant factor in a bound on the "
        "steps is meaningful only together with a bound on the layers. If c does not divide the number of steps, the "
        "first pass, which is recognised because no slot is written, takes fewer steps. Sampled runs are not covered.",
        construction="theorems/mdm_speed_up.py",
        run=by_theorem("mdm", "mdm", "mdm_speed_up"),
        check=several(
            theorem_checks.conversion_check("mdm_speed_up"), theorem_checks.conversion_check("mdm_speed_up:3")
        ),
        bound="⌈T/c⌉ steps, P slots, c·(max(L_U, L_S) + 4) layers, 2(D_U + D_S) + 5|Σ| + ⌈log2(N + P)⌉ + 4 columns, 3 "
        "more if c does not divide T",
    ),
    _own_result(
        label="own:causal-by-two-streams*",
        title="causal attention by unmasked attention without further rows",
        statement="pCoT[T, P] ⊆ MDM[T, P + 3] and CoT[T] ⊆ MDM[T, T + 3], with O(log N) heads in a layer for each head "
        "of the chain, O(1) layers for each layer and width O(log N), at fixed p: every row holds two streams, so that "
        "the rows are there in order and in reverse order. Hence CoT[log N] ⊆ MDM[log N, N]. With one head for each "
        "head, `pcot_to_mdm` takes (N + P)(⌈log2(N + P)⌉ - 1) + P slots. The paper has neither construction.",
        construction="theorems/pcot_to_mdm_mirrored.py, programs/mirrored_rows.py",
        run=by_theorem("cot", "mdm", "cot_to_mdm_mirrored"),
        check=several(
            COT_MIRRORED,
            PCOT_MIRRORED,
            theorem_checks.fewer_slots("pcot_to_mdm_mirrored", "pcot_to_mdm"),
        ),
        bound="T steps, P + 3 slots, 1 + L·(3m + 3) layers, max(11, g)·⌈log2(N + P + 1)⌉ heads for each head and one "
        "more; m = 2, 7, 15 and g = 3, 10, 25 for p = 1, 2, 3",
        erratum="4.",
    ),
    _own_result(
        label="own:pcot-to-cot-answer-only*",
        title="a parallel chain in fewer than twice the steps",
        statement="pCoT[T, P] ⊆ CoT[2P - P' + 1], so P + 1 steps for T = 1: only the answer of the last block is "
        "written. CoT[P], which the paper claims, costs more layers and heads, and is open for large T "
        "(prop:cot-as-pcot).",
        construction="theorems/cot_and_pcot.py",
        run=by_theorem("pcot", "cot", "pcot_to_cot_answer_only"),
        check=theorem_checks.conversion_check("pcot_to_cot_answer_only"),
        bound="2P - P' + 1 steps, L + 1 layers, 2D + O(log(N + P)) columns",
        erratum="13.",
    ),
    _own_result(
        label="own:cot-to-ac0*",
        title="log N steps of chain of thought are within AC0",
        statement="T steps of chain of thought at fixed precision are decided by a circuit whose depth depends on "
        "neither N nor T: it tries all chains in parallel. It has |Σ|^T passes, which is polynomial for T = O(log "
        "N). With the symbols in constantly many groups, N^ε passes are enough; then a cited lower bound for cliques "
        "shows that AC0 is larger (docs/paper/our-results.md). That parity is not in AC0 is cited. Everything else in "
        "the separation from masked diffusion, which decides parity in ⌈log2 N⌉ steps, is run here.",
        construction="theorems/cot_to_ac0.py",
        run="unmask paper own:cot-to-ac0 --check",
        check=several(
            own_result_checks.chains_in_parallel,
            own_result_checks.chains_in_groups,
            own_result_checks.parity_by_diffusion,
        ),
        bound="depth at most that of one pass and 5, a formula in p and the number of layers",
        erratum="4.",
    ),
    _own_result(
        label="own:parity-needs-long-chains*",
        title="short chains of thought do not decide parity",
        statement="At fixed precision, CoT[T] decides parity only if T = N^Ω(1). The circuit of own:cot-to-ac0* has "
        "depth d, which depends on the precision and the number of layers but on neither N nor T, and size "
        "|Σ|^T·poly(N + T). Parity at depth d needs size exp(Ω(N^(1/(d - 1)))), by Håstad's theorem, which is cited. "
        "So parity is in MDM[log N, N], and for no k in CoT[log^k N]. The paper only conjectures such a separation.",
        construction="theorems/cot_to_ac0.py",
        run="unmask paper own:parity-needs-long-chains --check",
        check=several(own_result_checks.depth_without_steps, own_result_checks.parity_by_diffusion),
        bound="T = Ω(N^(1/(d - 1))) steps, d the depth of the circuit",
    ),
    _own_result(
        label="own:majority-by-topk*",
        title="top-k counts",
        statement="A top-k model with k = ⌊N/2⌋ + 1 decides majority in two steps. That majority is not in AC0 is "
        "cited, so no masked diffusion model with constantly many steps decides it. Two caveats: k must grow with N, "
        "because for a constant k top-k is within AC0; and the lowest slot must win a tie, because with the other "
        "rule one word of 16 fails at N = 4.",
        construction="theorems/mdm_and_topk.py",
        run="unmask paper own:majority-by-topk --check",
        check=own_result_checks.majority,
        bound="2 steps, N + 1 slots, 2 layers, 2⌈log2(2N + 1)⌉ + 13 columns",
        erratum="3.",
    ),
)
