"""One loop of a looped transformer as one step of masked diffusion: planner and predictor.

The predictor of thm:emdms-can-simulate-fplts, layer by layer:

    expand    (single-head read without initial layers only) slots spread their bit planes
    initial   the initial layers of the source on the embeddings, in every step
    read      hosts fetch the stored stream, and whether there is one yet; GATE: the initial stream or nothing
    merge     SELF adds both, and the noise that was drawn for this loop
    loop      the looped layers
    tail      the final layers; meanwhile slots look up their host and SELECT (1st), ONEHOT their number (2nd)
    deliver   the last slot looks up the logits of the last row, ARGMAX; with one final layer or none, within the tail

Given rows and the first slot of every pad's group host the rows of the source; nobody sees the other rows, and they
BOOST. All logits are ±B, but for noise slots.
"""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.precision import Precision
from unmask.programs.assemble import assemble
from unmask.programs.attention import boost, constant_code, hide, match
from unmask.programs.buffers import itself
from unmask.programs.coefficients import B
from unmask.programs.expressions import N, both, n
from unmask.programs.logic import also, argmax, conjunction, gate, merge, one_hot, select, veto
from unmask.programs.noise_slots import noise_logits
from unmask.programs.program import Columns, Flag, HeadBuilder, LayerBuilder, Program, SignedBits, bits_for
from unmask.programs.residual_slots import Addresses, HeadPerEntry, Layout, OneHead
from unmask.programs.simulation import Guard, Simulation, column_labels, shared_attention, source_positions
from unmask.programs.vocabulary import SPECIAL_NAMES, free_name
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

MOST_HEADS = 32  # beyond this width, one head reads all entries


@dataclass(frozen=True)
class Shape:
    """The sizes of a conversion: layers, rows and columns of the source; noise columns; steps of the result, and
    how many of them its clock counts (1: there is none)."""

    initial: int
    loop: int
    final: int
    rows: int
    width: int
    noise: tuple[int, ...]
    steps: int
    clock: int
    one_head: bool

    @classmethod
    def of(cls, source: Model, most_heads: int = MOST_HEADS) -> "Shape":
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
        )

    @property
    def entries(self) -> int:
        return self.width + len(self.noise)

    @property
    def slots(self) -> int:
        return self.rows * self.entries + 1

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
class Alphabet:
    """The symbols of the source under their old numbers, then F_p, the clock, the mask."""

    symbols: tuple[str, ...]
    answers: np.ndarray
    numbers: np.ndarray
    clock: np.ndarray

    @property
    def mask(self) -> int:
        return len(self.symbols) - 1

    @classmethod
    def of(cls, source: tuple[str, ...], precision: Precision, clock: int) -> "Alphabet":
        left, right = "⟨", "⟩"
        while any(symbol.startswith(left) and symbol.endswith(right) for symbol in source):
            left, right = left + "⟨", right + "⟩"
        numbers = [f"{left}{precision.meaning(a)}{right}" for a in precision.numbers()]
        times = [f"{left}step {t}{right}" for t in range(1, clock)]
        mask = free_name(SPECIAL_NAMES["mask"], source)
        first, last = len(source), len(source) + len(numbers)
        return cls(
            symbols=(*source, *numbers, *times, mask),
            answers=np.arange(first),
            numbers=np.arange(first, last),
            clock=np.arange(last, last + len(times)),
        )


class Predictor:
    """The program, and the registers that hold the source's streams: `initial` before the loop, `stream` from it on."""

    def __init__(self, source: Model, shape: Shape, alphabet: Alphabet, rows: int) -> None:
        self.source, self.shape, self.alphabet = source, shape, alphabet
        self.model, self.precision = source.transformers["model"], source.precision
        given = N + int(source.begin is not None)
        layout = Layout(given, given + source.padding, shape.entries)
        program = Program(alphabet.symbols, len(alphabet.symbols), source.length, rows)
        self.program = program
        self.one = program.register("one", declaration=Flag(n >= 0))
        self.here = program.register("here", bits_for(rows), SignedBits(n))
        self.at = Addresses.of(program, layout, shape.rows, self.one)
        self.answer = program.register("answer", declaration=Flag(n >= layout.first + layout.rows * shape.entries))
        self.noisy = program.register("noisy", declaration=Flag(both(layout.storing, layout.entry >= shape.width)))
        self.written, self.masked, self.waiting = (program.register(f) for f in ("written", "masked", "waiting"))
        self.late, self.early, self.held = (program.register(f) for f in ("late", "early", "held"))
        positions = source_positions(self.model, layout.row, layout.hosting)
        self.initial = Simulation.of(program, self.model, "initial stream", positions)
        if shape.one_head:
            self.reader = OneHead(program, self.at, shape.entries, 2 * self.precision.p)
        else:
            self.reader = HeadPerEntry(program, self.at, shape.entries)
        self.stream = Simulation(self.model, program.register("stream", column_labels(self.model)))
        self.attention = shared_attention(program, [self.model], layout.row, shape.rows, causal=False)
        self._embed()
        self._before_the_loop()
        self._loop()
        tail = [program.layer() for _ in range(max(shape.final + 1, 2))]
        for number in range(shape.final):
            waits = [self.held] if shape.clock > 1 else []
            self.stream.layer(len(self.model.layers) - shape.final + number, tail[number], self._guard(*waits))
        self._store(tail[0], tail[1])
        self._deliver(tail[shape.final])

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
        if self.shape.clock > 1:
            program.embed([*alphabet.clock[:-1], alphabet.mask], self.waiting)

    def _guard(self, *idle: Columns) -> Guard:
        """Only hosts are seen; rows that are no host, or idle, never divide by zero."""

        def restrict(head: HeadBuilder) -> None:
            for flag in (self.at.guest, *idle):
                boost(head, flag, self.one)
            self.attention.guard[self.model.attention](head)
            hide(head, self.at.guest, self.one)

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
        if shape.clock > 1:
            watch = read.head()
            match(watch, constant_code(program.rows - 1, self.here.size, self.one), self.here, self.one)
            watch.copy(self.waiting, self.held)
        passed = program.register("passed +", shape.width), program.register("passed -", shape.width)
        gate(read.mlp, self.initial.work, self.late, *passed)

        together = itself(program.layer(), self.here, self.one)
        merge(together, *passed, self.stream.work)
        reader.restore(together, np.arange(shape.width), self.stream.work)
        reader.restore(together, np.arange(shape.width, shape.entries), self.stream.work[list(shape.noise)])

    def _loop(self) -> None:
        idle = [self.early] if self.shape.noise else []  # the first loop waits for its noise
        for number in range(self.shape.initial, self.shape.initial + self.shape.loop):
            self.stream.layer(number, self.program.layer(), self._guard(*idle))

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
        merge(itself(second, self.here, self.one), *signs, dumped)
        number = self._code("number", self.alphabet.numbers)
        one_hot(second.mlp, dumped, self.precision.numbers(), number[0])
        veto(second.mlp, np.concatenate([self.answer, self.noisy]), number[0])
        also(second.mlp, *number)
        if self.shape.noise:
            logits = noise_logits(self.precision)
            program.read_out(self.alphabet.numbers, self.noisy, logits + self.precision.bound)

    def _deliver(self, layer: LayerBuilder) -> None:
        program, alphabet = self.program, self.alphabet
        logits = program.register("logits", self.source.vocabulary)
        drawn = self._code("answer symbol", alphabet.answers)
        self.stream.logits_in(self.at.host(layer), logits)
        argmax(layer.mlp, logits, drawn[0])
        veto(layer.mlp, np.concatenate([self.at.storing, self.waiting]), drawn[0])
        also(layer.mlp, *drawn)
        if self.shape.clock > 1:
            time, following = program.register("time", alphabet.clock.size), self._code("next time", alphabet.clock)
            program.embed([alphabet.mask, *alphabet.clock[:-1]], time)
            layer.mlp.write(conjunction(layer.mlp, time, [self.at.storing] * time.size), following[0])
            also(layer.mlp, *following)

    def _code(self, name: str, symbols: np.ndarray) -> tuple[Columns, Columns]:
        """Two registers for a one-hot code of symbols, whose logits are -B·one + B·code + B·code = ±B."""
        labels = [self.alphabet.symbols[i] for i in symbols]
        codes = self.program.register(name, labels), self.program.register(f"{name} again", labels)
        self.program.read_out(symbols, self.one, -B)
        for code in codes:
            self.program.read_out(symbols, code, B)
        return codes


def planner(source: Model, alphabet: Alphabet, rows: int) -> Transformer:
    """Take every slot."""
    program = Program(alphabet.symbols, 2, source.length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    program.read_out([0], one, -B)
    program.read_out([1], one, B)
    return assemble(program, source.precision)
