"""Planner and predictor as a single transformer, and back (thm:single-model-equivalence)."""

import numpy as np

from unmask.errors import UnmaskError
from unmask.expressions import N, both, choose, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble
from unmask.programs.gadgets.attention import boost, hide, itself, lookup
from unmask.programs.gadgets.mlp import barely_preferred, conjunction, no_preference, unchosen
from unmask.programs.gadgets.whole_layers import detect, everywhere
from unmask.programs.program import ONE, TOP, ULP, B, HeadBuilder, Program, bits_for
from unmask.programs.simulation import Simulation, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted_model
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Attention

SUBTRACTIONS = 2


def planner_and_predictor_to_topk_bound(source: SourceSize) -> Price:
    width = source.width + source.symbols + bits_for(source.rows) + 5 + source.causal_columns()
    return Price(source.steps, source.padding, source.layers + 1, width, source.symbols)


def planner_and_predictor_to_topk(source: Model) -> Conversion:
    """Return the single transformer of a masked diffusion model (thm:single-model-equivalence).

    It writes the slots that the planner chooses. Their number may differ from step to step.

    Statement:    every masked diffusion model is simulated by a single transformer that writes the slots whose largest
                  logit is above -B. These are the slots that the planner chooses.
    Construction: planner U and predictor S run side by side, each on its own columns, with its own embeddings and
                  positions. In one more layer SELF takes the logits of both. An MLP computes whether the slot is
                  unchosen, in two columns, and whether it is chosen although every symbol has the logit -B. The logits
                  are those of S; if the slot is unchosen, B is subtracted twice. In the degenerate case 2^-p is added
                  to the logit of the lowest symbol.
    Bounds:       T steps, P slots, the same vocabulary, max(L_U, L_S) + 1 layers, width D_U + D_S + |Σ| + ⌈log2(N + P)⌉
                  + 5; two columns more per row if only one of U and S is causal.
    Exactness:    bit by bit, for p >= 1 and any source. Chosen slots have the logits of the predictor, and so its law;
                  only in the degenerate case one logit is 2^-p higher. With a tape, the symbols of chosen slots are
                  drawn as in the source, but the slots are those that the planner chooses without noise.
    Deviations:   k cannot be a constant, because planners choose any number of slots. The rule is the threshold above
                  -B, or k_t = the number of slots that the planner chooses. If B is subtracted once, as printed, an
                  unchosen slot with the logit B is at 0, above a chosen slot whose logits are negative. No subtraction
                  can distinguish a chosen slot whose logits are all -B from an unchosen one. An MLP distinguishes them.
    """
    planner, predictor = source.transformers["planner"], source.transformers["predictor"]
    size, rows = len(source.vocabulary), source.rows
    writable = np.setdiff1d(np.arange(size), [source.token[source.mask or ""]])

    program = Program(source.vocabulary, size, source.length, rows)
    row_code = program.code("here", n)
    U, S = (
        Simulation.of(program, transformer, name, source_positions(transformer, n))
        for name, transformer in (("planner", planner), ("predictor", predictor))
    )
    decision, logits = program.register("decision", ("keep", "take")), program.register("logits", writable.size)
    not_chosen = program.register("not chosen", SUBTRACTIONS)
    undecided = program.register("no preference")
    shared = shared_attention(program, [planner, predictor], n, rows)
    program.attention = shared.kind

    for simulation in (U, S):
        simulation.embed_symbols(program)
    for number in range(max(U.depth, S.depth)):
        layer = program.layer()
        for simulation in (U, S):
            simulation.layer(number, layer, shared.guard[simulation.source.attention])
    decide = program.layer()
    head = itself(decide, row_code)
    U.logits_in(head, decision)
    S.logits_in(head, logits, writable)
    unchosen(decide.mlp, decision, not_chosen)
    no_preference(decide.mlp, decision, logits, undecided)
    S.read_out(program, S.work)
    for column in not_chosen:
        program.read_out(np.arange(size), column, -B)
    program.read_out(writable[0], undecided, ULP)

    model = converted_model(
        source,
        "planner_and_predictor_to_topk",
        kind="topk",
        k=None,
        transformers={"model": assemble(program, source.precision)},
    )
    return Conversion(model, _topk_alignment(source, {"planner": U, "predictor": S}))


def _topk_alignment(source: Model, simulations: dict[str, Simulation]) -> Alignment:
    every, canvas = np.arange(source.rows), np.arange(source.padding)
    copies = [
        copy
        for name, simulation in simulations.items()
        for copy in layer_copies(name, "model", simulation, lambda _: (every, every))
    ]
    return Alignment(slots(lambda _: canvas), tuple(copies))


PLANNER_AND_PREDICTOR_TO_TOPK = Theorem(
    "planner_and_predictor_to_topk",
    "thm:single-model-equivalence",
    "mdm",
    "topk",
    planner_and_predictor_to_topk,
    planner_and_predictor_to_topk_bound,
)


def mdm_to_fixed_k_bound(source: SourceSize) -> Price:
    causal = source.causal_columns(stays=source.rows > source.padding)
    width = source.width + 2 * source.symbols + bits_for(source.rows + source.padding) + 7 + causal
    return Price(source.steps, 2 * source.padding, source.layers + 1, width, source.symbols)


def mdm_to_fixed_k(source: Model) -> Conversion:
    """Return the top-k model with P dummy slots and k = P: a repair of thm:single-model-equivalence.

    Statement:    MDM[T, P] ⊆ top-k[T, 2P] with k = P: every masked diffusion model is simulated by a single transformer
                  that writes, in every step, the P slots with the highest largest logits. Not a statement of the paper.
    Construction: P dummy slots come before the slots of the source. Planner and predictor run side by side, as in
                  `planner_and_predictor_to_topk`. No row sees a dummy (HIDE), and dummies BOOST. The largest logit is:
                      unchosen   -B: B is subtracted twice
                      dummy      -B + 2^-p: as for an unchosen slot, and one symbol is raised by 2^-p
                      chosen     at least -B + 2·2^-p: that of the predictor; if this is -B + 2^-p, every symbol that
                                 has it is raised by 2^-p, and if it is -B, the lowest symbol is raised twice
                  So the c chosen slots come first, then P - c dummies, and no unchosen slot is ever written.
    Bounds:       T steps, 2P slots, k = P, the same vocabulary, max(L_U, L_S) + 1 layers, width D_U + D_S + 2|Σ| +
                  ⌈log2(N + 2P)⌉ + 7; two columns more per row for a causal source that cannot stay causal.
    Exactness:    bit by bit after every step, for p >= 1: the last P slots are the source's canvas. Chosen slots have
                  the logits of the predictor, except in the two cases with raised logits, which have the same argmax.
    Deviations:   the paper gives the transformer P slots and one k. But with the same slots, no constant k follows a
                  planner that chooses different numbers of slots. Dummies make up the difference. Tie-breaking between
                  slots does not matter: the logits of chosen, dummy and unchosen slots differ, and it is irrelevant
                  which dummies are written.
    """
    step = _FixedKProgram(source)
    model = converted_model(
        source,
        "mdm_to_fixed_k",
        kind="topk",
        k=source.padding,
        padding=2 * source.padding,
        transformers={"model": assemble(step.program, source.precision)},
    )
    return Conversion(model, _fixed_k_alignment(source, step.simulations))


class _FixedKProgram:
    """The program on input rows, P dummies and the slots of the source: the layers of both, and the decision."""

    def __init__(self, source: Model) -> None:
        self.source, size = source, len(source.vocabulary)
        self.writable = np.setdiff1d(np.arange(size), [source.token[source.mask or ""]])
        first = N + int(source.begin is not None)
        is_dummy = both(n >= first, n < first + source.padding)
        row = choose(n < first, n, choose(is_dummy, n, n - source.padding))
        self.program = program = Program(source.vocabulary, size, source.length, source.rows + source.padding)
        self.row_code = program.code("here", n)
        self.dummy = program.flag("dummy", is_dummy)
        self.simulations = {
            name: Simulation.of(program, t, name, source_positions(t, row, is_dummy.equals(0)))
            for name, t in source.transformers.items()
        }
        self.decision = program.register("decision", ("keep", "take"))
        self.logits = program.register("logits", self.writable.size)
        self.not_chosen = program.register("not chosen", SUBTRACTIONS)
        # columns that raise a logit come after those that lower it, because every partial sum is clipped
        self.undecided = program.register("no preference", 2)
        self.barely = program.register("barely preferred", self.writable.size)
        self.lifted = program.flag("dummy, lifted", is_dummy)
        # a dummy of a causal model must see some row: one before all slots
        transformers = list(source.transformers.values())
        causal = source.rows > source.padding
        self.shared = shared_attention(program, transformers, row, source.rows, causal=causal)
        program.attention = self.shared.kind
        self._simulate()
        self._decide()
        self._read_out()

    def _simulate(self) -> None:
        """Add the layers of U and S, side by side; no row sees a dummy."""
        for simulation in self.simulations.values():
            simulation.embed_symbols(self.program)
        for number in range(max(simulation.depth for simulation in self.simulations.values())):
            layer = self.program.layer()
            for simulation in self.simulations.values():

                def guard(head: HeadBuilder, kind: Attention = simulation.source.attention) -> None:
                    boost(head, self.dummy)
                    self.shared.guard[kind](head)
                    hide(head, self.dummy)

                simulation.layer(number, layer, guard)

    def _decide(self) -> None:
        """Let SELF take the logits of both, and an MLP decide; dummies are unchosen."""
        layer = self.program.layer()
        head = itself(layer, self.row_code)
        self.simulations["planner"].logits_in(head, self.decision)
        head.copy(self.lifted, self.decision[0], B)  # added after the logits, so that keep >= 0 >= take in any case
        head.copy(self.lifted, self.decision[1], -B)
        self.simulations["predictor"].logits_in(head, self.logits, self.writable)
        unchosen(layer.mlp, self.decision, self.not_chosen)
        for flag in self.undecided:
            no_preference(layer.mlp, self.decision, self.logits, np.array([flag]))
        barely_preferred(layer.mlp, self.decision, self.logits, self.barely)

    def _read_out(self) -> None:
        """Emit the logits of S, subtract B twice if the slot is unchosen, then raise logits."""
        program, predictor = self.program, self.simulations["predictor"]
        predictor.read_out(program, predictor.work)
        for column in self.not_chosen:
            program.read_out(np.arange(program.outputs), column, -B)
        for column in self.undecided:
            program.read_out(self.writable[0], column, ULP)
        program.read_out(self.writable, self.barely, ULP)
        program.read_out(self.writable[0], self.lifted, ULP)


def _fixed_k_alignment(source: Model, simulations: dict[str, Simulation]) -> Alignment:
    every, canvas, first = np.arange(source.rows), np.arange(source.padding), source.rows - source.padding
    after_dummies = np.where(every < first, every, every + source.padding)
    copies = [
        copy
        for name, simulation in simulations.items()
        for copy in layer_copies(name, "model", simulation, lambda _: (every, after_dummies))
    ]
    return Alignment(slots(lambda _: canvas + source.padding), tuple(copies))


MDM_TO_FIXED_K = Theorem(
    "mdm_to_fixed_k", "thm:single-model-equivalence", "mdm", "topk", mdm_to_fixed_k, mdm_to_fixed_k_bound
)


def topk_to_mdm_bound(source: SourceSize) -> Price:
    width = source.width + source.symbols + bits_for(source.rows) + 1
    return Price(source.steps, source.padding, source.layers + 1, width, source.symbols)


def topk_to_mdm(source: Model) -> Conversion:
    """Return planner and predictor of a topk model without k (the converse of thm:single-model-equivalence).

    A model with k >= P, which takes every slot, is also converted.

    Statement:    a topk model that takes every slot whose largest logit is above -B is simulated by an mdm with the
                  same numbers of steps and slots.
    Construction: the predictor is the model. The planner is the model, a SELF head that takes its logits, and one MLP:
                  none = ReLU(1 - Σ_c 2·2^(p-1)·ReLU(l_c + B)) is 1 exactly when no logit is above -B.
    Bounds:       T steps, P slots, L + 1 layers, the same vocabulary, width D + |Σ| + ⌈log2(N + P)⌉ + 1.
    Exactness:    bit by bit, for p >= 1.
    Deviations:   there is no such converse for a fixed k, and the conversion refuses one. Ranking k of P slots is
                  counting: let slot i have a high logit if input bit i is 1 and a low one if it is 0, and let one more
                  slot have a logit in between. That slot is written in the first step if and only if fewer than k bits
                  are 1. So with k about P / 2, majority is decided in two steps (`majority_by_topk`). But a masked
                  diffusion model with constantly many steps and fixed precision stays within AC0
                  (cor:mdms-with-constant-steps).
    """
    if source.k is not None and source.k < source.padding:
        raise UnmaskError(
            f"a topk model with k = {source.k} of {source.padding} slots ranks its slots, and in general no mdm "
            "with the same number of steps can do that; convert a model whose k is null"
        )
    transformer = source.transformers["model"]
    mask = source.token[source.mask or ""]
    writable = np.setdiff1d(np.arange(len(source.vocabulary)), [mask])

    program = Program(source.vocabulary, 2, source.length, source.rows, transformer.attention)
    row_code = program.code("here", n)
    simulation = Simulation.of(program, transformer, "model", source_positions(transformer, n))
    logits = program.register("logits", [source.vocabulary[c] for c in writable])
    none = program.register("none above -B")
    simulation.embed_symbols(program)
    for number in range(simulation.depth):
        simulation.layer(number, program.layer())
    decide = program.layer()
    simulation.logits_in(itself(decide, row_code), logits, writable)
    if source.k is None:
        for _ in range(2):
            units = decide.mlp.units(logits.size, bias=B)
            decide.mlp.read(units, logits)
            decide.mlp.write(units, none, -TOP)
        decide.mlp.offset(none, ONE)
    program.read_out(1, program.one, B)
    program.read_out(1, none, -B)
    program.read_out(0, none, B)

    transformers = {"planner": assemble(program, transformer.precision), "predictor": transformer}
    model = converted_model(source, "topk_to_mdm", kind="mdm", k=None, transformers=transformers)
    every, rows = np.arange(source.padding), np.arange(source.rows)
    copies = layer_copies("model", "planner", simulation, lambda _: (rows, rows))
    return Conversion(model, Alignment(slots(lambda _: every), copies))


TOPK_TO_MDM = Theorem("topk_to_mdm", "thm:single-model-equivalence", "topk", "mdm", topk_to_mdm, topk_to_mdm_bound)


SYMBOLS = ("a", "b", "m", "x", "0", "1")
A, LETTER_B, MASK, DONE, REJECT, ACCEPT = range(len(SYMBOLS))


def majority_by_topk(length: int, precision: Precision) -> Model:
    """Return the top-k model that accepts iff more than half of the letters are b: ranking slots is counting.

    Slot i < N copies letter i, slot N answers.

    Statement:    a top-k model with N + 1 slots and k = ⌊N/2⌋ + 1 decides in two steps whether more than half of N
                  letters are b. Majority is not in AC0 (cited), and masked diffusion with constantly many steps is in
                  AC0 (cor:mdms-with-constant-steps). So a k that may grow with N is stronger than a planner. Not a
                  statement of the paper, which states no converse of thm:single-model-equivalence.
    Construction: first step: the largest logit of slot i < N is B, with the symbol x, if letter i is b, and otherwise
                  -B. That of the last slot is 0. If k letters are b, the last slot is not among the top k and stays
                  masked. Otherwise it takes 0. Second step, if there is an x: a last slot that is still masked has the
                  logit 2^-p. Only unwritten slots of a letter b are above it, and there are at most N - k < k of them,
                  so it takes 1. If the last slot is written, it has the logit -B (B is subtracted twice), and all
                  others are above it.
    Bounds:       2 steps, N + 1 slots, 2 layers, 6 symbols, width 2⌈log2(2N + 1)⌉ + 13.
    Exactness:    every word, for p >= 2.
    Caveats:      k must grow with N: for a constant k the top k slots are found in constant depth, so top-k is within
                  AC0. The model also relies on the rule that the lowest slot wins a tie: without a b there is no x, and
                  in the second step all slots have the logit -B. With the other rule the word aaaa, one of 16, fails.
    """
    return Model(
        kind="topk",
        length=length,
        padding=length + 1,
        steps=2,
        k=length // 2 + 1,
        vocabulary=SYMBOLS,
        input_symbols=SYMBOLS[:2],
        accept=SYMBOLS[ACCEPT],
        reject=SYMBOLS[REJECT],
        mask=SYMBOLS[MASK],
        transformers={"model": assemble(_majority_program(length), precision)},
    )


def _majority_program(length: int) -> Program:
    program = Program(SYMBOLS, len(SYMBOLS), length, 2 * length + 1)
    row_code = program.code("here", n)
    address = program.code("letter address", choose(n >= N, choose(n < 2 * N, n - N, n), n))
    answer, counter = program.flag("answer slot", n.equals(2 * N)), program.flag("counting slot", n < 2 * N)
    is_b, done, written = (program.register(name) for name in ("is b", "done", "own slot written"))
    bit, average, begun = (program.register(name) for name in ("bit", "average", "begun"))
    closed = program.register("closed", 2)
    high, low = program.register("high"), program.register("low")
    program.embed(LETTER_B, is_b)
    program.embed(DONE, done)
    program.embed([DONE, REJECT, ACCEPT], written)

    layer = program.layer()
    lookup(layer, address, row_code).copy(is_b, bit)
    detect(everywhere(layer), layer.mlp, done, average, begun)
    second = program.layer().mlp
    second.write(conjunction(second, bit, [answer]), high)
    second.write(conjunction(second, counter, [bit]), low)
    for column in closed:
        second.write(conjunction(second, written, [[]]), column)

    program.read_out([A, LETTER_B], program.one, -B)
    program.read_out(DONE, answer, -B)
    program.read_out([REJECT, ACCEPT], counter, -B)
    program.read_out(DONE, high, B)
    program.read_out(DONE, low, -B)
    program.read_out(REJECT, begun, -ONE)
    program.read_out(ACCEPT, begun, ULP)
    for column in closed:
        program.read_out([DONE, REJECT, ACCEPT], column, -B)
    return program
