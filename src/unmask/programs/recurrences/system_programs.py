"""Systems of recurrences by masked diffusion, by a looped transformer and by chains of thought.

Statement:    a system of recurrences with P slots (including rows of reads over ranges) and depth T is computed by a
              masked diffusion model with T steps and P slots, by a looped transformer with T loops and P pads, by a
              chain of thought with P steps, and by a parallel chain of thought with T steps of as many symbols as the
              widest level has slots and rows. A system whose slots are rewritten in every step is computed in its
              stated number of steps or loops.
Construction: a slot looks up its reads, by addresses that are formulas in its indices, and applies its rule.
              Diffusion: the planner chooses a masked slot once everything that it reads is written. If slots are
              rewritten, it chooses every slot in every step, and a masked slot counts as its start value.
              Loop: every slot is computed in every loop; after k loops all slots of depth k are correct and stay so. If
              slots are rewritten, a layer before the loop writes their start values.
              Chains: the rows are in an order in which a row comes after everything that it reads (`string_placement`),
              so nothing has to wait. In a chain, row n computes the slot in row n + 1. If a slot reads an answer, the
              answers are repeated at the end.
Bounds:       T = depth or the stated steps (cot: P, and the answers once more if they are repeated; pcot: depth, or one
              more). Predictor, loop and chains: 1 layer, 3 with reads over a range; one more if slots are rewritten.
              Planner: 1 layer, 2 with reads over a range, none if slots are rewritten. Width O(log N).
Exactness:    for every N and p >= 1, if the program is right for N; chains with reads over a range from N = 1 on.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from unmask.expressions import constant
from unmask.programs.gadgets.attention import clear, itself, lookup
from unmask.programs.gadgets.mlp import threshold
from unmask.programs.planner_programs import planner_logits, symmetric_planner_logits
from unmask.programs.program import ONE, TOP, B, Columns, HeadBuilder, MlpBuilder, Program, program_in_length
from unmask.programs.recurrences.rule_tables import Feature
from unmask.programs.recurrences.slot_registers import (
    Features,
    SlotRegisters,
    attend_to_finders,
    embed_meaning,
    features,
    target_of,
)
from unmask.programs.recurrences.string_placement import Placement
from unmask.programs.recurrences.system_plan import PlannedRegion, SystemPlan
from unmask.recurrences.slots import Slots


def system_planner(plan: SystemPlan) -> Program:
    """Return the planner: u = masked slot ∧ no row that it reads is masked; every slot if slots are rewritten."""
    vocabulary = plan.symbols.vocabulary
    program = program_in_length(vocabulary.symbols, 2, plan.rows)
    slots = [plan.blocks[group] for group in plan.groups]
    if plan.system.edits:
        planner_logits(program, program.flag("is a slot", plan.in_blocks(slots, 1)))
        return program
    masked = program.register("masked")
    program.embed(vocabulary["mask"], masked)
    take = program.register("take", 2)
    first = program.layer()
    read_is_masked: list[Columns] = []
    if plan.heads and plan.waits:
        row_code = program.code("here", plan.row_codes(), capacity=plan.capacity)
        for h in range(len(plan.heads)):
            address = program.code(f"address {h}", plan.address(h, plan.regions), capacity=plan.capacity)
            read_is_masked.append(program.register(f"masked {h}"))
            lookup(first, address, row_code).copy(masked, read_is_masked[h])
    layer, shares = first, []
    if plan.channels:
        layer = program.layer()
        for c, channel in enumerate(plan.channels):
            target = target_of(program, plan, c)
            head = attend_to_finders(
                layer, target, program.flag(f"finds nothing {c}", plan.in_blocks(channel.blocks, 0))
            )
            shares.append(program.register(f"share of masked {c}", 2))
            for flag in read_is_masked:
                head.copy(flag, shares[c])
    _choose(program, plan, layer.mlp, masked, read_is_masked, shares, take)
    symmetric_planner_logits(program, take)
    return program


def _choose(
    program: Program,
    plan: SystemPlan,
    mlp: MlpBuilder,
    masked: Columns,
    read_is_masked: list[Columns],
    shares: list[Columns],
    take: Columns,
) -> None:
    """take = ReLU(masked - Σ masked of a row that is read - [another kind of slot]), per kind of slot.

    Slots of one kind read over the same ranges. A share of masked rows is 0 or at least 2^-p: twice 2^(p-1) times the
    share outweighs `masked`.
    """
    kinds: dict[tuple[Any, ...], list[PlannedRegion]] = {}
    for region in plan.regions:
        if region.group is not None:
            kinds.setdefault((bool(region.heads), region.channels), []).append(region)
    for number, ((reads, channels), regions) in enumerate(kinds.items()):
        unit = mlp.units(1)
        mlp.read(unit, masked)
        for flag in read_is_masked if reads else ():  # a slot without a read looks up itself
            mlp.read(unit, flag, -ONE)
        for c in channels:
            for column in shares[c]:
                mlp.read(unit, np.array([column]), -TOP)
        if plan.channels or len(kinds) > 1:
            mlp.read(unit, program.flag(f"not of kind {number}", plan.not_in(regions)), -ONE)
        mlp.write(unit, take)


def system_predictor(plan: SystemPlan, *, own_slot: bool = False) -> Program:
    """Return the program that computes the slots whose reads are written; with `own_slot` (topk), masked ones only."""
    vocabulary = plan.symbols.vocabulary
    program = program_in_length(vocabulary.symbols, len(vocabulary.symbols), plan.rows)
    return predictor_of(program, plan, waits=plan.waits and not plan.system.edits, own_slot=own_slot)


def predictor_of(
    program: Program, plan: SystemPlan, placement: Placement | None = None, *, waits: bool, own_slot: bool = False
) -> Program:
    """Return the program of every row; without `waits`, all rows that are read are already written."""
    vocabulary = plan.symbols.vocabulary
    outcome = SlotResults.of(program, plan, placement, own_slot=own_slot)
    registers = SlotRegisters.of(program, plan, placement)
    registers.embed_own(range(len(vocabulary.symbols)))
    masked, read_is_masked, filled = program.one, [], None
    if waits:
        masked = program.register("masked")
        program.embed(vocabulary["mask"], masked)
        read_is_masked = [program.register(f"masked {h}") for h in range(len(plan.heads))]
    if own_slot:
        filled = program.register("full")
        program.embed(np.setdiff1d(vocabulary.all_tokens, vocabulary["mask"]), filled)
    if plan.system.edits:
        _start(program, registers)

    def copy_features(head: HeadBuilder, h: int) -> None:
        head.copy(registers.as_read[h].all, registers.fetched[h].all)
        if waits:
            head.copy(masked, read_is_masked[h])

    def masked_reads(region: PlannedRegion) -> list[Columns]:
        return [read_is_masked[h] for h in region.heads] if waits else []

    layer = program.layer()
    registers.fetch(layer, copy_features)
    waiting: list[Columns] = []
    if plan.channels:
        registers.find(layer.mlp, masked_reads)
        layer = program.layer()
        heads = registers.gather(layer)
        if waits:
            waiting = _waiting_flags(program, heads, read_is_masked, layer.mlp)
        layer = program.layer()
    outcome.decide(layer.mlp, registers, masked_reads, waiting, filled)
    outcome.read_out()
    return program


def _waiting_flags(program: Program, heads: list, read_is_masked: list[Columns], mlp: MlpBuilder) -> list[Columns]:
    """Return flags per channel: a finder row of the slot reads a masked row."""
    flags = []
    for c, head in enumerate(heads):
        share, flag = program.register(f"share of masked {c}"), program.register(f"waits {c}")
        for column in read_is_masked:
            head.copy(column, share)
        threshold(mlp, share, flag)
        flags.append(flag)
    return flags


def _start(program: Program, registers: SlotRegisters) -> None:
    """Treat a masked slot as if it had its start value."""
    plan = registers.plan
    written = program.register("written")
    unmasked = np.setdiff1d(plan.symbols.vocabulary.all_tokens, plan.symbols.vocabulary["mask"])
    program.embed(unmasked, written)

    def columns_of(feature: Feature) -> list[int]:
        """The columns in which heads find a feature of a slot, according to its meaning for each head."""
        sort, value = feature
        if sort != "is":
            return sorted({read.columns[feature] for read in registers.as_read if feature in read.columns})
        token = plan.symbols.token[value]
        meanings = [sorted(head.meaning.get(token, ()), key=str) for head in plan.heads]
        reads = zip(registers.as_read, meanings, strict=True)
        return sorted({read.columns[f] for read, meaning in reads for f in meaning})

    start_layer(program, registers, [written], columns_of)


def start_layer(
    program: Program, registers: SlotRegisters, vetoes: list[Columns], targets: Callable[[Feature], list[int]]
) -> None:
    """Add a layer before all others that writes start values, from the letters that slots read."""
    plan = registers.plan
    layer = program.layer()
    start = SlotRegisters(program, plan, registers.row_code)
    for h, head in enumerate(plan.start_heads):
        as_letter = features(program, f"as letter {h}", head.features)
        embed_meaning(program, head, as_letter, range(len(plan.system.letters)))
        start.fetched.append(features(program, f"letter {h}", head.features))
        address = program.code(f"letter address {h}", plan.address(h, plan.starts), capacity=plan.capacity)
        lookup(layer, address, registers.row_code).copy(as_letter.all, start.fetched[h].all)
    for region in plan.starts:
        start.outside[region] = program.flag(f"not start of {region.name}", plan.not_in([region]))
        start.add_terms(layer.mlp, region, vetoes, targets)


class SlotResults:
    """Results and their logits: B for the chosen symbol, -B for all others.

    While a slot waits, all symbols of its group have the logit 0; with `own_slot`, all symbols have -B.

    The columns are in the order of the sum: possible symbols, whether the row is ready, the chosen symbol.
    """

    def __init__(self, program: Program, plan: SystemPlan, *, own_slot: bool) -> None:
        self.program, self.plan, self.own_slot = program, plan, own_slot
        self.finds: Columns = np.zeros(0, dtype=np.int64)
        self.member: dict[Slots, Columns] = {}
        self.ready: dict[Slots, Columns] = {}
        self.results: dict[bool, list[Features]] = {}

    @classmethod
    def of(cls, program: Program, plan: SystemPlan, placement: Placement | None, *, own_slot: bool) -> "SlotResults":
        self = cls(program, plan, own_slot=own_slot)
        for group in plan.groups:
            inside = plan.in_blocks([plan.blocks[group]], 1)
            inside = inside if placement is None else placement.in_computing_rows(inside, 0)
            self.member[group] = program.flag(f"in {group.name}", inside)
        finding = [block for channel in plan.channels for block in channel.blocks]
        if finding and placement is None and not own_slot:
            self.finds = program.flag("finds", plan.in_blocks(finding, 1), 2)
        for group in plan.groups:
            self.ready[group] = program.register(f"{group.name} ready", 2 if own_slot else 1)
        for sets in (False, True):
            listed = dict.fromkeys(
                f for g in plan.groups if plan.is_coded_as_sets(g) is sets for f in plan.result_features(g)
            )
            if listed:
                name = "set" if sets else "value"
                self.results[sets] = [features(program, f"{name}, copy {i}", list(listed)) for i in (1, 2)]
        return self

    def decide(
        self, mlp: MlpBuilder, registers: SlotRegisters, masked_reads, waiting: list[Columns], filled: Columns | None
    ) -> None:
        """Add the units of every rule, and the flag that a slot is ready; both are 0 in slots that are `filled`."""
        for region in self.plan.regions:
            group = region.group
            if group is None:
                continue
            vetoes = [*masked_reads(region), *(waiting[c] for c in region.channels if waiting)]
            first = mlp.size
            copies = self.results[self.plan.is_coded_as_sets(group)]
            registers.add_terms(mlp, region, vetoes, lambda f, c=copies: [copy.columns[f] for copy in c])
            unit = mlp.units(1, bias=ONE)
            for flag in (registers.outside[region], *vetoes):
                mlp.read(unit, flag, -ONE)
            for column in self.ready[group]:
                mlp.write(unit, np.array([column]))
            if filled is not None:
                mlp.read(np.arange(first, mlp.size), filled, -ONE)

    def read_out(self) -> None:
        program, plan = self.program, self.plan
        program.read_out(plan.symbols.vocabulary.all_tokens, program.one, -B)
        for column in self.finds:  # no row reads these rows: a sampler that fills all slots may fill them at once
            program.read_out(plan.symbols.vocabulary["reject"], np.array([column]), B)
        for group in plan.groups:
            tokens = np.array(plan.symbols.tokens(group.values))
            sets = plan.is_coded_as_sets(group)
            if not self.own_slot:
                program.read_out(tokens, self.member[group], B)
            if sets:
                for column in self.ready[group]:
                    program.read_out(tokens, np.array([column]), B)
            elif not self.own_slot:
                program.read_out(tokens, self.ready[group], -B)
        self._read_out_results()

    def _read_out_results(self) -> None:
        program, plan = self.program, self.plan
        written: set[tuple[int, int]] = set()
        for group in plan.groups:
            sets = plan.is_coded_as_sets(group)
            for copy in self.results[sets]:
                for value, token in zip(group.values, plan.symbols.tokens(group.values), strict=True):
                    for sort, item in plan.token_features(group, value):
                        feature = (sort, item) if sort == "is" else ("out" if sort == "in" else "in", item)
                        column = copy.columns[feature]
                        if (token, column) not in written:
                            written.add((token, column))
                            program.read_out(token, np.array([column]), B if sort == "is" else -B)


def system_loop(plan: SystemPlan) -> Program:
    """Return the looped transformer: one or three looped layers. The last rows have the answers."""
    vocabulary = plan.symbols.vocabulary
    program = program_in_length(vocabulary.symbols, len(vocabulary.symbols), plan.rows)
    registers = SlotRegisters.of(program, plan)
    listed = dict.fromkeys(f for group in plan.groups for f in plan.result_features(group))
    result = features(program, "value", list(listed))
    registers.embed_own(range(vocabulary.letters))
    if plan.system.edits:
        start_layer(program, registers, [], lambda feature: [result.columns[feature]])

    def copy_features(head: HeadBuilder, h: int) -> None:
        head.copy(registers.as_read[h].all, registers.fetched[h].all)
        source, target = _result_map(plan, h, result, registers.fetched[h])
        head.copy(source, target)

    def no_vetoes(region: PlannedRegion) -> list[Columns]:  # noqa: ARG001
        return []

    first = len(program.layers)
    layer = program.layer()
    registers.fetch(layer, copy_features)
    own_row = itself(layer, registers.row_code)
    clear(own_row, *(read.all for read in registers.fetched))
    if plan.channels:
        clear(own_row, *(items.all for items in registers.items_found))
        registers.find(layer.mlp, no_vetoes)
        layer = program.layer()
        registers.gather(layer)
        clear(
            itself(layer, registers.row_code),
            *(f.all for kind in (registers.item_share, registers.present, registers.absent) for f in kind),
        )
        layer = program.layer()
        own_row = itself(layer, registers.row_code)
    clear(own_row, result.all)
    for region in plan.regions:
        if region.group is not None:
            registers.add_terms(layer.mlp, region, [], lambda feature: [result.columns[feature]])
    program.loop = first, len(program.layers)
    _read_out(program, plan, result)
    return program


def _result_map(plan: SystemPlan, h: int, result: Features, fetched: Features) -> tuple[Columns, Columns]:
    """Return the columns (result, feature) of the map from the results of a slot to the features that head h reads."""
    pairs: dict[tuple[int, int], None] = {}
    head = plan.heads[h]
    for group in plan.groups:
        if plan.is_coded_as_sets(group):
            pairs_of_group: list[tuple[Feature, Feature]] = [(f, f) for f in plan.result_features(group)]
        else:
            tokens = zip(group.values, plan.symbols.tokens(group.values), strict=True)
            pairs_of_group = [
                (("is", value), f) for value, token in tokens for f in sorted(head.meaning.get(token, ()), key=str)
            ]
        pairs |= {(result.columns[a], fetched.columns[b]): None for a, b in pairs_of_group if b in fetched.columns}
    listed = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return listed[:, 0], listed[:, 1]


def _read_out(program: Program, plan: SystemPlan, result: Features) -> None:
    """Set the logits: B for the value of an answer row, -B for all others; for a set, 0 - B per wrong item."""
    group = plan.groups[-1]
    tokens = plan.symbols.tokens(group.values)
    if not plan.is_coded_as_sets(group):
        program.read_out(plan.symbols.vocabulary.all_tokens, program.one, -B)
        for value, token in zip(group.values, tokens, strict=True):
            program.read_out(token, np.array([result.columns["is", value]]), B)
        return
    program.read_out(np.setdiff1d(plan.symbols.vocabulary.all_tokens, tokens), program.one, -B)
    for value, token in zip(group.values, tokens, strict=True):
        wrong = [("out" if sort == "in" else "in", item) for sort, item in plan.token_features(group, value)]
        for column in result.of(wrong):
            program.read_out(token, np.array([column]), -B)


def system_string(placement: Placement) -> Program:
    """Return the program of a chain of thought, parallel or not."""
    plan = placement.plan
    symbols = plan.symbols.vocabulary.symbols
    program = program_in_length(symbols, len(symbols), constant(placement.rows), "causal")
    return predictor_of(program, plan, placement, waits=False)
