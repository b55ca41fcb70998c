"""Parallel chain of thought as chain of thought, in as many steps as there are symbols (prop:cot-as-pcot).

Statement:    pCoT[T, P] ⊆ CoT[P]: every parallel chain of thought is simulated by a chain of thought that writes the
              same symbols, one per step. The width is O(log N) if blocks are single symbols (P' = 1), hence
              pCoT[T, T] ⊆ CoT[T] for every T. It is also O(log N) if T = O(log N), and otherwise O(T + log N).
Construction: the row before a mask hosts it: it has the mask's stream in addition to its own, and predicts the mask's
              symbol. `programs.hosted_masks` simulates each layer on both streams. A row has one key per head, so
              different heads see the keys of symbols and the keys of hosted masks. Their common softmax is computed
              from the sum Z of all exponentials: as a clipped sum if Z = B, and from the few keys with a weight above 0
              if Z < B. Row 0 fixes Z = B in these heads. It is the begin symbol of the source, or a new one.
Bounds:       P steps, L·(2m + 4) layers, where m is the largest number of keys with a weight above 0 (m = 2, 7, 15 for
              p = 1, 2, 3); one symbol more if the source has no begin symbol; width O(D) + O(log N), and 2T more if
              P' > 1; for H heads at most 2 + H·max(3g, 2K + 2^p, 2m·2^p, 2·4^p + 2) heads in a layer, where
              K = ⌈log2(N + P + 2)⌉ and exp takes g + 1 values. At fixed p: O(log N) heads, O(1) layers.
Exactness:    bit by bit, for p >= 1: after every layer, rows and masks of every step have the source's streams. The
              conversion divides by zero if and only if the source does. For N = 0 there is only one word, and the
              positions contain its chain.
Deviations:   the paper calls the statement clear. However, a mask attends to symbols, to masks of its block and to
              itself in one softmax, and a chain of thought has no row for it when its symbol is predicted. For P' > 1
              the masks of the current block must not see the symbols of that block. This takes one column per block.
              Whether O(log N) columns are enough for every T is open.
"""

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.expressions import N, both, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.addressed_rows import ScoreTables
from unmask.programs.assembly import assemble
from unmask.programs.gadgets.attention import itself
from unmask.programs.hosted_masks import HostedMasks, HostLayout, search_registers
from unmask.programs.program import ONE, SPECIAL_NAMES, B, Columns, Edges, Program, bits_for, free_name
from unmask.programs.simulation import Simulation, column_labels, source_positions
from unmask.reasoners.run_words import run
from unmask.theorems.alignment import Alignment, StreamCopy, slots
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted_model
from unmask.weights.model import Model, Price


def bound(source: SourceSize) -> Price:
    symbols = source.symbols + 1 - source.begin
    if source.length == 0:
        return Price(source.padding, source.padding, 1, symbols + 1, symbols)
    tables = ScoreTables(Precision(source.precision))
    layout = HostLayout(1 + source.length + source.padding, source.steps, source.block, bool(source.begin))
    heads = source.model.heads
    width = 2 * source.width + layout.width()
    width += heads * sum(search_registers(tables, layout, source.width).values())
    # a layer without heads needs only one layer; the bound assumes that every layer has heads
    return Price(source.padding, source.padding, source.layers * (2 * tables.most_keys + 4), width, symbols)


def most_heads(source: SourceSize) -> int:
    """Return an upper bound on the number of heads of a layer."""
    tables = ScoreTables(Precision(source.precision))
    scale, bits = tables.precision.one, bits_for(2 + source.length + source.padding)
    walks = tables.precision.size + 3
    return 2 + source.model.heads * max(
        3 * len(tables.growth), 2 * bits + scale, 2 * tables.most_keys * scale, walks, 2 * tables.most_keys + 2
    )


def pcot_to_cot_hosted(source: Model) -> Conversion:
    """Return the chain of thought that writes the symbols of a parallel one, one per step."""
    vocabulary = source.vocabulary
    if source.begin is None:
        vocabulary = (*vocabulary, free_name(SPECIAL_NAMES["begin"], vocabulary))
    ends: list[int] = []
    if source.length:
        program, work, masks, ends = _hosting_program(source, vocabulary)
    else:
        program, work, masks = _constant_program(source, vocabulary), np.zeros(0), np.zeros(0)
    model = converted_model(
        source,
        "pcot_to_cot_hosted",
        kind="cot",
        block=None,
        steps=source.padding,
        vocabulary=vocabulary,
        mask=None,
        begin=source.begin or vocabulary[-1],
        transformers={"model": assemble(program, source.precision)},
    )
    return Conversion(model, _alignment(source, work, masks, ends))


def _hosting_program(source: Model, vocabulary: tuple[str, ...]) -> tuple[Program, Columns, Columns, list[int]]:
    """Return the program, the columns of both streams, and the layers that end with the source's streams."""
    transformer, size = source.transformers["model"], len(source.vocabulary)
    extra = len(vocabulary) - size
    layout = HostLayout(1 + source.length + source.padding, source.steps, source.block or 1, not extra)
    program = Program(vocabulary, len(vocabulary), source.length, layout.rows, "causal")
    simulation = Simulation.of(
        program, transformer, "row", source_positions(transformer, (n - extra).positive_part(), n >= extra)
    )
    mask = transformer.embed.take(np.array([source.token[source.mask or ""]]))[0]
    hosts = both(n >= N, n < N + source.padding)
    next_positions = source_positions(transformer, (n + (1 - extra)) * hosts, hosts)
    masks = program.register("mask", column_labels(transformer), next_positions)
    simulation.embed_symbols(program)
    for symbol in range(size):
        program.embed(np.full(mask.size, symbol), masks, mask)
    rows = HostedMasks.of(program, simulation, masks, layout, _begin_streams(source))
    ends = []
    for number in range(simulation.depth):
        rows.layer(number)
        ends.append(len(program.layers) - 1)
    if not extra and program.layers:  # row 0 has a symbol, but hosts no mask
        itself(program.layers[0], rows.row_code).value.append(Edges.between(rows.begins[:1], masks, -mask))
    simulation.read_out(program, masks)
    if extra:
        program.read_out(size, program.one, -B)  # the last symbol: it loses even a tie at -B
    return program, simulation.work, masks, ends


def _begin_streams(source: Model) -> list[np.ndarray]:
    """Return the stream of the source's begin symbol before each layer; it sees only itself, so no word changes it."""
    transformer = source.transformers["model"]
    if source.begin is None:
        return []
    session = ReferenceEngine().session(transformer)
    streams = [session.embed(np.array([[source.token[source.begin]]]))]
    try:
        for number in range(len(transformer.layers)):
            streams.append(session.layers(streams[-1], number, number + 1))
    except AttendsToNothing:  # this happens in every run, and also in row 0 of the conversion
        streams += [np.zeros_like(streams[0])] * len(transformer.layers)
    return [stream[0, 0] for stream in streams]


def _constant_program(source: Model, vocabulary: tuple[str, ...]) -> Program:
    """Return the program that writes what the source writes on the empty word, from the positions alone."""
    program = Program(vocabulary, len(vocabulary), 0, 1 + source.padding, "causal")
    layer = program.layer()
    try:
        written = run(source, [], engine=ReferenceEngine()).canvas[-1]
    except AttendsToNothing:
        written = np.zeros(source.padding, dtype=np.int64)
        layer.head().column([(program.one, -B)], [(program.one, ONE)])
    for symbol, name in enumerate(vocabulary):
        writes = np.append(np.asarray(written) == symbol, [False])
        program.read_out(symbol, program.flag(f"writes {name}", writes))
    return program


def _alignment(source: Model, work: Columns, masks: Columns, ends: list[int]) -> Alignment:
    block, extra = source.block or 1, int(source.begin is None)
    input_rows = source.rows - source.padding

    def symbols(t: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.arange(input_rows + t * block)
        return rows, rows + extra

    def hosted(t: int) -> tuple[np.ndarray, np.ndarray]:
        rows = input_rows + np.arange(t * block, (t + 1) * block)
        return rows, rows + extra - 1

    def step(t: int) -> int:
        return (t + 1) * block - 1

    states = [("embed", "embed"), *((f"layers.{i}.residual", f"layers.{end}.residual") for i, end in enumerate(ends))]
    copies = tuple(
        StreamCopy(f"steps.{{t}}.model.{state}", f"steps.{{last}}.model.{copied_state}", rows, columns, step)
        for state, copied_state in (states if ends else [])
        for rows, columns in ((symbols, work), (hosted, masks))
    )
    return Alignment(slots(lambda t: np.arange((t + 1) * block), step), copies)


PCOT_TO_COT_HOSTED = Theorem("pcot_to_cot_hosted", "prop:cot-as-pcot", "pcot", "cot", pcot_to_cot_hosted, bound)
