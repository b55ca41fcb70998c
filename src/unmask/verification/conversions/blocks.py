"""The rows of mdm_to_smdm: row begin + N + j·P + i is entry i of block j, for unknown N, T, P and step.

Which row a look back reads, which rows host the source's in step t, and in which order they stand.
"""

from unmask.expressions import N, n, variable
from unmask.verification.conversions.claim import ConversionClaim
from unmask.verification.conversions.machine import Flags, Machine
from unmask.verification.conversions.unknown import BEGIN, SLOTS
from unmask.verification.lengths.head_reads import read_of
from unmask.verification.lengths.obligations import AnyRow, Euclid, NotShown, Term

PLANNER, PREDICTOR = "planner", "predictor"
BOTH = (PLANNER, PREDICTOR)


def causal(claim: ConversionClaim) -> bool:
    """Are both transformers of the source causal?"""
    return {its.attention for _, its in claim.shape.transformers} == {"causal"}


class Blocks:
    """Row n as entry i of block j, in step t."""

    def __init__(self, claim: ConversionClaim) -> None:
        self.claim, arithmetic = claim, claim.arithmetic
        z3 = arithmetic.z3
        self.n, self.j, self.i, self.t = (arithmetic.variable(name) for name in ("n", "j", "i", "t"))
        self.first = arithmetic.N + arithmetic.begin
        j, i, t, T, P = self.j, self.i, self.t, arithmetic.steps, arithmetic.slots
        if causal(claim):
            arithmetic.facts.append(self.first >= 1)
        monotone = z3.And(
            z3.Implies(j < 0, j * P <= -P),
            z3.Implies(j >= 0, j * P >= 0),
            z3.Implies(j >= 1, j * P >= P),
            z3.Implies(j < T, j * P <= T * P - P),
            z3.Implies(j >= T, j * P >= T * P),
            z3.Implies(j < t, j * P <= t * P - P),
            z3.Implies(j == t, j * P == t * P),
            z3.Implies(j > t, j * P >= t * P + P),
            z3.Implies(t >= 0, t * P >= 0),
            z3.Implies(t < T, t * P <= T * P - P),
        )
        arithmetic.require("arithmetic: multiples of P are in order", monotone)
        euclid = Euclid(str(n - (N + variable(BEGIN))), SLOTS, j, i)
        here = (self.n - self.first == j * P + i, i >= 0, i < P, t >= 0, t < T, monotone)
        self.row = AnyRow(self.n, here, (euclid,))
        self.given = [self.n >= 0, self.n < self.first]
        self.slot = [j >= 0, j < T]
        for name in BOTH:
            claim.require_rows(name, self.first + T * P)
        arithmetic.require(
            "layout: entry i of a block below T has a row, and rows from `first` on are such entries",
            z3.And(
                z3.Implies(z3.And(j >= 0, j < T), z3.And(self.n >= self.first, self.n < self.first + T * P)),
                z3.Implies(z3.And(self.n >= self.first, self.n < self.first + T * P), z3.And(j >= 0, j < T)),
            ),
            list(here),
        )

    def flags(self, machine: Machine, *where: Term) -> list[Flags]:
        return machine.flags(self.claim.arithmetic, self.row, where)

    def require_look_back(self, name: str, machine: Machine) -> None:
        """The head of the first layer: the same entry one block back, in block 0 and in the input the row itself."""
        arithmetic, z3 = self.claim.arithmetic, self.claim.arithmetic.z3
        if machine.steps[0].own != (0,) or machine.steps[0].given:
            raise NotShown(f"the first layer of the {name} is not one head that looks back")
        head = machine.program.layers[0].heads[0]
        read = read_of(machine.program, head, f"{name}, layer 0, head 0", self.claim.precision, arithmetic, self.row)
        address, P = arithmetic.at(read.address, self.row), arithmetic.slots
        earlier = self.n - self.first - P == (self.j - 1) * P + self.i
        arithmetic.require(
            f"layout: a row of the {name} reads the same entry one block back, else itself",
            z3.If(self.j >= 1, z3.And(address == self.n - P, earlier), address == self.n),
            [*self.row.facts, self.n >= 0, self.j < arithmetic.steps],
        )

    def require_hosts(self, machine: Machine) -> None:
        """Rows of the input and of block t host the source's rows, in order."""
        arithmetic, z3 = self.claim.arithmetic, self.claim.arithmetic.z3
        P, T, t = arithmetic.slots, arithmetic.steps, self.t
        for name in BOTH:
            declared = machine.table(f"{name} positions", name)
            if declared.only is not None:
                raise NotShown("some rows have no positions of the source")
            arithmetic.require(
                f"layout: a row has the positions of the source's row that it hosts, {name}",
                arithmetic.at(declared.row, self.row) == z3.If(self.j >= 0, self.first + self.i, self.n),
                [*self.row.facts, self.n >= 0, self.j < T],
            )
        s, later = arithmetic.variable("s"), arithmetic.variable("later")

        def host(row: Term) -> Term:
            return z3.If(row < self.first, row, row + t * P)

        arithmetic.require(
            "layout: every row of the source has a host, and hosts stand in the order of what they host",
            z3.And(
                host(s) >= 0,
                host(s) < self.first + T * P,
                (s < later) == (host(s) < host(later)),
                z3.Implies(s >= self.first, host(s) - self.first == t * P + (s - self.first)),
            ),
            [*self.row.facts, s >= 0, s < self.first + P, later >= 0, later < self.first + P],
        )
        seen = z3.And(host(z3.IntVal(0)) <= self.n, self.first >= 1) if machine.program.attention == "causal" else True
        arithmetic.require(
            "layout: a row that is ignored sees a host",
            z3.And(host(z3.IntVal(0)) < self.first + T * P, seen),
            [*self.row.facts, *self.slot],
        )
