"""One loop of a looped transformer as one step of masked diffusion: planner and predictor.

The predictor of thm:emdms-can-simulate-fplts, layer by layer:

    expand    (single-head read without initial layers only) slots spread their bit planes
    initial   the initial layers of the source on the embeddings, in every step
    read      hosts fetch the stored stream, and whether there is one yet; GATE: the initial stream or nothing
    merge     SELF adds both, and the noise that was drawn for this loop
    loop      the looped layers
    tail      the final layers; meanwhile slots look up their host and SELECT (1st), ONEHOT their number (2nd)
    deliver   the last slots look up the logits of the last rows, ARGMAX; with one final layer or none, within the tail

Given rows and the first slot of every pad's group host the rows of the source; nobody sees the other rows, and they
BOOST. All logits are ±B, but for noise slots.
"""

import numpy as np

from unmask.programs.gadgets.argmax import argmax
from unmask.programs.gadgets.boost import boost
from unmask.programs.gadgets.gate import gate, merge, select
from unmask.programs.gadgets.hide import hide
from unmask.programs.gadgets.logic import also, veto
from unmask.programs.gadgets.lookup import itself
from unmask.programs.gadgets.one_hot import one_hot
from unmask.programs.language.builders import Columns, HeadBuilder, LayerBuilder
from unmask.programs.language.coefficients import B
from unmask.programs.language.positions import N, both, n
from unmask.programs.language.program import Program
from unmask.programs.simulation.binary_clock import BinaryClock
from unmask.programs.simulation.looped_shape import Alphabet, Shape
from unmask.programs.simulation.noise_slots import noise_logits
from unmask.programs.simulation.residual_slots import Addresses, HeadPerEntry, Layout, OneHead, Reader
from unmask.programs.simulation.transformer import Guard, Simulation, column_labels, shared_attention, source_positions
from unmask.weights.model import Model


class Predictor:
    """The program, and the registers that hold the source's streams: `initial` before the loop, `stream` from it on."""

    def __init__(self, source: Model, shape: Shape, alphabet: Alphabet, rows: int) -> None:
        self.source, self.shape, self.alphabet = source, shape, alphabet
        self.model, self.precision = source.transformers["model"], source.precision
        given = N + int(source.begin is not None)
        layout = Layout(given, given + source.padding, shape.entries, shape.counter, shape.answers)
        program = Program(alphabet.symbols, len(alphabet.symbols), source.length, rows)
        self.program = program
        self.here = program.code("here", n)
        self.at = Addresses.of(program, layout, shape.rows)
        stored = layout.first + layout.rows * shape.entries
        self.answer = program.flag("answer", n >= stored + shape.counter)
        self.clock = BinaryClock.of(program, stored, shape.clock) if shape.clock > 1 else None
        self.noisy = program.flag("noisy", both(layout.storing, layout.entry >= shape.width))
        self.written, self.masked = program.register("written"), program.register("masked")
        self.late, self.early = program.register("late"), program.register("early")
        positions = source_positions(self.model, layout.row, layout.hosting)
        self.initial = Simulation.of(program, self.model, "initial stream", positions)
        self.reader: Reader = (
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


def planner(source: Model, alphabet: Alphabet, rows: int) -> Program:
    """Take every slot."""
    program = Program(alphabet.symbols, 2, source.length, rows)
    program.read_out([0], program.one, -B)
    program.read_out([1], program.one, B)
    return program
