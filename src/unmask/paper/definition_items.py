"""The definitions and assumptions of the paper."""

from typing import Any

from unmask.paper import rocq_proofs
from unmask.paper.checks import framework_checks, number_checks
from unmask.paper.item import Item, paper_item

RUN_PARITY = "unmask compile group:Z2 --length 4 --to {kind} --out parity && unmask run parity '+0 +1 +1 +0'"


def _definition(*, label: str, run: str | None = None, **fields: Any) -> Item:
    """Return the item of a definition of the paper."""
    run = run or f"unmask paper '{label}' --check"
    return paper_item(label=label, kind="definition", claim="defined", run=run, **fields)


NUMBERS = (
    _definition(
        label="def:fixed-point*",
        title="fixed-point numbers",
        statement="F_p is the set of all ±a·2^-p with a = 0 … 4^p - 1: p bits before the point, p after it, and a "
        "sign. Its largest number is B = 2^p - 2^-p.",
        construction="numerics/arithmetic.py",
        check=number_checks.fixed_point,
    ),
    _definition(
        label="def:rounding*",
        title="rounding",
        statement="[x] is the number of F_p that is closest to x; of two equally close numbers, the one nearer to 0. "
        "Numbers outside the range become ±B. Every operation on two numbers is computed exactly and then rounded. "
        "Division by 0 is an error.",
        construction="numerics/arithmetic.py",
        check=number_checks.rounding,
    ),
    _definition(
        label="def:iterative-sum*",
        title="sum with rounding after every term",
        statement="SUM adds from left to right and rounds after every addition. So the order matters once a sum "
        "clips: (B + B) - B = 0, but B + (B - B) = B. Inner products and matrix products are SUMs of rounded "
        "products.",
        construction="numerics/arithmetic.py",
        check=number_checks.summation,
    ),
    _definition(
        label="def:transformer-layer*",
        title="a transformer layer",
        statement="Each head computes softmax(mask(Q·Kᵀ))·V. Q, K and V are linear in the stream, without biases, and "
        "no maximum is subtracted. The heads are added in order, then the stream, then the MLP of the result.",
        construction="engines/reference.py",
        check=number_checks.layers,
        repaired="a causal mask keeps the keys at or before the query; the paper masks the lower triangle. The paper "
        "does not say how several heads are merged; here they are added before the stream.",
        erratum="27 and 32.",
    ),
    _definition(
        label="def:mlp",
        title="multi-layer perceptron",
        statement="x ↦ ReLU(W2·ReLU(W1·x + b1) + b2), with any number of hidden units. The outer ReLU is part of it.",
        construction="engines/reference.py",
        check=number_checks.mlps,
        erratum="32: a remark, not an error. An MLP can only increase a column. To decrease, clear or change the "
        "sign of a column, a head must attend to its own row.",
    ),
    _definition(
        label="def:uniform-transformers",
        title="uniform families of transformers",
        statement="One machine within a class X writes the transformer for each N. Another machine computes the "
        "positional encoding of (n, N). For the second machine and logarithmic space: every compiler and every "
        "conversion declares its positions, and a check tests whether they are formulas of logspace operators on "
        "numbers of O(log N) bits. This holds for regular languages in both layouts (one slot per node, |Q| slots "
        "per node), reachability, addition, and families and programs that are recurrences in N. It holds for "
        "conversions if it holds for their source. A circuit, an expression or a program that is stored as a table "
        "cannot be claimed to be uniform; five families of circuits are printed by a metered machine, which positions "
        "call (programs/printed_circuit_programs.py). For the first machine: where a compiler writes one program for "
        "every N, the weights are one finite table whose positions depend on N through the bits of codes only, and "
        "models are compared with it entry by entry.",
        construction="paper/lemmas/uniform_models.py",
        check=framework_checks.uniformity,
        still_open="uniformity of the families here is shown for positions, and for weights where one program serves "
        "every N. For all other weights, including those of conversions, it is neither shown nor refuted that the "
        "first machine needs logarithmic space only (docs/background/uniformity.md).",
        run="unmask paper def:uniform-transformers --check",
    ),
    _definition(
        label="def:decoding-step",
        title="decoding",
        statement="Each row becomes the symbol with the largest output. Here this is the largest logit, and the lowest "
        "index wins a tie.",
        construction="reasoners/decoding.py",
        check=number_checks.decoding,
        repaired="the argmax is taken over the logits; the paper takes it over their softmax. The paper does not say "
        "which symbol wins a tie.",
        erratum="19: if the softmax is taken in F_p, it makes ties where the logits have none.",
        proofs=(rocq_proofs.DECODING,),
    ),
    _definition(
        label="def:gumbel-max-sampling",
        title="sampling by Gumbel-max",
        statement="A symbol is drawn as the argmax of the logits plus independent Gumbel noise. Here the noise is in "
        "F_p and comes from an addressed tape, so that two frameworks can share a tape.",
        construction="reasoners/decoding.py",
        check=number_checks.gumbel,
        run="unmask compile random:3 --length 2 --to plt --out model && unmask run model ab --sample --seed 5 --json",
        repaired="the noise is added to the logits l. The paper adds it to p, which is not defined there.",
        erratum="28: with probabilities for p, a symbol of probability 0 would be drawn.",
    ),
)

FRAMEWORKS = (
    _definition(
        label="def:forward-process*",
        title="the forward masking process",
        statement="At time t of T each symbol stays with probability α(t/T) and is masked otherwise, independently; "
        "α(0) = 1, α(1) = 0.",
        construction="paper/checks/masking_process.py",
        check=framework_checks.forward_process,
        repaired="a symbol that stays must be the original one, and the product runs over the P positions.",
        erratum="33.",
    ),
    _definition(
        label="eq:factorized-reverse-process",
        title="the factorised reverse process",
        statement="One learned denoising step draws all symbols independently, given the whole partially masked "
        "string.",
        construction="reasoners/loops.py",
        check=framework_checks.factorised,
    ),
    _definition(
        label="def:cot-generation*",
        title="chain of thought, generation",
        statement="In each step one symbol is drawn from the last row and appended. The next step reads it. T is "
        "given.",
        repaired="T is a function of N, as in the definition of acceptance. In the paper a chain ends with the "
        "symbol EOS.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("cot"),
        run=RUN_PARITY.format(kind="cot"),
        erratum="35: in one definition T is the position of EOS, in the next it is given.",
    ),
    _definition(
        label="def:cot-acceptance*",
        title="chain of thought, acceptance",
        statement="The chain decodes T symbols; the last one is the verdict, 1 or 0.",
        construction="reasoners/run_words.py",
        check=framework_checks.runs_as_defined("cot", read="answer"),
        run=RUN_PARITY.format(kind="cot"),
    ),
    _definition(
        label="def:pcot*",
        title="parallel chain of thought",
        statement="Each step appends P' masks, reads the whole string causally, and predicts these P' rows together; "
        "T steps, P = T·P' symbols. Row i of a block sees the masks up to itself.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("pcot"),
        run=RUN_PARITY.format(kind="pcot"),
        repaired="the strings that are read also contain 0 and 1, which the paper's domain lacks. The output starts "
        "with block 1.",
        erratum="29.",
    ),
    _definition(
        label="def:pcot-acceptance*",
        title="parallel chain of thought, acceptance",
        statement="The very last symbol of step T is the verdict.",
        repaired="T and P' are functions of N. The paper only asks that they exist.",
        erratum="5: as stated, a word may be both accepted and rejected.",
        construction="reasoners/run_words.py",
        check=framework_checks.runs_as_defined("pcot", read="answer"),
        run=RUN_PARITY.format(kind="pcot"),
    ),
    _definition(
        label="def:looped-transformer",
        title="looped transformer",
        statement="The layers [0, l1) run once, the layers [l1, l2) run T times, and the remaining layers run once.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("plt"),
        run=RUN_PARITY.format(kind="plt"),
    ),
    _definition(
        label="def:padded-transformer",
        title="padded transformer",
        statement="The input is followed by P pads □, whose rows may hold intermediate results; the last row decodes "
        "to the answer.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("plt", read="answer"),
        run=RUN_PARITY.format(kind="plt"),
    ),
    _definition(
        label="def:stochastic-looped-transformer",
        title="stochastic looped transformer",
        statement="Gumbel noise is added to the stream, in columns that the model names, before each of the T loops. "
        "The paper adds it after each loop, which is the same up to a rotation of the loop body.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("plt", sampled=True),
        run="unmask compile random:3 --length 2 --to plt --out model && unmask run model ab --sample --seed 5 --json",
    ),
    _definition(
        label="def:planner*",
        title="planner",
        statement="Decides for every slot whether it is written in this step. An unrestricted one may choose written "
        "slots again; a mask-dominated one never does.",
        construction="reasoners/loops.py",
        check=framework_checks.mask_dominated,
        run=RUN_PARITY.format(kind="smdm"),
        repaired="the planner returns a distribution for every row (the paper omits the star). The strings that are "
        "read also contain 0 and 1. The output covers input and slots, so slot n is row N + n.",
        erratum="29.",
    ),
    _definition(
        label="def:predictor*",
        title="symbol predictor",
        statement="Returns a distribution over symbols for every slot. It can never write the mask.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("topk"),
        run=RUN_PARITY.format(kind="mdm"),
        repaired="the strings that are read also contain 0 and 1.",
        erratum="29.",
    ),
    _definition(
        label="def:mdm*",
        title="masked diffusion model",
        statement="A planner and a predictor.",
        construction="weights/model.py",
        check=framework_checks.runs_as_defined("mdm", read="answer"),
        run=RUN_PARITY.format(kind="mdm"),
    ),
    _definition(
        label="def:unmasking-process*",
        title="the unmasking process",
        statement="The canvas starts with P masks. In each of T steps, planner and predictor read input and canvas. A "
        "chosen slot takes the predictor's symbol, and every other slot keeps its own.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("mdm"),
        run=RUN_PARITY.format(kind="mdm"),
        repaired="the planner's bit for slot n has index N + n, like the predictor's symbol. The paper has index n.",
        erratum="29.",
    ),
    _definition(
        label="def:mdm-acceptance*",
        title="masked diffusion, acceptance",
        statement="The last slot after T steps is the verdict, 1 or 0; anything else is an error here.",
        repaired="T and P are functions of N. The paper only asks that they exist.",
        erratum="5: as stated, a word may be both accepted and rejected.",
        construction="reasoners/run_words.py",
        check=framework_checks.runs_as_defined("mdm", read="answer"),
        run=RUN_PARITY.format(kind="mdm"),
    ),
    _definition(
        label="def:transformer-planner-predictor*",
        title="transformers as planner and predictor",
        statement="Two transformers: the planner has two logits per row, keep and take, and the predictor has a logit "
        "per symbol.",
        construction="weights/model.py",
        check=framework_checks.runs_as_defined("smdm"),
        run=RUN_PARITY.format(kind="smdm"),
    ),
    _definition(
        label="def:topk*",
        title="top-k unmasking",
        statement="One transformer: the k slots with the largest maximal logit take their symbol. If k is null, every "
        "slot with a maximal logit above -B does.",
        construction="reasoners/loops.py",
        check=framework_checks.runs_as_defined("topk"),
        run=RUN_PARITY.format(kind="topk"),
        repaired="only slots compete, not the input. The lowest slot wins a tie, which the paper does not say. k = "
        "null is an addition.",
        erratum="3: a fixed k cannot choose slot for slot what a planner chooses.",
    ),
)

ASSUMPTIONS = (
    paper_item(
        label="assumption:uniform-unmasking",
        kind="assumption",
        title="uniform unmasking",
        statement="The slots to unmask are chosen uniformly at random among those still masked.",
        construction="reasoners/planners.py",
        claim="defined",
        run="unmask compile group:Z2 --length 4 --to mdm --out parity && unmask run parity '+0 +1 +1 +0' --planner "
        "uniform:1 --seed 1 --json",
        check=framework_checks.uniform_planner,
    ),
    paper_item(
        label="assumption:perfect-approximation",
        kind="assumption",
        title="perfect approximation",
        statement="The predictor gives the true conditional law of every masked slot in every partially masked "
        "context.",
        construction="paper/checks/masking_process.py",
        claim="defined",
        run="unmask paper assumption:perfect-approximation --check",
        check=framework_checks.perfection,
    ),
)
