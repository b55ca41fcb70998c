"""The theorems, corollaries, the proposition and the remark."""

from unmask.paper import circuit_checks as circuits
from unmask.paper import conversion_checks as conversions
from unmask.paper import extraction_checks as extraction
from unmask.paper import problem_checks as problems
from unmask.paper.item import Item

UNIFORM = "That both constructions run in logarithmic space, as uniformity asks, is not checked."


def by_theorem(source: str, target: str, stem: str) -> str:
    return (
        f"unmask compile random:7 --length 2 --to {source} --out model && "
        f"unmask convert model --to {target} --by {stem} --out converted"
    )


TO_PLT = conversions.converter("mdm_to_plt", seeds=16)
TO_MDM = conversions.converter("plt_to_mdm", seeds=16, lengths=(1, 2), padding=1)
COT_TO_PCOT = conversions.converter("cot_to_pcot", seeds=20)
PCOT_TO_COT = conversions.converter("pcot_to_cot", seeds=12)
PCOT_TO_MDM = conversions.converter("pcot_to_mdm", seeds=16)
MDM_TO_PCOT = conversions.converter("mdm_to_pcot", seeds=14)
CONSTANT_STEPS = conversions.several(circuits.constant_depth, extraction.constantly_many_steps)
POLYLOG_STEPS = conversions.several(circuits.logarithmic_depth, extraction.depth_per_step)

THEOREMS = (
    Item(
        "thm:perfect-approximation-limitation",
        "theorem",
        "perfect prediction with uniform unmasking is weak",
        "A model that predicts perfectly in every context and unmasks uniformly computes nothing outside AC0: the "
        "answer "
        "may come first, so that one pass must know it. That one pass is within AC0 is cited. The experiment: parity's "
        "predictor, planned, is always right; unmasked uniformly it is right with probability exactly "
        "1/2 + 1/2·Π 1/h(v), h(v) the size of the subtree of slot v; and it is imperfect exactly at slots that wait.",
        "paper/problem_checks.py",
        "cited",
        "unmask compile group:Z2 --length 4 --to mdm --out parity && "
        "unmask run parity '+0 +1 +1 +0' --planner uniform:1 --sample --seed 3 --json",
        problems.planner_is_needed,
    ),
    Item(
        "thm:lts-mdms",
        "theorem",
        "masked diffusion and looped transformers",
        "MDM[T, P] ⊆ PLT[T, P], and PLT[T, P] ⊆ MDM[T, (N + P)·D + 1].",
        "theorems/mdm_to_plt.py, theorems/plt_to_mdm.py",
        "holds",
        by_theorem("plt", "mdm", "plt_to_mdm"),
        conversions.several(
            conversions.converter("mdm_to_plt", seeds=4),
            conversions.converter("plt_to_mdm", seeds=4, lengths=(1, 2), padding=1),
        ),
        "T steps each (one more from a stochastic looped transformer); P pads, (N + P)·D + 1 slots",
        "19: the answer needs a slot of its own, hence + 1.",
    ),
    Item(
        "thm:lts-can-simulate-mdms",
        "theorem",
        "masked diffusion inside a looped transformer",
        "MDM[T, P] ⊆ PLT[T, P]: one loop is one denoising step. With noise, the same tape gives the same path.",
        "theorems/mdm_to_plt.py",
        "holds",
        by_theorem("mdm", "plt", "mdm_to_plt"),
        conversions.several(TO_PLT, conversions.same_tape("mdm_to_plt", seeds=6)),
        "T loops, P pads, max(L_U, L_S) + 4 layers",
        "26: the predictor does not depend on the planner's decision; both run at once.",
    ),
    Item(
        "thm:emdms-can-simulate-fplts",
        "theorem",
        "a looped transformer inside masked diffusion",
        "PLT[T, P] ⊆ MDM[T, (N + P)·D + 1]: the slots hold the residual stream, number by number; one step is one "
        "loop.",
        "theorems/plt_to_mdm.py",
        "holds",
        by_theorem("plt", "mdm", "plt_to_mdm"),
        TO_MDM,
        "max(T, 1) steps, (N + P)·D + 1 slots; with noise T + 1 steps and a slot more per row and noise column",
        "19: hosts for the P further rows, no clock, a slot for the answer; the proof ends with another count.",
    ),
    Item(
        "thm:regular-languages-in-mdm-efficient",
        "theorem",
        "regular languages with N slots",
        "Every regular language is decided by masked diffusion in ⌈log2 N⌉ steps with at most N slots.",
        "programs/tree_diffusion.py",
        "holds",
        "unmask compile '(a|b)*abb' --length 16 --to mdm --out abb && unmask verify abb --method sample --cases 100",
        problems.regular_languages,
        "⌈log2 N⌉ steps, max(1, N - 1) slots",
        "21: the printed layout multiplies in a rotated order unless N is a power of two; nothing emits the answer.",
    ),
    Item(
        "thm:mdms-can-simulate-cot",
        "theorem",
        "parallel chain of thought inside masked diffusion",
        "pCoT[T, P] ⊆ MDM[T, P + (N + P)(⌈log2(N + P)⌉ - 1)], which is within the paper's P + (N + P)².",
        "theorems/pcot_to_mdm.py",
        "holds",
        by_theorem("pcot", "mdm", "pcot_to_mdm"),
        PCOT_TO_MDM,
        "T steps, P + (N + P)(⌈log2(N + P)⌉ - 1) slots, L + 1 layers",
        "22: the answer must stand in the last slot; a chain does see its own masks. The blow-up is logarithmic, not "
        "quadratic.",
    ),
    Item(
        "thm:cot-can-simulate-mdms",
        "theorem",
        "masked diffusion inside parallel chain of thought",
        "MDM[T, P] ⊆ pCoT[T, L·T·(N + P)] if the input comes padded by P symbols, and pCoT[T, T·(L·(N + P) + P)] if "
        "not.",
        "theorems/mdm_to_pcot.py",
        "holds",
        by_theorem("mdm", "pcot", "mdm_to_pcot"),
        MDM_TO_PCOT,
        "T steps, T·(L·(N + P) + P) symbols, L + 2 layers",
        "23: the divisors of the positions; another lemma is meant; L is the deeper of planner and predictor.",
    ),
    Item(
        "thm:single-model-equivalence",
        "theorem",
        "planner and predictor in one transformer",
        "Every masked diffusion model is one transformer that writes the slots whose largest logit is above -B; "
        "these are "
        "the slots the planner chooses. The converse holds for this threshold rule, and not for a fixed k, which "
        "counts.",
        "theorems/planner_and_predictor_to_topk.py",
        "holds",
        by_theorem("mdm", "topk", "planner_and_predictor_to_topk"),
        conversions.several(
            conversions.converter("planner_and_predictor_to_topk", seeds=16), conversions.topk_by_threshold
        ),
        "T steps, P slots, max(L_U, L_S) + 1 layers",
        "7: k varies from step to step; B must be subtracted twice; the law is kept at chosen slots only.",
    ),
    Item(
        "thm:mdms-can-simulate-emdms",
        "theorem",
        "without editing",
        "MDM[T, P] ⊆ sMDM[T, T·P]: a new block of slots for every step, so that no slot is written twice.",
        "theorems/mdm_to_smdm.py",
        "holds",
        by_theorem("mdm", "smdm", "mdm_to_smdm"),
        conversions.several(
            conversions.converter("mdm_to_smdm", seeds=12), conversions.converter("smdm_to_mdm", seeds=6)
        ),
        "T steps, T·P slots, one symbol more",
        "8: a slot that stays masked cannot be copied as m; a proxy symbol stands for it. The first block has none "
        "before it.",
    ),
    Item(
        "thm:mdms-cot-sandwich",
        "corollary",
        "the sandwich",
        "CoT[T] ⊆ pCoT[T, T] ⊆ MDM[T, T + (N + T)(⌈log2(N + T)⌉ - 1)] ⊆ pCoT ⊆ CoT, each by a conversion of weights; "
        "the last hop with two symbols for each. Run as one chain at N = 1, T = 1.",
        "theorems/route.py",
        "holds",
        "unmask compile random:1 --length 1 --to cot --out chain && unmask convert chain --to mdm --out diffusion && "
        "unmask convert diffusion --to cot --out again",
        conversions.chain(
            "cot → pcot → mdm → pcot → cot",
            ("cot_to_pcot", "pcot_to_mdm", "mdm_to_pcot", "pcot_to_cot"),
            seeds=3,
            steps=1,
        ),
        "the last chain has 2·T·(L·(N + P) + P) steps, where P and L are those of the masked diffusion model",
        "6: the last inclusion with the factor 2.",
    ),
    Item(
        "thm:cot-mdm-separation",
        "corollary",
        "chain of thought is slower",
        "CoT[log N] is strictly within masked diffusion of log N steps. A run shows upper bounds only: parity and "
        "the word "
        "problem of A5 in ⌈log2 N⌉ steps by masked diffusion, in N by the compiled chain of thought. That no chain "
        "does it "
        "in log N is cited. The inclusion is shown with (N + log N)·log N slots, about N log N; with N slots it is "
        "open.",
        "verification/compare.py",
        "cited",
        "unmask compare group:A5 --lengths 8",
        problems.steps_both_ways,
        "MDM: ⌈log2 N⌉ steps; CoT: N steps measured",
        "24: the inclusion with N slots is not proved; at fixed precision no conjecture is needed.",
    ),
)

OTHERS = (
    Item(
        "cor:mdm-lt-equivalence",
        "corollary",
        "the same up to logarithms",
        "For K >= 1, MDM[T, Õ(N^K)] = PLT[T, Õ(N^K)].",
        "theorems/plt_to_mdm.py, theorems/mdm_to_plt.py",
        "holds",
        "unmask compile random:2 --length 1 --to plt --out looped && unmask convert looped --to mdm --out diffusion && "
        "unmask convert diffusion --to plt --by mdm_to_plt --out again",
        conversions.chain("plt → mdm → plt", ("plt_to_mdm", "mdm_to_plt"), seeds=4, padding=0, steps=2),
        "(N + P)·D + 1 slots there, as many pads back",
        "20: Õ is needed on both sides.",
    ),
    Item(
        "cor:mdms-can-simulate-regular-languages",
        "corollary",
        "regular languages through looped transformers",
        "Regular languages are in MDM[log N, N log N], by the looped transformer of log N loops and its conversion. "
        "The direct construction needs N slots.",
        "theorems/plt_to_mdm.py",
        "holds",
        "unmask compile '(ab)*' --length 2 --to plt --out looped && unmask convert looped --to mdm --out diffusion && "
        "unmask run diffusion ab",
        conversions.several(problems.looped_then_converted, problems.conversions_of_compiled),
        "⌈log2 N⌉ steps, (N + 1)·D + 1 slots",
    ),
    Item(
        "cor:mdms-with-constant-steps",
        "corollary",
        "constantly many steps",
        "MDM[O(1), poly(N)] = PLT[O(1), poly(N)] = L-uniform AC0. Circuits become models with as many steps as they "
        "are deep; models become circuits whose depth does not grow with N: every sum of F_p is a cascade of "
        "flip-flops. " + UNIFORM,
        "programs/circuit_diffusion.py, verification/constant_depth_reasoners.py",
        "holds",
        "unmask compile family:contains-aba --length 8 --to mdm --out circuit && unmask verify circuit",
        CONSTANT_STEPS,
        "T = depth, a slot per wire and gate; back: depth at most c·T, c a formula in p and the number of layers",
    ),
    Item(
        "cor:mdms-with-polylog-steps",
        "corollary",
        "polylogarithmically many steps",
        "MDM[O(log^d N), poly(N)] = PLT[O(log^d N), poly(N)] = L-uniform AC^d. As with constantly many steps: a step "
        "costs the circuit a constant number of levels. " + UNIFORM,
        "programs/circuit_diffusion.py, verification/constant_depth_reasoners.py",
        "holds",
        "unmask compile family:parity --length 8 --to mdm --out circuit && unmask verify circuit",
        POLYLOG_STEPS,
        "T = depth, a slot per wire and gate; back: depth at most c·T, c a formula in p and the number of layers",
    ),
    Item(
        "cor:mdms-with-polynomially-many-steps*",
        "corollary",
        "polynomially many steps",
        "MDM[T, N^K] ⊆ CoT[O(T·N^K)], hence within P.",
        "theorems/mdm_to_pcot.py, theorems/pcot_to_cot.py",
        "holds",
        "unmask compile random:1 --length 1 --to mdm --out diffusion && unmask convert diffusion --to cot --out chain",
        conversions.chain("mdm → pcot → cot", ("mdm_to_pcot", "pcot_to_cot"), seeds=4, padding=1, steps=2),
        "2·T·(L·(N + P) + P) steps",
        "6: the factor 2, which O absorbs.",
    ),
    Item(
        "prop:cot-as-pcot",
        "proposition",
        "chain of thought, one symbol or many at a time",
        "CoT[T] = pCoT[T, T] up to a factor 2 one way: CoT[T] ⊆ pCoT[T, T], and pCoT[T, P] ⊆ CoT[2P].",
        "theorems/cot_to_pcot.py, theorems/pcot_to_cot.py",
        "holds",
        by_theorem("pcot", "cot", "pcot_to_cot"),
        conversions.several(COT_TO_PCOT, PCOT_TO_COT),
        "T steps; 2P steps",
        "6: P steps, as printed, are neither proved nor refuted: a mask's own key does not fit into a chain of "
        "symbols.",
    ),
    Item(
        "thm:looped-transformers-characterization",
        "remark",
        "what looped transformers are known to do",
        "Regular languages in log N loops; CoT[T] in T loops with width O(T); AC0 with constantly many loops and "
        "polynomial padding, TC0 at log precision; TC^d with log^d N loops at log precision. The first is run here.",
        "programs/tree_looped.py",
        "cited",
        "unmask compile '(a|b)*abb' --length 8 --to plt --out looped && unmask verify looped",
        problems.looped_regular_languages,
        erratum="25: items 3 and 4 must say constantly many loops; with log N they would contradict item 1 and the "
        "polylog "
        "corollary.",
    ),
)
