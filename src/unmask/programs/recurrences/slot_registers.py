"""The computation of every row of a system, from registers to results.

    layer 1   heads copy the features of the rows that are read; finder rows write the items that they find
    layer 2   with reads over a range: slots attend to their finder rows (lem:detection)
    last      a unit for every conjunction of a rule; its result features, twice

A unit of up to three literals adds them, and subtracts k - 1: ReLU(Σ literals - (k - 1) - blocks). A longer unit,
and for p = 1 any unit with more than one literal, subtracts what contradicts it: ReLU(1 - Σ others - blocks). Least
p: 1. All values are 0 or 1, except shares, which are only compared with 0.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.expressions import Expression, constant
from unmask.programs.gadgets.attention import eq, hide, lookup
from unmask.programs.program import ONE, TOP, ULP, Columns, HeadBuilder, LayerBuilder, MlpBuilder, Program, whole
from unmask.programs.recurrences.rule_tables import Column, Feature, ReadHead, feature_name
from unmask.programs.recurrences.string_placement import Placement
from unmask.programs.recurrences.system_plan import PlannedRegion, SystemPlan

Vetoes = Sequence[Columns]
"""Flags that keep a unit from firing."""


@dataclass(eq=False)
class Features:
    """Columns by feature."""

    columns: dict[Feature, int]

    def of(self, features: Iterable[Feature]) -> Columns:
        return np.array([self.columns[feature] for feature in features], dtype=np.int64)

    @property
    def all(self) -> Columns:
        return np.array(list(self.columns.values()), dtype=np.int64)


def features(program: Program, name: str, listed: Sequence[Feature]) -> Features:
    """Add a register with a column for every feature."""
    columns = program.register(name, [feature_name(feature) for feature in listed])
    return Features(dict(zip(listed, columns.tolist(), strict=True)))


@dataclass(eq=False)
class SlotRegisters:
    """The registers that the programs of all kinds share."""

    program: Program
    plan: SystemPlan
    row_code: Columns
    placement: Placement | None = None
    as_read: list[Features] = field(default_factory=list)
    fetched: list[Features] = field(default_factory=list)
    outside: dict[PlannedRegion, Columns] = field(default_factory=dict)
    addresses: list[Columns] = field(default_factory=list)
    targets: list[Columns | None] = field(default_factory=list)
    not_finding: list[Columns] = field(default_factory=list)
    items_found: list[Features] = field(default_factory=list)
    item_share: list[Features] = field(default_factory=list)
    present: list[Features] = field(default_factory=list)
    absent: list[Features] = field(default_factory=list)

    @classmethod
    def of(cls, program: Program, plan: SystemPlan, placement: Placement | None = None) -> "SlotRegisters":
        """Add the registers; `placement` says where the rows of the plan are, by default in their order."""
        capacity = plan.capacity if placement is None else constant(placement.codes)
        row_codes = plan.row_codes() if placement is None else placement.row_codes()
        registers = cls(program, plan, program.code("here", row_codes, capacity=capacity), placement)
        for h, head in enumerate(plan.heads):
            first_code = None if placement is None else int(placement.row_codes()[0])
            address = registers.in_computing_rows(plan.address(h, plan.regions, first_code), first_code or 0)
            registers.addresses.append(program.code(f"address {h}", address, capacity=capacity))
            registers.fetched.append(features(program, f"read {h}", head.features))
        for region in plan.regions:
            registers.outside[region] = program.flag(
                f"not {region.name}", registers.in_computing_rows(plan.not_in([region]), 1)
            )
        for c, channel in enumerate(plan.channels):
            nothing = registers.in_computing_rows(plan.in_blocks(channel.blocks, 0), 1)
            if placement is None:
                registers.targets.append(target_of(program, plan, c))
            else:
                assert isinstance(nothing, np.ndarray)
                nothing[0] = 0
                target = placement.in_computing_rows(plan.target(c, placement.unused_code), placement.unused_code)
                registers.targets.append(program.code(f"target {c}", target, capacity=capacity))
            registers.not_finding.append(program.flag(f"finds nothing {c}", nothing))
            lists = registers.items_found, registers.item_share, registers.present, registers.absent
            for name, columns in zip(("found", "share", "some", "lacking"), lists, strict=True):
                columns.append(features(program, f"{name} {c}", channel.features))
        return registers

    def embed_own(self, tokens: Sequence[int]) -> None:
        """Embed the features of a row that each head reads; heads with equal meanings share the columns."""
        for h, head in enumerate(self.plan.heads):
            same = next((g for g in range(h) if self.plan.heads[g].meaning == head.meaning), None)
            if same is not None:
                self.as_read.append(self.as_read[same])
                continue
            self.as_read.append(features(self.program, f"as read {h}", head.features))
            embed_meaning(self.program, head, self.as_read[h], tokens)

    def in_computing_rows(self, declared: Expression | np.ndarray, fill: int) -> Expression | np.ndarray:
        """Return the value in the plan row that each row computes; `fill` in rows that compute nothing."""
        return declared if self.placement is None else self.placement.in_computing_rows(declared, fill)

    def fetch(self, layer: LayerBuilder, copy: Callable[[HeadBuilder, int], None]) -> None:
        """Add one LOOKUP for every read; `copy` adds the values that it copies."""
        for h, address in enumerate(self.addresses):
            copy(lookup(layer, address, self.row_code), h)

    def find(self, mlp: MlpBuilder, vetoes: Callable[[PlannedRegion], Vetoes]) -> None:
        """Let every finder row write the items that it finds."""
        for region in self.plan.regions:
            if region.group is None:
                channel = self._channel_of(region)
                targets = self.items_found[channel].columns
                self.add_terms(mlp, region, vetoes(region), lambda f, t=targets: [t[f]])

    def gather(self, layer: LayerBuilder) -> list[HeadBuilder]:
        """Let slots attend to their finder rows: an item is present if one of them has found it, else absent."""
        heads = []
        for c, target in enumerate(self.targets):
            head = attend_to_finders(layer, target, self.not_finding[c])
            head.copy(self.items_found[c].all, self.item_share[c].all)
            compare_with_zero(layer.mlp, self.item_share[c].all, self.present[c].all, self.absent[c].all)
            heads.append(head)
        return heads

    def add_terms(
        self,
        mlp: MlpBuilder,
        region: PlannedRegion,
        vetoes: Vetoes,
        targets: Callable[[Feature], Sequence[int]],
    ) -> None:
        """Add a hidden unit for every term of a region, which is written to the targets of its results."""
        for term in region.terms:
            literals = [self.column(literal) for literal in term.cube.literals]
            added = len(literals) <= self.plan.most_added
            if added:
                unit = mlp.units(1, bias=whole(1 - len(literals)) if len(literals) != 1 else None)
                for column in literals:
                    mlp.read(unit, np.array([column]))
            else:
                unit = mlp.units(1, bias=ONE)
                for column in {self.column(other) for others in term.cube.alternatives for other in others}:
                    mlp.read(unit, np.array([column]), -ONE)
            for flag in (self.outside[region], *vetoes):
                mlp.read(unit, flag, -ONE)
            written = [column for result in term.results for column in targets(result)]
            mlp.write(np.repeat(unit, len(written)), np.array(written, dtype=np.int64))

    def column(self, literal: Column) -> int:
        """Return the column of a literal."""
        kind, number, (sort, value) = literal
        if kind == "read":
            return self.fetched[number].columns[sort, value]
        return (self.present if sort == "in" else self.absent)[number].columns["in", value]

    def _channel_of(self, region: PlannedRegion) -> int:
        return next(
            c for c, channel in enumerate(self.plan.channels) if any(block is region.block for block in channel.blocks)
        )


def target_of(program: Program, plan: SystemPlan, channel: int) -> Columns | None:
    """Add the code of the slot for which a row searches, or whose finder rows it reads; None if there is only one."""
    if plan.has_single_target(channel):
        return None
    return program.code(f"target {channel}", plan.target(channel), capacity=plan.capacity)


def attend_to_finders(layer: LayerBuilder, target: Columns | None, not_finding: Columns) -> HeadBuilder:
    """Add a head that attends equally to all finder rows of the slot."""
    head = layer.head()
    if target is not None:
        eq(head, target, target)
    hide(head, not_finding, copies=1)
    return head


def compare_with_zero(mlp: MlpBuilder, share: Columns, some: Columns, none: Columns) -> None:
    """Write some = [share > 0] and none = [share = 0]: h = ReLU(2^-p - share) twice, each times 2^(p-1)."""
    for _ in range(2):
        units = mlp.units(share.size, bias=ULP)
        mlp.read(units, share, -ONE)
        mlp.write(units, some, -TOP)
        mlp.write(units, none, TOP)
    mlp.offset(some, ONE)


def embed_meaning(program: Program, head: ReadHead, as_read: Features, tokens: Iterable[int]) -> None:
    """Embed the features of every symbol that a head may read."""
    pairs = [(t, as_read.columns[f]) for t in tokens for f in sorted(head.meaning.get(t, ()), key=str)]
    if pairs:
        symbols, columns = np.array(pairs).T
        program.embed(symbols, columns)
