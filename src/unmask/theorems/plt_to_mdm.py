"""A padded looped transformer inside masked diffusion (thm:emdms-can-simulate-fplts, with lem:idenitity-dump).

Statement:    PLT[T, P] ⊆ MDM[T, (N + P)·D + 1], and for D >= 2, in packed form, PLT[T, P] ⊆ MDM[T, (N + P)·D]. Every
              looped transformer of width D is simulated by a masked diffusion model that takes one step per loop and
              stores the residual stream of all N + P rows in its slots. The weights do not depend on T. The alphabet
              does not depend on N, and the width grows with log N.
Construction: the symbols are those of the source and the numbers of F_p. Slot (r, d) stores entry d of row r after the
              most recent loop. The last slots store the answers, one for each row that the source decodes. The planner
              chooses every slot in every step. The predictor (`LoopPredictor`) reads the stored stream, or the initial
              stream if nothing is stored yet. It runs the looped layers on it, stores the result, and computes the
              answers with the final layers.
              Packed: the first answer takes the slot of the last number of the stream. The other slots of that row
              store this number in addition to their own, one digit each. So pairs of a number and a digit are also
              symbols (`residual_slots.Digits`).
Bounds:       max(T, 1) steps, (F + P)·D + k slots with k answers and F = N, or N + 1 with a begin symbol; packed, one
              slot less (for D = 1, 2·(F + P) + k - 1). 3 layers more than the source, and 1 for each final layer that
              attends; 1 more if it has no final layers; 1 more for the single-head read (D > 32) if it has no initial
              layers. 2^(2p+1) symbols more; packed, 2·(2^b - 1)·(2^(2p+1) - 1) more than that, b = ⌈2p/(D - 1)⌉. Width
              O(D + |Σ| + 4^p + log(N + P)), and a column for each head of the final layers. A causal source costs two
              more columns per row, which is not logarithmic.
              Stochastic: T + 1 steps, one more slot per row and noise column.
Exactness:    bit by bit after every loop, for p >= 1. Both divide by zero in the same loop. If the source divides by
              zero in a final layer, all answers are ⟨0⟩, a symbol that the source does not have. For p >= 2 no tape
              changes what the conversion of a deterministic source writes, since its logits are ±B.
              Stochastic sources: exact without a tape. With a tape, noise slots draw the noise that the next loop adds,
              and the first step only stores the initial stream. If the source takes the numbers of the noise slots as
              its noise, it follows the same path bit by bit. The same tape gives a different path, because the
              addresses of the draws differ.
Law:          not exactly that of a stochastic source. Each number that a noise slot draws has a law within d of the
              noise, in total variation: d < 0.296, 0.0991, 0.0234, 0.0117 for p = 1, 2, 3, 4
              (`residual_slots.noise_logits`, computed exactly). A run with C noisy columns draws (N + P)·C·T numbers
              independently. So the laws of its paths and of its answers are within 1 - (1 - d)^((N + P)·C·T).
              `unmask convert` prints both.
Deviations:   the input has N rows, but N + P rows must be hosted. The stream is in F_p, not in {0, 1}. The printed
              proof ends with T·P·D slots and has no slot for the answer. The initial layers should run once and the
              final layers after the last loop, but a step does not know its number. So every step runs both: rows take
              the initial stream if nothing is stored yet, and every step writes the answer as if it were the last. On
              the stream of an earlier loop a final layer may divide by zero although the source never does. Therefore
              EMPTY first tests for each head of a final layer whether it sees any row. Rows with a head that sees none
              BOOST.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import N, both, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble_all
from unmask.programs.gadgets.attention import boost, hide, itself
from unmask.programs.gadgets.mlp import argmax, conjunction, gate, merge, one_hot, outweigh, select, veto, write_again
from unmask.programs.gadgets.whole_layers import detect, empty, everywhere
from unmask.programs.program import (
    ONE,
    SPECIAL_NAMES,
    B,
    Columns,
    HeadBuilder,
    LayerBuilder,
    Program,
    bits_for,
    free_name,
)
from unmask.programs.residual_slots import (
    Digits,
    HeadPerEntry,
    OneHead,
    SlotAddresses,
    SlotLayout,
    SpreadNumber,
    StreamReader,
    noise_distance,
    noise_logits,
)
from unmask.programs.simulation import Guard, Simulation, column_labels, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, StoredStream, StreamCopy, slots
from unmask.theorems.theorem import Conversion, LawDistance, SourceSize, Theorem, check_argmax, converted_model
from unmask.traces.trace import Trace
from unmask.weights.model import Model, Price

MOST_HEADS = 32  # beyond this width, one head reads all entries


@dataclass(frozen=True)
class LoopShape:
    """The sizes of a conversion: layers, rows and columns of the source, noise columns, steps of the result.

    `final_heads` has the number of heads of each final layer that has any. `digits` says how a packed row stores its
    last number.
    """

    initial: int
    loop: int
    final: int
    final_heads: tuple[int, ...]
    rows: int
    width: int
    noise: tuple[int, ...]
    steps: int
    one_head: bool
    packed: bool = False
    digits: Digits | None = None
    answers: int = 1

    @classmethod
    def of(cls, source: Model, most_heads: int = MOST_HEADS, *, packed: bool = False) -> "LoopShape":
        model = source.transformers["model"]
        first, last = model.loop or (0, 0)
        noise = model.noise if source.steps else None
        columns = () if noise is None else (*noise.planner, *noise.predictor)
        return cls(
            initial=first,
            loop=last - first if source.steps else 0,
            final=len(model.layers) - last,
            final_heads=tuple(len(layer.heads) for layer in model.layers[last:] if layer.heads),
            rows=source.rows,
            width=model.width,
            noise=columns,
            steps=max(source.steps, 1) + bool(columns),
            one_head=model.width > most_heads,
            packed=packed,
            digits=spread_digits(model.width, source.precision.p) if packed else None,
            answers=source.answer_rows,
        )

    @property
    def entries(self) -> int:
        return slots_per_row(self.width, len(self.noise), packed=self.packed)

    @property
    def stream_entries(self) -> np.ndarray:
        """Return the slots of a group that store the stream; in a packed group they come last."""
        return np.arange(self.width) + (len(self.noise) if self.packed else 0)

    @property
    def noise_entries(self) -> np.ndarray:
        return np.arange(len(self.noise)) + (0 if self.packed else self.width)

    @property
    def slots(self) -> int:
        return self.rows * self.entries + self.answers - int(self.packed)

    @property
    def expand(self) -> int:
        """Return the number of layers before the initial ones."""
        return int(self.one_head and not self.initial)

    @property
    def before_loop(self) -> int:
        return self.expand + self.initial + 2

    @property
    def tail(self) -> int:
        """Return the number of layers after the loop."""
        return max(self.final + len(self.final_heads) + 1, 2)

    @property
    def layers(self) -> int:
        return self.before_loop + self.loop + self.tail


def slots_per_row(width: int, noise: int, *, packed: bool) -> int:
    """Return the number of slots per row of the stream; a packed row has at least two."""
    return (max(width, 2) if packed else width) + noise


def spread_digits(width: int, p: int) -> Digits | None:
    """Return how a packed row stores its last number as digits.

    None for width 1: a row has at least two slots, so the second one is free.
    """
    return Digits.of(width - 1, p) if width > 1 else None


@dataclass(frozen=True, eq=False)
class LoopAlphabet:
    """The symbols: those of the source in their order, then F_p, then pairs (digit, number of F_p), then the mask."""

    symbols: tuple[str, ...]
    answers: np.ndarray
    numbers: np.ndarray
    with_digit: np.ndarray
    """with_digit[d, i]: the symbol of number i with the d-th digit that is not 0."""

    @property
    def mask(self) -> int:
        return len(self.symbols) - 1

    @classmethod
    def of(cls, source: tuple[str, ...], precision: Precision, digits: Digits | None = None) -> "LoopAlphabet":
        left, right = "⟨", "⟩"
        while any(symbol.startswith(left) and symbol.endswith(right) for symbol in source):
            left, right = left + "⟨", right + "⟩"
        numbers = [f"{left}{precision.meaning(a)}{right}" for a in precision.numbers()]
        values = digits.values if digits else []
        pairs = [f"{left}{precision.meaning(a)}, {d}{right}" for d in values for a in precision.numbers()]
        mask = free_name(SPECIAL_NAMES["mask"], source)
        first, last = len(source), len(source) + len(numbers)
        return cls(
            symbols=(*source, *numbers, *pairs, mask),
            answers=np.arange(first),
            numbers=np.arange(first, last),
            with_digit=np.arange(last, last + len(pairs)).reshape(len(values), len(numbers)),
        )


class LoopPredictor:
    """The predictor of thm:emdms-can-simulate-fplts: one loop of a looped transformer as one step of masked diffusion.

    Register `initial` has the source's stream before the loop, `stream` has it from the loop on. The layers are:

        expand    (only for the single-head read without initial layers) slots spread their bit planes
        initial   the initial layers of the source on the embeddings, in every step
        read      hosts fetch the stored stream and a flag that says whether it exists; GATE lets the initial stream
                  through if it does not
        merge     SELF adds both, and the noise that was drawn for this loop
        loop      the looped layers
        tail      the final layers; each one with heads comes after a layer of EMPTY heads, and rows that see nothing
                  BOOST; at the same time slots look up their host and SELECT (1st layer), ONEHOT their number (2nd)
        deliver   the last slots look up the logits of the last rows, ARGMAX; ⟨0⟩ if some row saw nothing (DETECT)

    The input rows, and the first slot of the group of each pad, host the rows of the source. Other rows are hidden from
    all rows, and they BOOST. All logits are ±B, except in noise slots.
    """

    def __init__(self, source: Model, shape: LoopShape, alphabet: LoopAlphabet, rows: int) -> None:
        self.source, self.shape, self.alphabet = source, shape, alphabet
        self.model, self.precision = source.transformers["model"], source.precision
        input_rows = N + int(source.begin is not None)
        layout = SlotLayout(input_rows, input_rows + source.padding, shape.entries, shape.answers, shape.packed)
        program = Program(alphabet.symbols, len(alphabet.symbols), source.length, rows)
        self.program = program
        self.row_code = program.code("here", n)
        self.at = SlotAddresses.of(program, layout, shape.rows)
        self.answer = program.flag("answer", n >= layout.first_answer)
        draws = layout.entry < len(shape.noise) if shape.packed else layout.entry >= shape.width
        self.noisy = program.flag("noisy", both(layout.storing, draws))
        self.written, self.masked = program.register("written"), program.register("masked")
        self.late, self.early = program.register("late"), program.register("early")
        positions = source_positions(self.model, layout.row, layout.hosting)
        self.initial = Simulation.of(program, self.model, "initial stream", positions)
        self.spread = None
        if shape.digits:
            *carriers, last = shape.stream_entries.tolist()
            self.spread = SpreadNumber.of(program, shape.digits, np.array(carriers), last)
            self.elsewhere = program.flag("not in the last group", 1 - layout.stored.equals(layout.rows - 1))
        self.reader: StreamReader = (
            OneHead(program, self.at, shape.entries, 2 * self.precision.p, self.spread)
            if shape.one_head
            else HeadPerEntry(program, self.at, shape.entries, self.spread)
        )
        self.stream = Simulation(self.model, program.register("stream", column_labels(self.model)))
        self.attention = shared_attention(program, [self.model], layout.row, shape.rows, causal=False)
        if shape.final_heads:
            self.sentinel = program.flag("sentinel", n.equals(layout.first_answer + shape.answers - 1))
            self.blind = program.register("sees nothing")
        self._embed()
        self._before_the_loop()
        self._loop()
        self._tail()

    def _embed(self) -> None:
        program, alphabet, embed = self.program, self.alphabet, self.model.embed
        self.initial.embed_symbols(program)
        if self.source.pad is not None:  # a pad's host starts from the pad, whatever its slot holds
            stored = np.concatenate([alphabet.numbers, alphabet.with_digit.ravel(), [alphabet.mask]])
            pad = embed.row == self.source.token[self.source.pad]
            for column, value in zip(self.initial.work[embed.column[pad]], embed.value[pad], strict=True):
                program.embed(stored, column, np.full(stored.shape, value))
        for symbols in (alphabet.numbers, *alphabet.with_digit):
            self.reader.embed(program, symbols, self.precision.numbers())
            program.embed(symbols, self.written)
        if self.spread:
            for symbols, digit in zip(alphabet.with_digit, self.spread.digit, strict=True):
                program.embed(symbols, digit)
        program.embed(alphabet.mask, self.masked)

    def _guard(self, *idle: Columns) -> Guard:
        """Return the guard of a head: only hosts are visible, and idle rows and non-hosts never divide by zero."""

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
        passed = program.register("passed +", shape.width), program.register("passed -", shape.width)
        gate(read.mlp, self.initial.work, self.late, *passed)

        together = itself(program.layer(), self.row_code)
        merge(together, *passed, self.stream.work)
        reader.restore(together, shape.stream_entries, self.stream.work)
        reader.restore(together, shape.noise_entries, self.stream.work[list(shape.noise)])

    def _loop(self) -> None:
        idle = [self.early] if self.shape.noise else []  # the first loop waits for its noise
        for number in range(self.shape.initial, self.shape.initial + self.shape.loop):
            self.stream.layer(number, self.program.layer(), self._guard(*idle))

    def _tail(self) -> None:
        """Add the final layers. The first two of them also store the stream, and a last layer delivers the answer."""
        shape, first = self.shape, len(self.model.layers) - self.shape.final
        tail = [self.program.layer() for _ in range(shape.tail)]
        free_layers = iter(tail)
        for number in range(first, len(self.model.layers)):
            idle = []
            if self.model.layers[number].heads:
                self._test_heads(number, next(free_layers))
                idle = [self.blind]
            self.stream.layer(number, next(free_layers), self._guard(*idle))
        self._store(tail[0], tail[1])
        self._deliver(next(free_layers))

    def _test_heads(self, number: int, layer: LayerBuilder) -> None:
        """Add EMPTY for every head of a final layer, which may see no row on the stream of an earlier loop."""
        work, guard = self.stream.work, self._guard()
        shares = self.program.register(f"share {number}", len(self.model.layers[number].heads))
        for (_, head), share in zip(self.stream.scores(number, layer, work, work), shares, strict=True):
            guard(head)
            empty(head, layer.mlp, self.sentinel, share[None], self.blind)

    def _store(self, first: LayerBuilder, second: LayerBuilder) -> None:
        """Let each slot look up its number of the stream and write its symbol."""
        program, others = self.program, self.at.other_entries[self.shape.stream_entries]
        copied = program.register("copied", self.shape.width)
        signs = program.register("dumped +"), program.register("dumped -")
        dumped = program.register("dumped")
        fetch = self.at.host(first)
        fetch.copy(self.stream.work, copied)
        streams = [copied]
        if self.shape.noise:  # the first step stores the initial stream
            copied_initial = program.register("copied initial", self.shape.width)
            fetch.copy(self.initial.work, copied_initial)
            select(first.mlp, copied, others, *signs, self.masked)
            select(first.mlp, copied_initial, others, *signs, self.written)
            streams.append(copied_initial)
        else:
            select(first.mlp, copied, others, *signs)
        merge(itself(second, self.row_code), *signs, dumped)
        number = self._code("number", self.alphabet.numbers, *self.alphabet.with_digit)
        one_hot(second.mlp, dumped, self.precision.numbers(), number[0])
        veto(second.mlp, np.concatenate([self.answer, self.noisy]), number[0])
        write_again(second.mlp, *number)
        if self.spread:
            self._store_digits(self.spread, [stream[-1:] for stream in streams], first, second)
        if self.shape.noise:
            logits = noise_logits(self.precision)
            program.read_out(self.alphabet.numbers, self.noisy, logits + self.precision.bound)

    def _store_digits(
        self, spread: SpreadNumber, last: list[Columns], first: LayerBuilder, second: LayerBuilder
    ) -> None:
        """Store the digits of the last number of the last row in the other slots of that row."""
        program, digits, numbers = self.program, spread.digits, self.precision.numbers()
        labels = ["0", *(str(d) for d in digits.values)]
        other = program.register("other digit", labels), program.register("other digit again", labels)
        zero, rest = other[0][:1], other[0][1:]
        second.mlp.offset(rest, ONE)
        for column, other_case in zip(last, (self.masked, self.written), strict=False):
            code = program.register(f"last number of {program.width}", len(numbers))
            one_hot(first.mlp, column, numbers, code)
            if len(last) > 1:
                veto(first.mlp, other_case, code)
            for j, entry in enumerate(spread.carriers):
                negated = [self.at.other_entries[entry], self.elsewhere[0]]
                digit = np.array([digits.digit(v, j) for v in numbers])
                for value, column_of_digit in zip(digits.values, rest, strict=True):
                    units = conjunction(second.mlp, code[digit == value], [negated] * int((digit == value).sum()))
                    second.mlp.write(units, zero)
                    second.mlp.write(units, column_of_digit, -ONE)
        write_again(second.mlp, *other)
        for columns in other:
            for symbols, column in zip((self.alphabet.numbers, *self.alphabet.with_digit), columns, strict=True):
                program.read_out(symbols, column, -B)

    def _deliver(self, layer: LayerBuilder) -> None:
        """Let the answer slots look up the logits of their host and write the ARGMAX."""
        program, alphabet = self.program, self.alphabet
        logits = program.register("logits", self.source.vocabulary)
        answer = self._code("answer symbol", alphabet.answers)
        self.stream.logits_in(self.at.host(layer), logits)
        argmax(layer.mlp, logits, answer[0])
        veto(layer.mlp, self.at.storing, answer[0])
        if self.shape.final_heads:
            self._answer_zero(layer, answer[0])
        write_again(layer.mlp, *answer)

    def _answer_zero(self, layer: LayerBuilder, answer: Columns) -> None:
        """Answer ⟨0⟩, which is not a symbol of the source, if some row saw nothing in a final layer."""
        program = self.program
        average = program.register("how many see nothing")
        undefined = program.register("no answer"), program.register("no answer again")
        head = everywhere(layer)
        hide(head, self.at.guest)
        detect(head, layer.mlp, self.blind, average, undefined[0])
        veto(layer.mlp, self.at.storing, undefined[0])
        write_again(layer.mlp, *undefined)
        outweigh(layer.mlp, [(np.repeat(average, answer.size), ONE)], None, answer)
        for flag in undefined:
            program.read_out(self.zero, flag, B)

    @property
    def zero(self) -> int:
        """Return the symbol of the number 0."""
        return int(self.alphabet.numbers[self.precision.bound])

    def _code(self, name: str, *symbols: np.ndarray) -> tuple[Columns, Columns]:
        """Return two registers for a one-hot code of symbols, whose logits are -B·one + B·code + B·code = ±B."""
        labels = [self.alphabet.symbols[i] for i in symbols[0]]
        codes = self.program.register(name, labels), self.program.register(f"{name} again", labels)
        for coded in symbols:
            self.program.read_out(coded, self.program.one, -B)
            for code in codes:
                self.program.read_out(coded, code, B)
        return codes


def planner_of_every_slot(source: Model, alphabet: LoopAlphabet, rows: int) -> Program:
    """Return a planner that chooses every slot."""
    program = Program(alphabet.symbols, 2, source.length, rows)
    program.read_out([0], program.one, -B)
    program.read_out([1], program.one, B)
    return program


COMPUTED = 3
"""The largest p for which a conversion computes the distance between the law of a noise slot and the noise."""


def bound(source: SourceSize, *, packed: bool = False) -> Price:
    model, p = source.model, source.precision
    noise = model.noise if source.steps else 0
    entries, one_head = slots_per_row(model.width, noise, packed=packed), model.width > MOST_HEADS
    padding = source.rows * entries + source.answers - int(packed)
    input_rows = source.rows - source.padding
    addresses = bits_for(input_rows + padding) + 3 * bits_for(source.rows + 1) + bits_for(entries)
    streams = (5 + int(noise > 0)) * model.width + entries
    reader = 4 * p + 12 * p * entries if one_head else 1 + entries
    digits = spread_digits(model.width, p) if packed else None
    values = len(digits.values) if digits else 0
    spread = 3 * values + 3 + (1 + int(noise > 0)) * source.numbers if digits else 0
    watched = sum(model.final_heads) + 5 if model.final_heads else 0
    return Price(
        steps=max(source.steps, 1) + int(noise > 0),
        padding=padding,
        layers=model.layers + 3 + len(model.final_heads) + int(model.final == 0) + int(one_head and model.initial == 0),
        width=addresses
        + streams
        + reader
        + spread
        + watched
        + 2 * source.numbers
        + 3 * source.symbols
        + 12
        + source.causal_columns(stays=False),
        symbols=source.symbols + (1 + values) * source.numbers + 1,
    )


def plt_to_mdm(source: Model, *, most_heads: int = MOST_HEADS, packed: bool = False) -> Conversion:
    """Return the masked diffusion model of a looped transformer.

    Its predictor reads the stream with a single head if the width exceeds `most_heads`. The `packed` form saves the
    slot of the last number of the stream and has more symbols.
    """
    stem = "plt_to_mdm_packed" if packed else "plt_to_mdm"
    shape = LoopShape.of(source, most_heads, packed=packed)
    alphabet = LoopAlphabet.of(source.vocabulary, source.precision, shape.digits)
    rows = source.rows - source.padding + shape.slots
    check_argmax(stem, len(source.vocabulary))
    predictor = LoopPredictor(source, shape, alphabet, rows)
    model = converted_model(
        source,
        stem,
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
    undefined = alphabet.symbols[predictor.zero] if shape.final_heads else None
    return Conversion(model, _alignment(source, shape, alphabet, predictor), undefined)


def _alignment(source: Model, shape: LoopShape, alphabet: LoopAlphabet, predictor: LoopPredictor) -> Alignment:
    """Return where the stream is: in the hosts during a step, in the slots after it.

    The conversion of a stochastic source is one step behind.
    """
    input_rows, delay = source.rows - source.padding, int(bool(shape.noise))
    every = np.arange(shape.rows)
    hosts = np.where(every < input_rows, every, input_rows + every * shape.entries)
    initial, stream = predictor.initial.work, predictor.stream.work
    final = len(source.transformers["model"].layers) - shape.final

    def copy(name: str, layer: int, columns: Columns, *, last: bool = False) -> StreamCopy:
        at = f"steps.{{last}}.predictor.layers.{layer}.residual"
        step = (lambda t: shape.steps - 1) if last else (lambda t: t + delay)  # noqa: ARG005
        return StreamCopy(f"{name}.residual", at, lambda t: (every, hosts), columns, step)  # noqa: ARG005

    values = np.tile(np.array(source.precision.numbers()), len(alphabet.with_digit) + 1)
    number_of = np.zeros(len(alphabet.symbols), dtype=np.int64)
    number_of[np.concatenate([alphabet.numbers, alphabet.with_digit.ravel()])] = values
    digit_of = np.zeros_like(number_of)
    for symbols, digit in zip(alphabet.with_digit, shape.digits.values if shape.digits else [], strict=True):
        digit_of[symbols] = digit

    def stored(trace: Trace, t: int) -> np.ndarray:
        tokens = trace.canvas[t + delay][: shape.rows * shape.entries].reshape(shape.rows, shape.entries)
        stream = number_of[tokens[:, shape.stream_entries]]
        if shape.digits:
            digits = digit_of[tokens[-1, shape.stream_entries]].tolist()
            weights = [shape.digits.weight(d, j) for j, d in enumerate(digits) if j < shape.digits.count]
            stream[-1, -1] += sum(weights)
        return stream

    copies: list[StreamCopy | StoredStream] = []
    for k in range(shape.initial):
        copies.append(copy(f"initial.model.layers.{k}", shape.expand + k, initial))
    for k in range(shape.loop):
        copies.append(copy(f"steps.{{t}}.model.layers.{shape.initial + k}", shape.before_loop + k, stream))
    after = shape.before_loop + shape.loop - 1
    for k in range(shape.final):
        after += 2 if source.transformers["model"].layers[final + k].heads else 1
        copies.append(copy(f"final.model.layers.{final + k}", after, stream, last=True))
    if shape.loop:
        after_loop = f"steps.{{t}}.model.layers.{shape.initial + shape.loop - 1}.residual"
    else:
        after_loop = f"initial.model.{f'layers.{shape.initial - 1}.residual' if shape.initial else 'embed'}"
    copies.append(StoredStream(after_loop, stored))
    answer = slots(lambda t: np.arange(shape.slots - shape.answers, shape.slots), lambda t: shape.steps - 1)  # noqa: ARG005
    return Alignment(answer, tuple(copies))


def law_distance(source: Model) -> LawDistance | None:
    """Return the distance between the draws of noise slots and the noise of a stochastic source."""
    columns = SourceSize.of(source).model.noise
    if not columns or not source.steps:
        return None
    precision = source.precision
    distance = noise_distance(precision) if precision.p <= COMPUTED else None
    return LawDistance(distance, source.rows * columns * source.steps)


PLT_TO_MDM = Theorem("plt_to_mdm", "thm:emdms-can-simulate-fplts", "plt", "mdm", plt_to_mdm, bound, law_distance)
PLT_TO_MDM_PACKED = Theorem(
    "plt_to_mdm_packed",
    "thm:emdms-can-simulate-fplts",
    "plt",
    "mdm",
    partial(plt_to_mdm, packed=True),
    partial(bound, packed=True),
    law_distance,
)
