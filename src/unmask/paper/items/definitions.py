"""The definitions and assumptions of the paper."""

from typing import Any

from unmask.paper.checks import frameworks, numbers, processes, uniformity
from unmask.paper.items import rocq
from unmask.paper.items.item import Item

RUN_PARITY = "unmask compile group:Z2 --length 4 --to {kind} --out parity && unmask run parity '+0 +1 +1 +0'"


def _definition(*, label: str, run: str | None = None, repaired: str | None = None, **words: Any) -> Item:
    """A definition as it is printed, or `repaired`: what is put in its place."""
    run = run or f"unmask paper '{label}' --check"
    against: dict[str, Any] = {"against_print": "repaired" if repaired else "as printed", "difference": repaired}
    return Item(label=label, kind="definition", claim="defined", run=run, **{**against, **words})


NUMBERS = (
    _definition(
        label="def:fixed-point*",
        title="fixed-point numbers",
        statement="F_p is the set of all ±a·2^-p with a = 0 … 4^p - 1: p bits before the point, p after it, and a "
        "sign. Its largest number is B = 2^p - 2^-p.",
        construction="numerics/precision.py",
        check=numbers.fixed_point,
    ),
    _definition(
        label="def:rounding*",
        title="rounding",
        statement="[x] is the number of F_p that is closest to x, of two the one nearer to 0; what lies outside "
        "becomes ±B. Every operation on two numbers is the exact one, rounded; dividing by 0 is an error.",
        construction="numerics/arithmetic.py",
        check=numbers.rounding,
    ),
    _definition(
        label="def:iterative-sum*",
        title="sum with rounding after every term",
        statement="SUM adds from left to right and rounds after every addition, so that the order matters once a sum "
        "clips: (B + B) - B = 0, but B + (B - B) = B. Inner and matrix products are SUMs of rounded products.",
        construction="numerics/arithmetic.py",
        check=numbers.summation,
    ),
    _definition(
        label="def:transformer-layer*",
        title="a transformer layer",
        statement="Per head softmax(mask(Q·Kᵀ))·V with Q, K, V linear in the stream, without biases and without "
        "subtracting a maximum; the heads are added in order, then the stream, then the MLP of the result.",
        construction="engines/reference.py",
        check=numbers.layers,
        repaired="a causal mask keeps the keys at or before the query, where the lower triangle is printed as masked; "
        "several heads, whose merging is not printed, are added before the stream is.",
        erratum="27 and 32.",
    ),
    _definition(
        label="def:mlp",
        title="multi-layer perceptron",
        statement="x ↦ ReLU(W2·ReLU(W1·x + b1) + b2), with any number of hidden units. The outer ReLU is part of it.",
        construction="engines/reference.py",
        check=numbers.mlps,
        erratum="32: a remark, no error: an MLP can only raise a column. Whatever must be lowered, cleared or signed "
        "takes a head that looks at its own row.",
    ),
    _definition(
        label="def:uniform-transformers",
        title="uniform families of transformers",
        statement="One machine within a class X writes down the transformer for each N, another computes the "
        "positional encoding of (n, N). About the second, for logarithmic space: every compiler and every conversion "
        "declares its positions, and whether these are formulas of logspace operators on numbers of O(log N) bits is "
        "checked. Regular languages are, in both layouts (one slot per node, |Q| per node), and so are reachability, "
        "families and programs that are recurrences in N, and addition; conversions are if their source is; a circuit, "
        "an expression or a program that is listed as a table cannot be claimed uniform, least of all one that is "
        "given as a file. About the first: where a compiler writes one program for every N (regular languages with one "
        "slot per node, these families and programs), weights are one finite table whose places depend on N by the "
        "bits of codes alone, and models are compared with it entry by entry.",
        construction="verification/uniformity/walk.py",
        check=uniformity.uniformity,
        against_print="open",
        difference="that the families here are L-uniform is shown for positions, and for weights where one program is "
        "that of every N. That the first machine needs logarithmic space only for the other weights, conversions "
        "among them, is neither shown nor refuted (docs/background/uniformity.md).",
        run="unmask paper def:uniform-transformers --check",
    ),
    _definition(
        label="def:decoding-step",
        title="decoding",
        statement="Each row becomes the symbol with the largest output. Here: the largest logit, the lowest index "
        "wins a tie.",
        construction="reasoners/decoding.py",
        check=numbers.decoding,
        repaired="the argmax is taken of the logits, where that of their softmax is printed; which symbol wins a tie "
        "is not printed.",
        erratum="19: if the softmax is taken in F_p, it makes ties where the logits have none.",
        proofs=(rocq.DECODING,),
    ),
    _definition(
        label="def:gumbel-max-sampling",
        title="sampling by Gumbel-max",
        statement="A symbol is drawn as the argmax of the logits plus independent Gumbel noise. Here: noise in F_p "
        "from an addressed tape, so that two frameworks can share one.",
        construction="reasoners/decoding.py",
        check=numbers.gumbel,
        run="unmask compile random:3 --length 2 --to plt --out model && unmask run model ab --sample --seed 5 --json",
        repaired="the noise is added to the logits l; printed is p, which is not defined there.",
        erratum="28: with probabilities for p, a symbol of probability 0 would be drawn.",
    ),
)

FRAMEWORKS = (
    _definition(
        label="def:forward-process*",
        title="the forward masking process",
        statement="At time t of T each symbol stays with probability α(t/T) and is masked otherwise, independently; "
        "α(0) = 1, α(1) = 0.",
        construction="reasoners/masking.py",
        check=processes.forward_process,
        repaired="a symbol that stays must be the original one, and the product runs over the P positions.",
        erratum="33.",
    ),
    _definition(
        label="eq:factorized-reverse-process",
        title="the factorised reverse process",
        statement="One learned denoising step draws all symbols independently, given the whole partially masked "
        "string.",
        construction="reasoners/masked_diffusion.py",
        check=processes.factorised,
    ),
    _definition(
        label="def:cot-generation*",
        title="chain of thought, generation",
        statement="One symbol per step is drawn from the last row and appended; what is generated is read in the next "
        "step. T is given.",
        repaired="T is a function of N, as in the definition of acceptance; printed is a chain that ends with the "
        "symbol EOS.",
        construction="reasoners/chain_of_thought.py",
        check=frameworks.runs_as_defined("cot"),
        run=RUN_PARITY.format(kind="cot"),
        erratum="35: T is where EOS falls in one definition, and given in the next.",
    ),
    _definition(
        label="def:cot-acceptance*",
        title="chain of thought, acceptance",
        statement="The chain decodes T symbols; the last one is the verdict, 1 or 0.",
        construction="reasoners/run.py",
        check=frameworks.runs_as_defined("cot", read="answer"),
        run=RUN_PARITY.format(kind="cot"),
    ),
    _definition(
        label="def:pcot*",
        title="parallel chain of thought",
        statement="Each step appends P' masks, reads the whole string causally, and predicts these P' rows together; "
        "T steps, P = T·P' symbols. Row i of a block sees the masks up to itself.",
        construction="reasoners/chain_of_thought.py",
        check=frameworks.runs_as_defined("pcot"),
        run=RUN_PARITY.format(kind="pcot"),
        repaired="the strings that are read also hold 0 and 1, which the domain lacks; the output starts with block 1.",
        erratum="29.",
    ),
    _definition(
        label="def:pcot-acceptance*",
        title="parallel chain of thought, acceptance",
        statement="The very last symbol of step T is the verdict.",
        repaired="T and P' are functions of N; printed is that they exist.",
        erratum="5: as printed, a word may be accepted and rejected.",
        construction="reasoners/run.py",
        check=frameworks.runs_as_defined("pcot", read="answer"),
        run=RUN_PARITY.format(kind="pcot"),
    ),
    _definition(
        label="def:looped-transformer",
        title="looped transformer",
        statement="The layers [0, l1) once, [l1, l2) T times, the rest once.",
        construction="reasoners/looped.py",
        check=frameworks.runs_as_defined("plt"),
        run=RUN_PARITY.format(kind="plt"),
    ),
    _definition(
        label="def:padded-transformer",
        title="padded transformer",
        statement="The input is followed by P pads □, whose rows may hold intermediate results; the last row decodes "
        "to the answer.",
        construction="reasoners/looped.py",
        check=frameworks.runs_as_defined("plt", read="answer"),
        run=RUN_PARITY.format(kind="plt"),
    ),
    _definition(
        label="def:stochastic-looped-transformer",
        title="stochastic looped transformer",
        statement="Gumbel noise is added to the stream, in columns that the model names, before each of the T loops. "
        "Printed is after each of them: the same up to a rotation of the loop body.",
        construction="reasoners/looped.py",
        check=frameworks.runs_as_defined("plt", sampled=True),
        run="unmask compile random:3 --length 2 --to plt --out model && unmask run model ab --sample --seed 5 --json",
    ),
    _definition(
        label="def:planner*",
        title="planner",
        statement="Decides for every slot whether it is written in this step. An unrestricted one may choose written "
        "slots again; a mask-dominated one never does.",
        construction="reasoners/masked_diffusion.py",
        check=frameworks.mask_dominated,
        run=RUN_PARITY.format(kind="smdm"),
        repaired="a law for every row, where the star is not printed; the strings that are read also hold 0 and 1; the "
        "output covers input and slots, so that slot n is row N + n.",
        erratum="29.",
    ),
    _definition(
        label="def:predictor*",
        title="symbol predictor",
        statement="Gives a law over symbols for every slot. It can never write the mask.",
        construction="reasoners/masked_diffusion.py",
        check=frameworks.runs_as_defined("topk"),
        run=RUN_PARITY.format(kind="mdm"),
        repaired="the strings that are read also hold 0 and 1.",
        erratum="29.",
    ),
    _definition(
        label="def:mdm*",
        title="masked diffusion model",
        statement="A planner and a predictor.",
        construction="weights/model.py",
        check=frameworks.runs_as_defined("mdm", read="answer"),
        run=RUN_PARITY.format(kind="mdm"),
    ),
    _definition(
        label="def:unmasking-process*",
        title="the unmasking process",
        statement="From a canvas of P masks, T times: planner and predictor read input and canvas; a chosen slot "
        "takes the predictor's symbol, every other keeps its own.",
        construction="reasoners/masked_diffusion.py",
        check=frameworks.runs_as_defined("mdm"),
        run=RUN_PARITY.format(kind="mdm"),
        repaired="the planner's bit of slot n is number N + n, as the predictor's symbol is; printed is n.",
        erratum="29.",
    ),
    _definition(
        label="def:mdm-acceptance*",
        title="masked diffusion, acceptance",
        statement="The last slot after T steps is the verdict, 1 or 0; anything else is an error here.",
        repaired="T and P are functions of N; printed is that they exist.",
        erratum="5: as printed, a word may be accepted and rejected.",
        construction="reasoners/run.py",
        check=frameworks.runs_as_defined("mdm", read="answer"),
        run=RUN_PARITY.format(kind="mdm"),
    ),
    _definition(
        label="def:transformer-planner-predictor*",
        title="transformers as planner and predictor",
        statement="Two transformers: one with two logits per row, keep and take, one with a logit per symbol.",
        construction="weights/model.py",
        check=frameworks.runs_as_defined("smdm"),
        run=RUN_PARITY.format(kind="smdm"),
    ),
    _definition(
        label="def:topk*",
        title="top-k unmasking",
        statement="One transformer: the k slots with the largest maximal logit take their symbol; with k null, every "
        "slot whose maximal logit is above -B.",
        construction="reasoners/masked_diffusion.py",
        check=frameworks.runs_as_defined("topk"),
        run=RUN_PARITY.format(kind="topk"),
        repaired="the slots compete, and not the input; the lowest slot wins a tie, which is not printed. k null is an "
        "addition.",
        erratum="3: a fixed k cannot choose slot for slot what a planner chooses.",
    ),
)

ASSUMPTIONS = (
    Item(
        label="assumption:uniform-unmasking",
        kind="assumption",
        title="uniform unmasking",
        statement="The slots to unmask are chosen uniformly at random among those still masked.",
        construction="reasoners/planners.py",
        claim="defined",
        against_print="as printed",
        run="unmask compile group:Z2 --length 4 --to mdm --out parity && unmask run parity '+0 +1 +1 +0' --planner "
        "uniform:1 --seed 1 --json",
        check=frameworks.uniform_planner,
    ),
    Item(
        label="assumption:perfect-approximation",
        kind="assumption",
        title="perfect approximation",
        statement="The predictor gives the true conditional law of every masked slot in every partially masked "
        "context.",
        construction="reasoners/perfection.py",
        claim="defined",
        against_print="as printed",
        run="unmask paper assumption:perfect-approximation --check",
        check=processes.perfection,
    ),
)
