"""A padded looped transformer inside masked diffusion (thm:emdms-can-simulate-fplts, with lem:idenitity-dump).

Statement:    PLT[T, P] ⊆ MDM[T, (N + P)·D + ⌈log2 T⌉ + 1]: every looped transformer of width D is a masked diffusion
              model that takes one step per loop and keeps the residual stream of all N + P rows in its slots. Its
              alphabet does not depend on N and T, its width only by logarithms.
Construction: the alphabet is that of the source and F_p; slot (r, d) holds entry d of row r as after the last loop,
              the last slots the answers, one for each row that the source decodes. The planner takes every slot in
              every step. The predictor
              (`simulation.looped_in_slots`) reads the stored stream, or takes the initial one where nothing is stored
              yet, runs the looped layers on it, stores the result, and answers by the final layers.
Bounds:       max(T, 1) steps, (F + P)·D + k slots with k answers and F = N, or N + 1 with a begin symbol; 3 layers
              more than the source; 4 if it has no final layers; 1 more for the single-head read (D > 32) if it has no
              initial layers. 2^(2p+1) symbols more, whatever N and T are. If final layers attend, ⌈log2 T⌉ slots
              and 2·⌈log2 T⌉ + 9 columns more for the clock. Width O(D + |Σ| + 4^p + log(N + P) + log T); a causal
              source costs two columns per row, which is not logarithmic.
              Stochastic: T + 1 steps, one more slot per row and noise column.
Exactness:    bit by bit after every loop, for p >= 1; Z = 0 in the same loop. For p >= 2 no tape can change
              what a deterministic source's conversion writes: its logits are ±B.
              Stochastic sources: exact without a tape. With one, noise slots draw what the next loop adds, so that
              the first step only stores the initial stream; the source, given what the slots drew as its noise, takes
              the same path bit by bit. The same tape gives another path, since addresses differ.
Law:          not exactly that of a stochastic source. A noise slot draws a number of noise within d of its law, in
              total variation: d < 0.296, 0.0991, 0.0234, 0.0117 for p = 1, 2, 3, 4 (`simulation.noise_slots`, computed
              exactly). The (N + P)·C·T numbers of a run, with C noisy columns, are drawn independently, so that the
              laws of its paths and answers are within 1 - (1 - d)^((N + P)·C·T); `unmask convert` prints both.
Deviations:   only N rows are given but N + P are to be hosted; the answer needs a slot of its own (+ 1); the stream
              is in F_p, not in {0, 1}; the proof ends with T·P·D slots. The initial layers must run once, the final
              ones after the last loop, but there is no clock: the initial stream is let through where nothing is
              stored yet, the answer rewritten in every step as if it were the last. That is still wrong where a
              final layer divides by zero on the stream of an earlier loop, which the source never does; if final
              layers attend, a binary counter in ⌈log2 T⌉ slots (`simulation.binary_clock`) tells when the answer is
              due, and earlier steps BOOST.
"""

from dataclasses import dataclass

import numpy as np

from unmask.expressions import N, both, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble_all
from unmask.programs.gadgets.attention import boost, hide, itself
from unmask.programs.gadgets.mlp import also, argmax, gate, merge, one_hot, select, veto
from unmask.programs.program import SPECIAL_NAMES, B, Columns, HeadBuilder, LayerBuilder, Program, bits_for, free_name
from unmask.programs.residual_slots import (
    BinaryClock,
    HeadPerEntry,
    OneHead,
    SlotAddresses,
    SlotLayout,
    StreamReader,
    clock_slots,
    noise_distance,
    noise_logits,
)
from unmask.programs.simulation import Guard, Simulation, column_labels, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, StoredStream, StreamCopy, slots
from unmask.theorems.theorem import Conversion, LawDistance, SourceSize, Theorem, check_argmax, converted
from unmask.traces.trace import Trace
from unmask.weights.model import Model, Price

MOST_HEADS = 32  # beyond this width, one head reads all entries


@dataclass(frozen=True)
class LoopShape:
    """The sizes of a conversion: layers, rows and columns of the source, noise columns, steps of the result.

    `clock` is the number of steps that the clock counts (1: the model has no clock).
    """

    initial: int
    loop: int
    final: int
    rows: int
    width: int
    noise: tuple[int, ...]
    steps: int
    clock: int
    one_head: bool
    answers: int = 1

    @classmethod
    def of(cls, source: Model, most_heads: int = MOST_HEADS) -> "LoopShape":
        model = source.transformers["model"]
        first, last = model.loop or (0, 0)
        noise = model.noise if source.steps else None
        columns = () if noise is None else (*noise.planner, *noise.predictor)
        steps = max(source.steps, 1) + bool(columns)
        final = len(model.layers) - last
        return cls(
            initial=first,
            loop=last - first if source.steps else 0,
            final=final,
            rows=source.rows,
            width=model.width,
            noise=columns,
            steps=steps,
            clock=steps if any(layer.heads for layer in model.layers[last:]) else 1,
            one_head=model.width > most_heads,
            answers=source.answer_rows,
        )

    @property
    def entries(self) -> int:
        return self.width + len(self.noise)

    @property
    def counter(self) -> int:
        """How many slots the clock has."""
        return clock_slots(self.clock)

    @property
    def slots(self) -> int:
        return self.rows * self.entries + self.counter + self.answers

    @property
    def expand(self) -> int:
        """How many layers there are before the initial ones."""
        return int(self.one_head and not self.initial)

    @property
    def before_loop(self) -> int:
        return self.expand + self.initial + 2

    @property
    def layers(self) -> int:
        return self.before_loop + self.loop + max(self.final + 1, 2)


@dataclass(frozen=True, eq=False)
class LoopAlphabet:
    """The symbols of the source under their old numbers, then F_p, then the mask."""

    symbols: tuple[str, ...]
    answers: np.ndarray
    numbers: np.ndarray

    @property
    def mask(self) -> int:
        return len(self.symbols) - 1

    @classmethod
    def of(cls, source: tuple[str, ...], precision: Precision) -> "LoopAlphabet":
        left, right = "⟨", "⟩"
        while any(symbol.startswith(left) and symbol.endswith(right) for symbol in source):
            left, right = left + "⟨", right + "⟩"
        numbers = [f"{left}{precision.meaning(a)}{right}" for a in precision.numbers()]
        mask = free_name(SPECIAL_NAMES["mask"], source)
        first, last = len(source), len(source) + len(numbers)
        return cls(
            symbols=(*source, *numbers, mask),
            answers=np.arange(first),
            numbers=np.arange(first, last),
        )


class LoopPredictor:
    """One loop of a looped transformer as one step of masked diffusion: the predictor, layer by layer.

    `initial` holds the source's stream before the loop, `stream` from the loop on.

    The predictor of thm:emdms-can-simulate-fplts, layer by layer:

        expand    (single-head read without initial layers only) slots spread their bit planes
        initial   the initial layers of the source on the embeddings, in every step
        read      hosts fetch the stored stream, and whether there is one yet; GATE: the initial stream or nothing
        merge     SELF adds both, and the noise that was drawn for this loop
        loop      the looped layers
        tail      the final layers; meanwhile slots look up their host and SELECT (1st), ONEHOT their number (2nd)
        deliver   the last slots look up the logits of the last rows, ARGMAX; within a tail of at most one layer

    Given rows and the first slot of every pad's group host the rows of the source; no row sees the other rows, and they
    BOOST. All logits are ±B, but for noise slots.
    """

    def __init__(self, source: Model, shape: LoopShape, alphabet: LoopAlphabet, rows: int) -> None:
        self.source, self.shape, self.alphabet = source, shape, alphabet
        self.model, self.precision = source.transformers["model"], source.precision
        given = N + int(source.begin is not None)
        layout = SlotLayout(given, given + source.padding, shape.entries, shape.counter, shape.answers)
        program = Program(alphabet.symbols, len(alphabet.symbols), source.length, rows)
        self.program = program
        self.here = program.code("here", n)
        self.at = SlotAddresses.of(program, layout, shape.rows)
        stored = layout.first + layout.rows * shape.entries
        self.answer = program.flag("answer", n >= stored + shape.counter)
        self.clock = BinaryClock.of(program, stored, shape.clock) if shape.clock > 1 else None
        self.noisy = program.flag("noisy", both(layout.storing, layout.entry >= shape.width))
        self.written, self.masked = program.register("written"), program.register("masked")
        self.late, self.early = program.register("late"), program.register("early")
        positions = source_positions(self.model, layout.row, layout.hosting)
        self.initial = Simulation.of(program, self.model, "initial stream", positions)
        self.reader: StreamReader = (
            OneHead(program, self.at, shape.entries, 2 * self.precision.p)
            if shape.one_head
            else HeadPerEntry(program, self.at, shape.entries)
        )
        self.stream = Simulation(self.model, program.register("stream", column_labels(self.model)))
        self.attention = shared_attention(program, [self.model], layout.row, shape.rows, causal=False)
        self._embed()
        self._before_the_loop()
        self._loop()
        self._tail()

    def _embed(self) -> None:
        program, alphabet, embed = self.program, self.alphabet, self.model.embed
        self.initial.embed_symbols(program)
        if self.source.pad is not None:  # whatever stands in the slot of a pad's host, the host starts from the pad
            stored = np.append(alphabet.numbers, alphabet.mask)
            pad = embed.row == self.source.token[self.source.pad]
            for column, value in zip(self.initial.work[embed.column[pad]], embed.value[pad], strict=True):
                program.embed(stored, column, np.full(stored.shape, value))
        self.reader.embed(program, alphabet.numbers, self.precision.numbers())
        program.embed(alphabet.numbers, self.written)
        program.embed(alphabet.mask, self.masked)
        if self.clock:
            self.clock.embed(program, self._zero, alphabet.mask)

    def _guard(self, *idle: Columns) -> Guard:
        """Only hosts are seen; rows that are no host, or idle, never divide by zero."""

        def restrict(head: HeadBuilder) -> None:
            for flag in (self.at.guest, *idle):
                boost(head, flag)
            self.attention.guard[self.model.attention](head)
            hide(head, self.at.guest)

        return restrict

    def _before_the_loop(self) -> None:
        program, shape, reader = self.program, self.shape, self.reader
        for _ in range(shape.expand):
            program.layer()
        for number in range(shape.initial):
            self.initial.layer(number, program.layer(), self._guard())
        read = program.layer()
        if reader.expands:
            reader.expand(program.layers[0])
        reader.fetch(read)
        status = self.at.slot(read, 0)
        status.copy(self.written, self.late)
        status.copy(self.masked, self.early)
        if self.clock:
            self.clock.look(read)
        passed = program.register("passed +", shape.width), program.register("passed -", shape.width)
        gate(read.mlp, self.initial.work, self.late, *passed)

        together = itself(program.layer(), self.here)
        merge(together, *passed, self.stream.work)
        reader.restore(together, np.arange(shape.width), self.stream.work)
        reader.restore(together, np.arange(shape.width, shape.entries), self.stream.work[list(shape.noise)])

    def _loop(self) -> None:
        idle = [self.early] if self.shape.noise else []  # the first loop waits for its noise
        for number in range(self.shape.initial, self.shape.initial + self.shape.loop):
            self.stream.layer(number, self.program.layer(), self._guard(*idle))

    def _tail(self) -> None:
        """The final layers; meanwhile the stream is stored, and after them the answer delivered."""
        shape = self.shape
        tail = [self.program.layer() for _ in range(max(shape.final + 1, 2))]
        for number in range(shape.final):
            waits = [self.clock.waiting] if self.clock else []
            self.stream.layer(len(self.model.layers) - shape.final + number, tail[number], self._guard(*waits))
        self._store(tail[0], tail[1])
        self._deliver(tail[shape.final])

    def _store(self, first: LayerBuilder, second: LayerBuilder) -> None:
        program, others = self.program, self.at.others[: self.shape.width]
        copied = program.register("copied", self.shape.width)
        signs = program.register("dumped +"), program.register("dumped -")
        dumped = program.register("dumped")
        fetch = self.at.host(first)
        fetch.copy(self.stream.work, copied)
        if self.shape.noise:  # the first step stores the initial stream
            begun = program.register("copied initial", self.shape.width)
            fetch.copy(self.initial.work, begun)
            select(first.mlp, copied, others, *signs, self.masked)
            select(first.mlp, begun, others, *signs, self.written)
        else:
            select(first.mlp, copied, others, *signs)
        merge(itself(second, self.here), *signs, dumped)
        number = self._code("number", self.alphabet.numbers)
        one_hot(second.mlp, dumped, self.precision.numbers(), number[0])
        veto(second.mlp, np.concatenate([self.answer, self.noisy, *self._counting]), number[0])
        also(second.mlp, *number)
        if self.clock:
            zero, one = self.precision.bound, self.precision.bound + self.precision.one
            self.clock.tick(first.mlp, [(code[zero], code[one]) for code in number])
        if self.shape.noise:
            logits = noise_logits(self.precision)
            program.read_out(self.alphabet.numbers, self.noisy, logits + self.precision.bound)

    def _deliver(self, layer: LayerBuilder) -> None:
        program, alphabet = self.program, self.alphabet
        logits = program.register("logits", self.source.vocabulary)
        drawn = self._code("answer symbol", alphabet.answers)
        self.stream.logits_in(self.at.host(layer), logits)
        argmax(layer.mlp, logits, drawn[0])
        veto(layer.mlp, np.concatenate([self.at.storing, *self._counting]), drawn[0])
        also(layer.mlp, *drawn)

    @property
    def _zero(self) -> int:
        """The symbol of the number 0."""
        return int(self.alphabet.numbers[self.precision.bound])

    @property
    def _counting(self) -> list[Columns]:
        """[a slot of the clock], if there is one."""
        return [self.clock.counting] if self.clock else []

    def _code(self, name: str, symbols: np.ndarray) -> tuple[Columns, Columns]:
        """Two registers for a one-hot code of symbols, whose logits are -B·one + B·code + B·code = ±B."""
        labels = [self.alphabet.symbols[i] for i in symbols]
        codes = self.program.register(name, labels), self.program.register(f"{name} again", labels)
        self.program.read_out(symbols, self.program.one, -B)
        for code in codes:
            self.program.read_out(symbols, code, B)
        return codes


def planner_of_every_slot(source: Model, alphabet: LoopAlphabet, rows: int) -> Program:
    """Take every slot."""
    program = Program(alphabet.symbols, 2, source.length, rows)
    program.read_out([0], program.one, -B)
    program.read_out([1], program.one, B)
    return program


COMPUTED = 3
"""The largest p for which the distance of a noise slot from the noise is computed on the way."""


def bound(source: SourceSize) -> Price:
    model, p = source.model, source.precision
    noise = model.noise if source.steps else 0
    entries, one_head = model.width + noise, model.width > MOST_HEADS
    steps = max(source.steps, 1) + int(noise > 0)
    clock = clock_slots(steps) if model.final_attends else 0
    padding = source.rows * entries + clock + source.answers
    given = source.rows - source.padding
    addresses = bits_for(given + padding) + 3 * bits_for(source.rows + 1) + bits_for(entries)
    streams = (5 + int(noise > 0)) * model.width + entries
    reader = 4 * p + 12 * p * entries if one_head else 1 + entries
    return Price(
        steps=steps,
        padding=padding,
        layers=model.layers + 3 + int(model.final == 0) + int(one_head and model.initial == 0),
        width=addresses
        + streams
        + reader
        + (2 * clock + 9 if clock else 0)
        + 2 * source.numbers
        + 3 * source.symbols
        + 12
        + source.causal_columns(stays=False),
        symbols=source.symbols + source.numbers + 1,
    )


def plt_to_mdm(source: Model, *, most_heads: int = MOST_HEADS) -> Conversion:
    """The masked diffusion model of a looped transformer; its predictor reads with one head beyond `most_heads`."""
    shape = LoopShape.of(source, most_heads)
    alphabet = LoopAlphabet.of(source.vocabulary, source.precision)
    rows = source.rows - source.padding + shape.slots
    check_argmax("plt_to_mdm", len(source.vocabulary))
    predictor = LoopPredictor(source, shape, alphabet, rows)
    model = converted(
        source,
        "plt_to_mdm",
        kind="mdm",
        padding=shape.slots,
        steps=shape.steps,
        vocabulary=alphabet.symbols,
        mask=alphabet.symbols[alphabet.mask],
        pad=None,
        transformers=assemble_all(
            {"planner": planner_of_every_slot(source, alphabet, rows), "predictor": predictor.program}, source.precision
        ),
    )
    return Conversion(model, _alignment(source, shape, alphabet, predictor))


def _alignment(source: Model, shape: LoopShape, alphabet: LoopAlphabet, predictor: LoopPredictor) -> Alignment:
    """Hosts hold the stream within a step, the slots after it; a stochastic source is one step behind."""
    given, delay = source.rows - source.padding, int(bool(shape.noise))
    every = np.arange(shape.rows)
    hosts = np.where(every < given, every, given + every * shape.entries)
    initial, stream = predictor.initial.work, predictor.stream.work
    final = len(source.transformers["model"].layers) - shape.final

    def copy(name: str, layer: int, columns: Columns, *, last: bool = False) -> StreamCopy:
        at = f"steps.{{last}}.predictor.layers.{layer}.residual"
        step = (lambda t: shape.steps - 1) if last else (lambda t: t + delay)  # noqa: ARG005
        return StreamCopy(f"{name}.residual", at, lambda t: (every, hosts), columns, step)  # noqa: ARG005

    def stored(trace: Trace, t: int) -> np.ndarray:
        numbers = trace.canvas[t + delay][: shape.rows * shape.entries]
        held = numbers.reshape(shape.rows, shape.entries)[:, : shape.width]
        return held - alphabet.numbers[0] - source.precision.bound

    copies: list[StreamCopy | StoredStream] = []
    for k in range(shape.initial):
        copies.append(copy(f"initial.model.layers.{k}", shape.expand + k, initial))
    for k in range(shape.loop):
        copies.append(copy(f"steps.{{t}}.model.layers.{shape.initial + k}", shape.before_loop + k, stream))
    for k in range(shape.final):
        after = shape.before_loop + shape.loop + k
        copies.append(copy(f"final.model.layers.{final + k}", after, stream, last=True))
    if shape.loop:
        after_loop = f"steps.{{t}}.model.layers.{shape.initial + shape.loop - 1}.residual"
    else:
        after_loop = f"initial.model.{f'layers.{shape.initial - 1}.residual' if shape.initial else 'embed'}"
    copies.append(StoredStream(after_loop, stored))
    answer = slots(lambda t: np.arange(shape.slots - shape.answers, shape.slots), lambda t: shape.steps - 1)  # noqa: ARG005
    return Alignment(answer, tuple(copies))


def law(source: Model) -> LawDistance | None:
    """How far what noise slots draw is from the noise of a stochastic source."""
    columns = SourceSize.of(source).model.noise
    if not columns or not source.steps:
        return None
    precision = source.precision
    distance = noise_distance(precision) if precision.p <= COMPUTED else None
    return LawDistance(distance, source.rows * columns * source.steps)


PLT_TO_MDM = Theorem("plt_to_mdm", "thm:emdms-can-simulate-fplts", "plt", "mdm", plt_to_mdm, bound, law)
