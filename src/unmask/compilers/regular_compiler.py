"""Regular problem × kind × N → Model: the program, its steps and its space.

| kind        | one slot per node (monoid up to 1,024)   | |Q| slots per node (any monoid)            |
|-------------|------------------------------------------|--------------------------------------------|
| mdm, smdm   | T = ⌈log2 N / h⌉, P = N - 1 (h hops)     | T = ⌈log2 N⌉, P = (N - 2)·|Q| + 1          |
| topk        | the same, planner and predictor in one   | the same                                   |
| plt         | T = ⌈log2 N⌉ loops, P = 1                | T = ⌈log2 N⌉ loops, P = 1, width O(|Q|²)   |
| pcot        | T = ⌈log2 N⌉, P' = ⌈N/2⌉                 | T = ⌈log2 N⌉, P' = ⌈N/2⌉·|Q|               |
| cot         | T = N                                    | T = N                                      |
"""

from dataclasses import dataclass, field
from typing import Any

from unmask.compilers.model_families import (
    Design,
    ForEveryLength,
    ModelFamily,
    check_precision,
    model_of_design,
)
from unmask.errors import ProblemError
from unmask.expressions import Expression, N, constant, log2_above
from unmask.numerics.arithmetic import Precision
from unmask.problems.automata.automaton import Automaton, renumbered
from unmask.problems.automata.groups_and_monoids import PermutationGroup
from unmask.programs.program import Vocabulary, bits_for, vocabulary_of
from unmask.programs.regular.monoid_codes import Products, products_vocabulary, try_products
from unmask.programs.regular.product_loop import matrix_loop, product_loop, reachable_pairs
from unmask.programs.regular.product_tree import (
    LEAST_PRECISION,
    LEAST_TREE_LENGTH,
    least_steps,
    level_tree,
    level_width,
    queue_slots,
    queue_tree,
    tree_levels,
    tree_planner,
    tree_predictor,
    tree_steps,
)
from unmask.programs.regular.state_chain import state_chain
from unmask.programs.regular.state_tree import (
    diffusion_layout,
    diffusion_slots,
    parallel_block,
    parallel_layout,
    state_node,
    state_planner,
)
from unmask.weights.kinds import Kind
from unmask.weights.model import Extent, Model

MULTI_HOP_KINDS: tuple[Kind, ...] = ("mdm", "smdm", "topk")
"""Kinds that compute several levels in one pass; the others write or loop over one level at a time."""


@dataclass(frozen=True, eq=False)
class RegularCompiler:
    """The compiler of a regular problem: everything that does not depend on N."""

    automaton: Automaton
    products: Products | None
    problem: dict[str, Any]
    hops: int = 1
    """The number of levels of the tree that one pass of a masked diffusion model computes."""
    _families: dict[Kind, ModelFamily] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, automaton: Automaton, group: PermutationGroup | None = None, problem: dict[str, Any] | None = None
    ) -> "RegularCompiler":
        automaton = from_state_zero(automaton)
        return cls(automaton, try_products(automaton, group), problem or {})

    def __post_init__(self) -> None:
        if self.automaton.start != 0:
            raise ValueError("the constructions start in state 0; renumber the states, as from_state_zero does")

    @property
    def layout(self) -> str:
        """The layout that the monoid allows, and the reason."""
        if self.products is None:
            return f"{self.automaton.states} slots per node: the transition monoid has more than 1,024 elements"
        coding = self.products.coding
        return f"one slot per node: the monoid has {coding.size} elements, coded by {coding.name}"

    def with_hops(self, hops: int) -> "RegularCompiler":
        """Return the compiler whose models compute `hops` levels of the tree in one pass."""
        if self.products is None:
            raise ProblemError(
                f"--hops needs one slot per node, but this problem has {self.layout}; leave out --hops, or use a "
                "problem with a smaller monoid"
            )
        return RegularCompiler(self.automaton, self.products, self.problem, hops)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        if self.hops > 1:
            return MULTI_HOP_KINDS
        return ("mdm", "smdm", "topk", "plt", "pcot", "cot")

    @property
    def length(self) -> None:
        return None

    def layout_of(self, kind: Kind, length: int) -> str:  # noqa: ARG002
        """The layout of one kind: a chain of thought has no tree, and a loop stores its maps in columns."""
        if kind == "cot":
            return f"one symbol per letter: the state, one of {self.automaton.states}"
        if kind == "plt" and self.products is None:
            return "one row per node, a map as a matrix: the transition monoid has more than 1,024 elements"
        return self.layout if self.hops == 1 else f"{self.layout}; {self.hops} hops: a pass computes {self.hops} levels"

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) that the constructions promise at most."""
        letters = constant(length)
        log = least_steps(letters, self.hops).at(length)
        size = 1 if self.products is not None else self.automaton.states
        return {
            "plt": (tree_steps(length), 1),
            "cot": (length + 1, length + 1),
            "pcot": (log, log * level_width(letters).at(length) * size),
        }.get(kind, (log, max(1, length) * size))

    def extent(self, kind: Kind, length: int) -> Extent:
        """Count three addresses (cot: two), codes of two factors and of their product, and a few flags."""
        letters, states = len(self.automaton.tokens), self.automaton.states
        if kind == "cot":
            symbols, places = letters + states + 3, 2 * length or 4
            return Extent(1, symbols, fixed=9 + 3 * states + 2 * letters, per_bit=2, places=places)
        if kind == "plt":
            return self._loop_extent(length)
        symbols = len(self._tree_vocabulary().symbols)
        if self.products is None:
            layout = (parallel_layout if kind == "pcot" else diffusion_layout)(length, states)
            fixed = 16 + 3 * letters + 8 * states + 3 * bits_for(states)
            return Extent(2, symbols, fixed, per_bit=3, places=layout.nodes)
        left, right, elements = self._codes
        tree = level_tree(constant(length)) if kind == "pcot" else queue_tree(constant(length))
        fixed = 11 + 3 * left + 2 * right + 2 * elements + (2 if self.hops > 1 else 0)
        return Extent(2 * self.hops, symbols, fixed, per_bit=3, places=tree.capacity.at(length))

    def _loop_extent(self, length: int) -> Extent:
        if self.products is None:
            pairs, symbols = len(reachable_pairs(self.automaton)), len(self.automaton.tokens) + 3
            return Extent(2, symbols, fixed=3 + 3 * pairs, per_bit=3, places=length + 1)
        left, right, elements = self._codes
        symbols = len(products_vocabulary(self.products, ("pad",)).symbols)
        return Extent(3, symbols, fixed=3 + 2 * left + right + elements, per_bit=3, places=length + 1)

    @property
    def _codes(self) -> tuple[int, int, int]:
        """Columns of a left factor, of a right factor, and of a product."""
        assert self.products is not None
        coding = self.products.coding
        return len(coding.left_names), len(coding.right_names), len(self.products.element_names)

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        """Return the model of the family, if there is one for this length; the shortest words have separate designs."""
        check_precision(precision, LEAST_PRECISION)
        if kind not in self.kinds:
            raise ProblemError(f"a model with {self.hops} hops is one of {', '.join(self.kinds)}, not {kind}")
        family = self.family(kind)
        if family is not None and length >= family.least:
            return family.model_at(length, precision)
        design = self._design(kind, constant(length))
        return model_of_design(kind, design, length, precision, self._characters(design.vocabulary), self.problem)

    def family(self, kind: Kind) -> ModelFamily | None:
        """Return the models of every N from 2 (cot: 1) on; None if nodes are spread over |Q| rows."""
        if kind not in ("cot", "plt") and self.products is None:
            return None
        if kind not in self._families:
            design = self._design(kind, N)
            least = 1 if kind == "cot" else LEAST_TREE_LENGTH
            characters = self._characters(design.vocabulary)
            self._families[kind] = ModelFamily(kind, least, design, characters, self.problem)
        return self._families[kind]

    def for_every_length(self, kind: Kind, precision: Precision) -> ForEveryLength:  # noqa: ARG002
        why = "the compiler has no family for this kind: its monoid has more than 1,024 elements"
        return ForEveryLength(self.family(kind), why)

    def _design(self, kind: Kind, length: Expression) -> Design:
        if kind == "cot":
            return self._chain(length)
        if kind == "plt":
            return self._loop(length)
        if self.products is None:
            assert length.operator == "constant", "nodes that are spread over |Q| rows are laid out for one length"
            return self._spread(kind, length.value)
        return self._levels(length) if kind == "pcot" else self._diffusion(kind, length)

    def _diffusion(self, kind: Kind, length: Expression) -> Design:
        assert self.products is not None
        vocabulary = self._tree_vocabulary()
        predictor = tree_predictor(self.products, vocabulary, length, own_slot=kind == "topk", hops=self.hops)
        planner = {} if kind == "topk" else {"planner": tree_planner(vocabulary, length, hops=self.hops)}
        name = "model" if kind == "topk" else "predictor"
        return Design({**planner, name: predictor}, vocabulary, least_steps(length, self.hops), queue_slots(length))

    def _tree_vocabulary(self) -> Vocabulary:
        if self.products is not None:
            return products_vocabulary(self.products, ("mask",))
        return self._state_vocabulary(("mask", "reject", "accept"))

    def _state_vocabulary(self, roles: tuple[str, ...]) -> Vocabulary:
        tokens = self.automaton.tokens
        return vocabulary_of((*tokens, *state_names(self.automaton)), len(tokens), roles)

    def _levels(self, length: Expression) -> Design:
        assert self.products is not None
        vocabulary, steps, block = self._tree_vocabulary(), least_steps(length), level_width(length)
        program = tree_levels(self.products, vocabulary, length)
        return Design({"model": program}, vocabulary, steps, steps * block, block)

    def _spread(self, kind: Kind, length: int) -> Design:
        """The design with |Q| rows per node."""
        vocabulary, states, steps = self._tree_vocabulary(), self.automaton.states, max(1, tree_steps(length))
        if kind == "pcot":
            block = parallel_block(length, states)
            program = state_node(self.automaton, vocabulary, parallel_layout(length, states))
            return Design({"model": program}, vocabulary, constant(steps), constant(steps * block), constant(block))
        layout = diffusion_layout(length, states)
        predictor = state_node(self.automaton, vocabulary, layout, own_slot=kind == "topk")
        planner = {} if kind == "topk" else {"planner": state_planner(vocabulary, layout)}
        name = "model" if kind == "topk" else "predictor"
        slots = diffusion_slots(length, states)
        return Design({**planner, name: predictor}, vocabulary, constant(steps), constant(slots))

    def _loop(self, length: Expression) -> Design:
        if self.products is not None:
            vocabulary = products_vocabulary(self.products, ("pad",))
            program = product_loop(self.products, vocabulary, length)
        else:
            vocabulary = vocabulary_of(self.automaton.tokens, len(self.automaton.tokens), ("pad", "reject", "accept"))
            program = matrix_loop(self.automaton, vocabulary, length)
        return Design({"model": program}, vocabulary, log2_above(length), constant(1))

    def _chain(self, length: Expression) -> Design:
        begin = length.is_constant(0)
        vocabulary = self._state_vocabulary((*(("begin",) if begin else ()), "reject", "accept"))
        steps = constant(1) if begin else length
        return Design({"model": state_chain(self.automaton, vocabulary, length)}, vocabulary, steps, steps)

    def _characters(self, vocabulary: Vocabulary) -> tuple[tuple[int, int, str], ...] | None:
        """The characters that the automaton reads, as ranges."""
        ranges = self.automaton.characters
        return None if ranges is None else tuple((a, b, vocabulary.symbols[t]) for a, b, t in ranges)


def from_state_zero(automaton: Automaton) -> Automaton:
    """The same automaton with its start state numbered 0."""
    if automaton.start == 0:
        return automaton
    order = [automaton.start, *(q for q in range(automaton.states) if q != automaton.start)]
    delta, start, accepting = renumbered(automaton.delta, automaton.start, automaton.accepting, order)
    return Automaton(automaton.tokens, delta, start, accepting, automaton.characters)


def state_names(automaton: Automaton) -> list[str]:
    """q0, q1, …; a prime is added if a token has that name."""
    names = []
    for q in range(automaton.states):
        name = f"q{q}"
        while name in automaton.tokens:
            name += "'"
        names.append(name)
    return names
