"""Regular problem × kind × N → Model: which program, and the frame it runs in.

| kind        | one slot per node (monoid up to 1,024)   | |Q| slots per node (any monoid)            |
|-------------|------------------------------------------|--------------------------------------------|
| mdm, smdm   | T = ⌈log2 N⌉, P = N - 1                  | T = ⌈log2 N⌉, P = (N - 2)·|Q| + 1          |
| topk        | the same, planner and predictor in one   | the same                                   |
| plt         | T = ⌈log2 N⌉ loops, P = 1                | T = ⌈log2 N⌉ loops, P = 1, width O(|Q|²)   |
| pcot        | T = ⌈log2 N⌉, P' = ⌈N/2⌉                 | T = ⌈log2 N⌉, P' = ⌈N/2⌉·|Q|               |
| cot         | T = N                                    | T = N                                      |
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.problems.automaton import Automaton
from unmask.problems.minimisation import renumbered
from unmask.problems.permutation_group import PermutationGroup
from unmask.programs.assemble import assemble
from unmask.programs.composition import LEAST_PRECISION
from unmask.programs.limits import check_table
from unmask.programs.products import Products, try_products
from unmask.programs.program import Program
from unmask.programs.state_chain import state_chain
from unmask.programs.state_node import state_node
from unmask.programs.state_tree import (
    diffusion_geometry,
    diffusion_slots,
    parallel_block,
    parallel_geometry,
    state_planner,
)
from unmask.programs.tree import level_width, queue_slots, tree_steps
from unmask.programs.tree_diffusion import tree_planner, tree_predictor
from unmask.programs.tree_looped import matrix_loop, product_loop
from unmask.programs.tree_parallel import tree_levels
from unmask.programs.vocabulary import Vocabulary, products_vocabulary, vocabulary_of
from unmask.weights.model import Kind, Model
from unmask.weights.transformer import Transformer


@dataclass(frozen=True, eq=False)
class RegularCompiler:
    """Everything about a regular problem that does not depend on N."""

    automaton: Automaton
    products: Products | None
    problem: dict[str, Any]

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
        """Which layout the monoid allows, and why."""
        if self.products is None:
            return f"{self.automaton.states} slots per node: the transition monoid has more than 1,024 elements"
        coding = self.products.coding
        return f"one slot per node: the monoid has {coding.size} elements, coded by {coding.name}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return ("mdm", "smdm", "topk", "plt", "pcot", "cot")

    @property
    def length(self) -> None:
        return None

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Members and non-members in turn."""
        found = [""]
        while found:
            drawn = (self.automaton.random_word(length, accepted=wanted, rng=rng) for wanted in (True, False))
            found = [word for word in drawn if word is not None]
            yield from found

    def layout_of(self, kind: Kind, length: int) -> str:  # noqa: ARG002
        """The layout of one kind: a chain of thought has no tree, and a loop holds its maps in columns."""
        if kind == "cot":
            return f"one symbol per letter: the state, one of {self.automaton.states}"
        if kind == "plt" and self.products is None:
            return "one row per node, a map as a matrix: the transition monoid has more than 1,024 elements"
        return self.layout

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) that the constructions promise at most."""
        log, size = max(1, tree_steps(length)), 1 if self.products is not None else self.automaton.states
        return {
            "plt": (tree_steps(length), 1),
            "cot": (length + 1, length + 1),
            "pcot": (log, log * level_width(length) * size),
        }.get(kind, (log, max(1, length) * size))

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if precision.p < LEAST_PRECISION:
            raise ProblemError(f"a compiled model needs a precision of at least {LEAST_PRECISION}, not {precision.p}")
        if kind == "cot":
            return self._chain(length, precision)
        if kind == "plt":
            return self._loop(length, precision)
        return self._levels(length, precision) if kind == "pcot" else self._diffusion(kind, length, precision)

    def _diffusion(self, kind: Kind, length: int, precision: Precision) -> Model:
        topk = kind == "topk"
        vocabulary = self._tree_vocabulary()
        if self.products is not None:
            slots = queue_slots(length)
            planner = tree_planner(vocabulary, length)
            predictor = tree_predictor(self.products, vocabulary, length, own_slot=topk)
        else:
            states = self.automaton.states
            slots, geometry = diffusion_slots(length, states), diffusion_geometry(length, states)
            planner = state_planner(vocabulary, length, geometry)
            predictor = state_node(self.automaton, vocabulary, length, geometry, waits=length > 1, own_slot=topk)
        programs = {"model": predictor} if topk else {"planner": planner, "predictor": predictor}
        transformers = {name: _weights(program, precision) for name, program in programs.items()}
        return self._model(kind, vocabulary, length, slots, max(1, tree_steps(length)), transformers)

    def _tree_vocabulary(self) -> Vocabulary:
        if self.products is not None:
            return products_vocabulary(self.products, ("mask",))
        return self._state_vocabulary(("mask", "reject", "accept"))

    def _state_vocabulary(self, roles: tuple[str, ...]) -> Vocabulary:
        tokens = self.automaton.tokens
        return vocabulary_of((*tokens, *state_names(self.automaton)), len(tokens), roles)

    def _levels(self, length: int, precision: Precision) -> Model:
        vocabulary, steps = self._tree_vocabulary(), max(1, tree_steps(length))
        if self.products is not None:
            block, program = level_width(length), tree_levels(self.products, vocabulary, length)
        else:
            states = self.automaton.states
            block = parallel_block(length, states)
            program = state_node(self.automaton, vocabulary, length, parallel_geometry(length, states), waits=False)
        transformers = {"model": _weights(program, precision, attention="causal")}
        return self._model("pcot", vocabulary, length, steps * block, steps, transformers, block=block)

    def _loop(self, length: int, precision: Precision) -> Model:
        if self.products is not None:
            vocabulary = products_vocabulary(self.products, ("pad",))
            program, last = product_loop(self.products, vocabulary, length), 2
        else:
            vocabulary = vocabulary_of(self.automaton.tokens, len(self.automaton.tokens), ("pad", "reject", "accept"))
            program, last = matrix_loop(self.automaton, vocabulary, length), 1
        transformers = {"model": _weights(program, precision, loop=(0, last))}
        return self._model("plt", vocabulary, length, 1, tree_steps(length), transformers)

    def _chain(self, length: int, precision: Precision) -> Model:
        steps = max(1, length)
        vocabulary = self._state_vocabulary((*(() if length else ("begin",)), "reject", "accept"))
        transformers = {
            "model": _weights(state_chain(self.automaton, vocabulary, length), precision, attention="causal")
        }
        return self._model("cot", vocabulary, length, steps, steps, transformers)

    def _model(
        self,
        kind: Kind,
        vocabulary: Vocabulary,
        length: int,
        padding: int,
        steps: int,
        transformers: dict[str, Transformer],
        *,
        block: int | None = None,
    ) -> Model:
        characters = self.automaton.characters
        return Model(
            kind=kind,
            length=length,
            padding=padding,
            steps=steps,
            **vocabulary.fields(),
            block=block,
            transformers=transformers,
            characters=None if characters is None else tuple((a, b, vocabulary.symbols[t]) for a, b, t in characters),
            problem=self.problem,
        )


def _weights(program: Program, precision: Precision, **frame: Any) -> Transformer:
    check_table(program)
    return assemble(program, precision, **frame)


def from_state_zero(automaton: Automaton) -> Automaton:
    """The same automaton with its start state numbered 0."""
    if automaton.start == 0:
        return automaton
    order = [automaton.start, *(q for q in range(automaton.states) if q != automaton.start)]
    delta, start, accepting = renumbered(automaton.delta, automaton.start, automaton.accepting, order)
    return Automaton(automaton.tokens, delta, start, accepting, automaton.characters)


def state_names(automaton: Automaton) -> list[str]:
    """q0, q1, …, with a prime for each token of that name."""
    names = []
    for q in range(automaton.states):
        name = f"q{q}"
        while name in automaton.tokens:
            name += "'"
        names.append(name)
    return names
