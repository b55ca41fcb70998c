"""The definitions and assumptions of the paper."""

from unmask.paper import framework_checks as frameworks
from unmask.paper import number_checks as numbers
from unmask.paper.item import Check, Item

RUN_PARITY = "unmask compile group:Z2 --length 4 --to {kind} --out parity && unmask run parity '+0 +1 +1 +0'"


def _definition(
    label: str,
    title: str,
    statement: str,
    construction: str,
    check: Check,
    *,
    run: str | None = None,
    erratum: str | None = None,
) -> Item:
    return Item(
        label, "definition", title, statement, construction, "defined", run or f"unmask paper '{label}' --check", check,
        erratum=erratum,
    )  # fmt: skip


NUMBERS = (
    _definition(
        "def:fixed-point*",
        "fixed-point numbers",
        "F_p is the set of all ±a·2^-p with a = 0 … 4^p - 1: p bits before the point, p after it, and a sign. "
        "Its largest number is B = 2^p - 2^-p.",
        "numerics/precision.py",
        numbers.fixed_point,
    ),
    _definition(
        "def:rounding*",
        "rounding",
        "[x] is the number of F_p that is closest to x, of two the one nearer to 0; what lies outside becomes ±B. "
        "Every operation on two numbers is the exact one, rounded; dividing by 0 is an error.",
        "numerics/arithmetic.py",
        numbers.rounding,
    ),
    _definition(
        "def:iterative-sum*",
        "sum with rounding after every term",
        "SUM adds from left to right and rounds after every addition, so that the order matters once a sum clips: "
        "(B + B) - B = 0, but B + (B - B) = B. Inner and matrix products are SUMs of rounded products.",
        "numerics/arithmetic.py",
        numbers.summation,
    ),
    _definition(
        "def:transformer-layer*",
        "a transformer layer",
        "Per head softmax(mask(Q·Kᵀ))·V with Q, K, V linear in the stream, without biases and without subtracting a "
        "maximum; the heads are added in order, then the stream, then the MLP of the result.",
        "engines/reference.py",
        numbers.layers,
        erratum="1 and 26: the causal mask keeps keys at or before the query; how heads are merged is not said; no "
        "biases in attention, so that every construction needs a column that is always 1.",
    ),
    _definition(
        "def:mlp",
        "multi-layer perceptron",
        "x ↦ ReLU(W2·ReLU(W1·x + b1) + b2), with any number of hidden units. The outer ReLU is part of it.",
        "engines/reference.py",
        numbers.mlps,
        erratum="26: an MLP can only raise a column. Whatever must be lowered, cleared or signed takes a SELF head.",
    ),
    _definition(
        "def:uniform-transformers",
        "uniform families of transformers",
        "One machine within a class X writes down the transformer for each N, another computes the positional "
        "encoding of (n, N). Here: positions are declared expressions on numbers of O(log N) bits, in n and N alone.",
        "programs/expressions.py",
        frameworks.uniformity,
    ),
    _definition(
        "def:decoding-step",
        "decoding",
        "Each row becomes the symbol with the largest output. Here: the largest logit, the lowest index wins a tie.",
        "reasoners/decoding.py",
        numbers.decoding,
        erratum="3: the largest entry of the softmax is not enough, F_p makes ties where the logits have none.",
    ),
    _definition(
        "def:gumbel-max-sampling",
        "sampling by Gumbel-max",
        "A symbol is drawn as the argmax of the logits plus independent Gumbel noise. Here: noise in F_p from an "
        "addressed tape, so that two frameworks can share one.",
        "reasoners/decoding.py",
        numbers.gumbel,
        run="unmask compile random:3 --length 2 --to plt --out model && unmask run model ab --sample --seed 5 --json",
        erratum="2: the printed formula adds the noise to probabilities; it must be logits.",
    ),
)

FRAMEWORKS = (
    _definition(
        "def:forward-process*",
        "the forward masking process",
        "At time t of T each symbol stays with probability α(t/T) and is masked otherwise, independently; α(0) = 1, "
        "α(1) = 0.",
        "reasoners/masking.py",
        frameworks.forward_process,
        erratum="27: a symbol that stays must be the original one, and the product runs over the P generated "
        "positions.",
    ),
    _definition(
        "eq:factorized-reverse-process",
        "the factorised reverse process",
        "One learned denoising step draws all symbols independently, given the whole partially masked string.",
        "reasoners/masked_diffusion.py",
        frameworks.factorised,
    ),
    _definition(
        "def:cot-generation*",
        "chain of thought, generation",
        "One symbol per step is drawn from the last row and appended; what is generated is read in the next step.",
        "reasoners/chain_of_thought.py",
        frameworks.runs_as_defined("cot"),
        run=RUN_PARITY.format(kind="cot"),
    ),
    _definition(
        "def:cot-acceptance*",
        "chain of thought, acceptance",
        "The chain decodes T symbols; the last one is the verdict, 1 or 0.",
        "reasoners/run.py",
        frameworks.runs_as_defined("cot", read="answer"),
        run=RUN_PARITY.format(kind="cot"),
    ),
    _definition(
        "def:pcot*",
        "parallel chain of thought",
        "Each step appends P' masks, reads the whole string causally, and predicts these P' rows together; T steps, "
        "P = T·P' symbols. Row i of a block sees the masks up to itself.",
        "reasoners/chain_of_thought.py",
        frameworks.runs_as_defined("pcot"),
        run=RUN_PARITY.format(kind="pcot"),
        erratum="4: the strings read also hold 0 and 1, which the domain lacks; the output starts with block 1.",
    ),
    _definition(
        "def:pcot-acceptance*",
        "parallel chain of thought, acceptance",
        "The very last symbol of step T is the verdict.",
        "reasoners/run.py",
        frameworks.runs_as_defined("pcot", read="answer"),
        run=RUN_PARITY.format(kind="pcot"),
    ),
    _definition(
        "def:looped-transformer",
        "looped transformer",
        "The layers [0, l1) once, [l1, l2) T times, the rest once.",
        "reasoners/looped.py",
        frameworks.runs_as_defined("plt"),
        run=RUN_PARITY.format(kind="plt"),
    ),
    _definition(
        "def:padded-transformer",
        "padded transformer",
        "The input is followed by P pads □, whose rows may hold intermediate results; the last row decodes to the "
        "answer.",
        "reasoners/looped.py",
        frameworks.runs_as_defined("plt", read="answer"),
        run=RUN_PARITY.format(kind="plt"),
    ),
    _definition(
        "def:stochastic-looped-transformer",
        "stochastic looped transformer",
        "Gumbel noise is added to chosen columns of the stream before each of the T loops.",
        "reasoners/looped.py",
        frameworks.runs_as_defined("plt", sampled=True),
        run="unmask compile random:3 --length 2 --to plt --out model && unmask run model ab --sample --seed 5 --json",
        erratum="5: indexed after loops 1 … T, the first loop would get none and the last noise is never read; and "
        "noise "
        "that is not cleared piles up.",
    ),
    _definition(
        "def:planner*",
        "planner",
        "Decides for every slot whether it is written in this step. An unrestricted one may choose written slots "
        "again; a mask-dominated one never does.",
        "reasoners/masked_diffusion.py",
        frameworks.mask_dominated,
        run=RUN_PARITY.format(kind="smdm"),
        erratum="4: the planner's output covers input and slots, so that slot n is its row N + n.",
    ),
    _definition(
        "def:predictor*",
        "symbol predictor",
        "Gives a law over symbols for every slot. It can never write the mask.",
        "reasoners/masked_diffusion.py",
        frameworks.runs_as_defined("topk"),
        run=RUN_PARITY.format(kind="mdm"),
        erratum="4: it reads strings that also hold 0 and 1.",
    ),
    _definition(
        "def:mdm*",
        "masked diffusion model",
        "A planner and a predictor.",
        "weights/model.py",
        frameworks.runs_as_defined("mdm", read="answer"),
        run=RUN_PARITY.format(kind="mdm"),
    ),
    _definition(
        "def:unmasking-process*",
        "the unmasking process",
        "From a canvas of P masks, T times: planner and predictor read input and canvas; a chosen slot takes the "
        "predictor's symbol, every other keeps its own.",
        "reasoners/masked_diffusion.py",
        frameworks.runs_as_defined("mdm"),
        run=RUN_PARITY.format(kind="mdm"),
        erratum="4: the planner's bit of slot n is number N + n, as the predictor's is.",
    ),
    _definition(
        "def:mdm-acceptance*",
        "masked diffusion, acceptance",
        "The last slot after T steps is the verdict, 1 or 0; anything else is an error here.",
        "reasoners/run.py",
        frameworks.runs_as_defined("mdm", read="answer"),
        run=RUN_PARITY.format(kind="mdm"),
    ),
    _definition(
        "def:transformer-planner-predictor*",
        "transformers as planner and predictor",
        "Two transformers: one with two logits per row, keep and take, one with a logit per symbol.",
        "weights/model.py",
        frameworks.runs_as_defined("smdm"),
        run=RUN_PARITY.format(kind="smdm"),
    ),
    _definition(
        "def:topk*",
        "top-k unmasking",
        "One transformer: the k slots with the largest maximal logit take their symbol; with k null, every slot whose "
        "maximal logit is above -B.",
        "reasoners/masked_diffusion.py",
        frameworks.runs_as_defined("topk"),
        run=RUN_PARITY.format(kind="topk"),
        erratum="7: a fixed k cannot follow a planner that chooses a varying number of slots.",
    ),
)

ASSUMPTIONS = (
    Item(
        "assumption:uniform-unmasking",
        "assumption",
        "uniform unmasking",
        "The slots to unmask are chosen uniformly at random among those still masked.",
        "reasoners/planners.py",
        "defined",
        "unmask compile group:Z2 --length 4 --to mdm --out parity && "
        "unmask run parity '+0 +1 +1 +0' --planner uniform:1 --seed 1 --json",
        frameworks.uniform_planner,
    ),
    Item(
        "assumption:perfect-approximation",
        "assumption",
        "perfect approximation",
        "The predictor gives the true conditional law of every masked slot in every partially masked context.",
        "reasoners/perfection.py",
        "defined",
        "unmask paper assumption:perfect-approximation --check",
        frameworks.perfection,
    ),
)
