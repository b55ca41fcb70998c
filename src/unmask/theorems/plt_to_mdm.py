"""A padded looped transformer inside masked diffusion (thm:emdms-can-simulate-fplts, with lem:idenitity-dump).

Statement:    PLT[T, P] ⊆ MDM[T, (N + P)·D + 1]: every looped transformer of width D is a masked diffusion model that
              takes one step per loop and keeps the residual stream of all N + P rows in its slots.
Construction: the alphabet is that of the source and F_p; slot (r, d) holds entry d of row r as after the last loop,
              the last slot the answer. The planner takes every slot in every step. The predictor, in layers:
              (init) the initial layers on the embeddings; (read) hosts fetch the stored stream, and whether there is
              one yet: GATE lets through the initial stream or nothing; (merge) SELF adds both; (loop) the looped
              layers; (tail) the final layers, while slots look up their host and SELECT (1st layer), ONEHOT (2nd);
              (deliver) the last slot looks up the logits of the last row, ARGMAX.
              Given rows and the first slot of every pad's group are hosts; nobody sees other rows, and they BOOST.
Bounds:       max(T, 1) steps, (F + P)·D + 1 slots with F = N, or N + 1 with a begin symbol; layers: all of the
              source's, 4, and 1 more without final layers; with the single-head read (D > 32) 1 more without initial
              layers. Symbols: 2^(2p+1) more, and T - 1 for the clock, if there is one.
              Stochastic: T + 1 steps, one more slot per row and noise column.
Exactness:    bit by bit after every loop, for p >= 1; Z = 0 in the same loop. For p >= 2 no tape can change
              what a deterministic source's conversion writes: its logits are ±B.
              Stochastic sources: exact without a tape. With one, noise slots draw what the next loop adds, so that
              the first step only stores the initial stream. Paths cannot agree, tape addresses differ; laws agree up
              to the distance between a noise slot's law and the noise (see programs.noise_slots).
Deviations:   only N rows are given but N + P are to be hosted; the answer needs a slot of its own (+ 1); the stream
              is in F_p, not in {0, 1}; the proof ends with T·P·D slots. The initial layers must run once, the final
              ones after the last loop, but there is no clock: the initial stream is let through where nothing is
              stored yet, the answer rewritten in every step as if it were the last. That is still wrong where a
              final layer divides by zero on the stream of an earlier loop, which the source never does; if there are
              final layers, the last slot counts the steps until the answer is due, and earlier steps BOOST.
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
from unmask.programs.program import Columns, Flag, HeadBuilder, Program, SignedBits, bits_for
from unmask.programs.residual_slots import Addresses, HeadPerEntry, Layout, OneHead
from unmask.programs.simulation import Guard, Simulation, column_labels, shared_attention, source_positions
from unmask.programs.vocabulary import SPECIAL_NAMES, free_name
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, Stored, slots
from unmask.traces.trace import Trace
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

MOST_HEADS = 32  # beyond this width, one head reads all entries


@dataclass(frozen=True)
class Shape:
    """The sizes of a conversion."""

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
    def layers(self) -> int:
        return self.expand + self.initial + 2 + self.loop + max(self.final + 1, 2)


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


def bound(source: Model) -> Price:
    shape = Shape.of(source)
    return Price(shape.steps, shape.slots, len(source.transformers["model"].layers) + 5)


def plt_to_mdm(source: Model, *, most_heads: int = MOST_HEADS) -> Conversion:
    """The masked diffusion model of a looped transformer; its predictor reads with one head beyond `most_heads`."""
    shape = Shape.of(source, most_heads)
    model, precision = source.transformers["model"], source.precision
    alphabet = Alphabet.of(source.vocabulary, precision, shape.clock)
    rows = source.rows - source.padding + shape.slots
    refuse_if_huge("plt_to_mdm", rows=rows, width=_estimate(source, shape), vocabulary=len(source.vocabulary))
    predictor, initial, work = _predictor(source, shape, alphabet, rows)
    target = converted(
        source,
        "plt_to_mdm",
        kind="mdm",
        padding=shape.slots,
        steps=shape.steps,
        vocabulary=alphabet.symbols,
        mask=alphabet.symbols[alphabet.mask],
        pad=None,
        transformers={"planner": _planner(source, alphabet, rows), "predictor": assemble(predictor, precision)},
    )
    assert len(target.transformers["predictor"].layers) == shape.layers
    return Conversion(target, _alignment(source, model, shape, alphabet, initial, work))


def _planner(source: Model, alphabet: Alphabet, rows: int) -> Transformer:
    """Take every slot."""
    program = Program(alphabet.symbols, 2, source.length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    program.read_out(1, one, B)
    program.read_out(0, one, -B)
    return assemble(program, source.precision)


def _predictor(source: Model, shape: Shape, alphabet: Alphabet, rows: int) -> tuple[Program, Columns, Columns]:
    model, precision = source.transformers["model"], source.precision
    width = shape.width
    given = N + int(source.begin is not None)
    layout = Layout(given, given + source.padding, shape.entries)
    program = Program(alphabet.symbols, len(alphabet.symbols), source.length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits_for(rows), SignedBits(n))
    at = Addresses.of(program, layout, shape.rows, one)
    answer = program.register("answer", declaration=Flag(n >= layout.first + layout.rows * shape.entries))
    noisy = program.register("noisy", declaration=Flag(both(layout.storing, layout.entry >= width)))
    written, masked = program.register("written"), program.register("masked")
    late, early = program.register("late"), program.register("early")
    initial = Simulation.of(program, model, "initial stream", source_positions(model, layout.row, layout.hosting))
    passed = program.register("passed +", width), program.register("passed -", width)
    if shape.one_head:
        reader = OneHead(program, at, shape.entries, 2 * precision.p)
    else:
        reader = HeadPerEntry(program, at, shape.entries)
    stream = Simulation(model, program.register("stream", column_labels(model)))
    waiting, held = program.register("waiting"), program.register("all wait")
    attention = shared_attention(program, [model], layout.row, shape.rows, causal=False)

    initial.embed_symbols(program)
    if source.pad is not None:  # whatever stands in the slot of a pad's host, the host starts from the pad
        pad, stored = source.token[source.pad], np.append(alphabet.numbers, alphabet.mask)
        columns, values = model.embed.column[model.embed.row == pad], model.embed.value[model.embed.row == pad]
        for column, value in zip(initial.work[columns], values, strict=True):
            program.embed(stored, column, np.full(stored.shape, value))
    reader.embed(program, alphabet.numbers, precision.numbers())
    program.embed(alphabet.numbers, written)
    program.embed(alphabet.mask, masked)
    if shape.clock > 1:
        program.embed([*alphabet.clock[:-1], alphabet.mask], waiting)

    def guard(*idle: Columns) -> Guard:
        def restrict(head: HeadBuilder) -> None:
            for flag in (at.guest, *idle):
                boost(head, flag, one)
            attention.guard[model.attention](head)
            hide(head, at.guest, one)

        return restrict

    for _ in range(shape.expand):
        program.layer()
    for number in range(shape.initial):
        initial.layer(number, program.layer(), guard())

    read = program.layer()
    if reader.expands:
        reader.expand(program.layers[0])
    reader.fetch(read)
    status = at.slot(read, 0)
    status.copy(written, late)
    status.copy(masked, early)
    if shape.clock > 1:
        watch = read.head()
        match(watch, constant_code(rows - 1, here.size, one), here, one)
        watch.copy(waiting, held)
    gate(read.mlp, initial.work, late, *passed)

    together = itself(program.layer(), here, one)
    merge(together, *passed, stream.work)
    reader.restore(together, np.arange(width), stream.work)
    reader.restore(together, np.arange(width, shape.entries), stream.work[list(shape.noise)])

    looped = guard(early) if shape.noise else guard()
    first, last = model.loop or (0, 0)
    for number in range(first, first + shape.loop):
        stream.layer(number, program.layer(), looped)
    tail = [program.layer() for _ in range(max(shape.final + 1, 2))]
    for number in range(shape.final):
        stream.layer(last + number, tail[number], guard(held) if shape.clock > 1 else guard())

    copied, signs = program.register("copied", width), (program.register("dumped +"), program.register("dumped -"))
    dumped, hot = program.register("dumped"), _twice(program, "number", alphabet.symbols, alphabet.numbers)
    fetch = at.host(tail[0])
    fetch.copy(stream.work, copied)
    if shape.noise:  # the first step stores the initial stream, the first loop waits for its noise
        begun = program.register("copied initial", width)
        fetch.copy(initial.work, begun)
        select(tail[0].mlp, copied, at.others[:width], *signs, masked)
        select(tail[0].mlp, begun, at.others[:width], *signs, written)
    else:
        select(tail[0].mlp, copied, at.others[:width], *signs)
    merge(itself(tail[1], here, one), *signs, dumped)
    one_hot(tail[1].mlp, dumped, precision.numbers(), hot[0])
    veto(tail[1].mlp, np.concatenate([answer, noisy]), hot[0])
    also(tail[1].mlp, *hot)

    logits = program.register("logits", source.vocabulary)
    drawn = _twice(program, "answer symbol", alphabet.symbols, alphabet.answers)
    deliver = tail[shape.final]
    stream.logits_in(at.host(deliver), logits)
    argmax(deliver.mlp, logits, drawn[0])
    veto(deliver.mlp, np.concatenate([at.storing, waiting]), drawn[0])
    also(deliver.mlp, *drawn)
    groups = [(alphabet.answers, drawn), (alphabet.numbers, hot)]
    if shape.clock > 1:
        time = program.register("time", alphabet.symbols[alphabet.clock[0] : alphabet.mask])
        program.embed([alphabet.mask, *alphabet.clock[:-1]], time)
        tick = _twice(program, "next time", alphabet.symbols, alphabet.clock)
        deliver.mlp.write(conjunction(deliver.mlp, time, [at.storing] * time.size), tick[0])
        also(deliver.mlp, *tick)
        groups.append((alphabet.clock, tick))
    for symbols, codes in groups:
        program.read_out(symbols, one, -B)
        for code in codes:
            program.read_out(symbols, code, B)
    if shape.noise:
        program.read_out(alphabet.numbers, noisy, noise_logits(precision) + precision.bound)
    return program, initial.work, stream.work


def _twice(program: Program, name: str, symbols: tuple[str, ...], which: np.ndarray) -> tuple[Columns, Columns]:
    """Two registers for one code: -B·one + B·code + B·code = ±B."""
    labels = [symbols[i] for i in which]
    return program.register(name, labels), program.register(f"{name} again", labels)


def _estimate(source: Model, shape: Shape) -> int:
    """The columns of the predictor, but for its addresses."""
    planes = 12 * source.precision.p if shape.one_head else 2
    codes = 2 * (source.precision.size + shape.clock) + 3 * len(source.vocabulary)
    later = 2 * shape.rows if source.transformers["model"].attention == "causal" else 0
    return (6 if shape.noise else 5) * shape.width + planes * shape.entries + codes + later


def _alignment(
    source: Model, model: Transformer, shape: Shape, alphabet: Alphabet, initial: Columns, work: Columns
) -> Alignment:
    given, delay = source.rows - source.padding, int(bool(shape.noise))
    every = np.arange(shape.rows)
    hosts = np.where(every < given, every, given + every * shape.entries)
    at_work = shape.expand + shape.initial + 2
    first, last = model.loop or (0, 0)

    def copy(name: str, layer: int, columns: Columns, step) -> Copy:
        at = f"steps.{{last}}.predictor.layers.{layer}.residual"
        return Copy(f"{name}.residual", at, lambda t: (every, hosts), columns, step)  # noqa: ARG005

    copies: list[Copy | Stored] = [
        copy(f"initial.model.layers.{k}", shape.expand + k, initial, lambda t: t + delay) for k in range(shape.initial)
    ]
    for k in range(shape.loop):
        copies.append(copy(f"steps.{{t}}.model.layers.{first + k}", at_work + k, work, lambda t: t + delay))
    for k in range(shape.final):
        name = f"final.model.layers.{last + k}"
        copies.append(copy(name, at_work + shape.loop + k, work, lambda t: shape.steps - 1))  # noqa: ARG005
    before = f"layers.{first - 1}.residual" if first else "embed"
    looped = f"steps.{{t}}.model.layers.{last - 1}.residual" if shape.loop else f"initial.model.{before}"

    def stored(trace: Trace, t: int) -> np.ndarray:
        held = trace.canvas[t + delay][:-1].reshape(shape.rows, shape.entries)[:, : shape.width]
        return held - alphabet.numbers[0] - source.precision.bound

    copies.append(Stored(looped, stored))
    answer = slots(lambda t: np.array([shape.slots - 1]), lambda t: shape.steps - 1)  # noqa: ARG005
    return Alignment(answer, tuple(copies))


THEOREM = Theorem("plt_to_mdm", "thm:emdms-can-simulate-fplts", "plt", "mdm", plt_to_mdm, bound)
