"""The figures and takeaways, which repeat the results."""

from unmask.paper import conversion_checks as conversions
from unmask.paper import expression_checks as expressions
from unmask.paper import problem_checks as problems
from unmask.paper.item import Item
from unmask.paper.results import CONSTANT_STEPS, POLYLOG_STEPS, by_theorem

FIGURES = (
    Item(
        "fig:figure-1a",
        "figure",
        "the frameworks and their simulations",
        "Arrows: masked diffusion → looped → masked diffusion → parallel chain of thought → chain of thought → "
        "parallel "
        "chain of thought → masked diffusion, each a conversion of weights. The dashed arrow, a strict separation, "
        "is cited.",
        "theorems/route.py",
        "holds",
        "unmask compile random:7 --length 1 --to cot --out chain && unmask convert chain --to plt --out looped",
        conversions.several(
            *(
                conversions.converter(stem, seeds=3, lengths=(1, 2))
                for stem in ("mdm_to_plt", "mdm_to_pcot", "pcot_to_cot", "cot_to_pcot", "pcot_to_mdm")
            ),
            conversions.converter("plt_to_mdm", seeds=3, lengths=(1,), padding=1),
        ),
        erratum="24: the dashed arrow's inclusion needs about N log N slots.",
    ),
    Item(
        "fig:figure-1b",
        "figure",
        "the frameworks and the classes of circuits",
        "Regular languages and chains of log N steps within masked diffusion of log N steps, AC0 and AC^d equal to "
        "it with constantly and polylogarithmically many. That AC0 is strictly within AC^d, and that the union of "
        "these is NC, is cited.",
        "programs/tree_diffusion.py, programs/circuit_diffusion.py, verification/constant_depth_reasoners.py",
        "holds",
        "unmask paper thm:regular-languages-in-mdm-efficient --check",
        conversions.several(
            problems.regular_languages,
            conversions.chain("cot → pcot → mdm", ("cot_to_pcot", "pcot_to_mdm"), seeds=3, steps=1),
            CONSTANT_STEPS,
            POLYLOG_STEPS,
        ),
        erratum="24: the inclusion of chains needs about N log N slots.",
    ),
    Item(
        "fig:expression-tree",
        "figure",
        "an expression, in parallel and in sequence",
        "(2+3)×(4+1)-6= in three steps of masked diffusion, which write 6, 4 and 1 symbols, and in eleven of a chain. "
        "In general: as many steps as the tree of operations is high against as many as symbols are written.",
        "programs/expression_node.py",
        "holds",
        "unmask compare 'expr:(a+b)*(c+d)-e'",
        expressions.figure,
        "T = depth of the tree, P = symbols written; chain of thought: T = P",
    ),
)

TAKEAWAYS = (
    Item(
        "takeaway:takeaway-1",
        "takeaway",
        "masked diffusion and chain of thought simulate each other",
        "thm:mdms-can-simulate-cot and thm:cot-can-simulate-mdms.",
        "theorems/pcot_to_mdm.py, theorems/mdm_to_pcot.py",
        "holds",
        by_theorem("pcot", "mdm", "pcot_to_mdm"),
        conversions.several(
            conversions.converter("pcot_to_mdm", seeds=3), conversions.converter("mdm_to_pcot", seeds=3)
        ),
    ),
    Item(
        "takeaway:takeaway-2",
        "takeaway",
        "masked diffusion is faster on parallel problems",
        "thm:cot-mdm-separation: measured steps are upper bounds, the lower bound for chains is cited.",
        "verification/compare.py",
        "cited",
        "unmask compare group:Z2 --lengths 8,16",
        problems.steps_both_ways,
        erratum="24, as for thm:cot-mdm-separation.",
    ),
    Item(
        "takeaway:takeaway-3",
        "takeaway",
        "masked diffusion and looped transformers are equivalent",
        "thm:lts-mdms.",
        "theorems/mdm_to_plt.py, theorems/plt_to_mdm.py",
        "holds",
        by_theorem("mdm", "plt", "mdm_to_plt"),
        conversions.several(
            conversions.converter("mdm_to_plt", seeds=3),
            conversions.converter("plt_to_mdm", seeds=3, lengths=(1,), padding=1),
        ),
    ),
    Item(
        "takeaway:takeaway-4",
        "takeaway",
        "regular languages in log N steps",
        "thm:regular-languages-in-mdm-efficient.",
        "programs/tree_diffusion.py",
        "holds",
        "unmask compile '(ab)*' --length 8 --to mdm --out model && unmask run model abababab",
        problems.regular_languages,
        "⌈log2 N⌉ steps",
    ),
    Item(
        "takeaway:takeaway-5",
        "takeaway",
        "steps and circuit depth",
        "cor:mdms-with-constant-steps and cor:mdms-with-polylog-steps.",
        "programs/circuit_diffusion.py, verification/constant_depth_reasoners.py",
        "holds",
        "unmask compile family:parity --length 8 --to mdm --out circuit && unmask verify circuit",
        conversions.several(CONSTANT_STEPS, POLYLOG_STEPS),
        "depth at most c·T",
    ),
)
