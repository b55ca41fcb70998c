"""Trees of |Q| rows per node: where they stand, for masked diffusion and parallel chain of thought.

Bounds, for a minimal automaton with |Q| states and any monoid:
    mdm    T = ⌈log2 N⌉, P = (N - 2)·|Q| + 1                  (1 and 1 for N <= 1)
    pcot   T = ⌈log2 N⌉, P' = ⌈N/2⌉·|Q|                       (1 and 1 for N <= 2)
The root needs its row for the start state alone, which is the last slot and emits the answer.
"""

from unmask.programs.language.positions import Expression, N, both, choose, constant, n
from unmask.programs.language.program import Program
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.planners.readiness import readiness_planner
from unmask.programs.regular.states.geometry import Geometry
from unmask.programs.regular.tree import level_room, level_width, queue_factor, tree_steps


def diffusion_slots(length: int, states: int) -> int:
    """P."""
    return max(0, length - 2) * states + 1


def diffusion_geometry(length: int, states: int) -> Geometry:
    """The queue of `regular.tree`, each node spread over |Q| slots."""
    slot = n >= N
    number = (n - N) // states
    node = choose(slot, N + number, n)
    state = choose(slot, (n - N) % states, 0)
    factors = [node if length == 0 else choose(slot, queue_factor(number, side), n) for side in (0, 1)]
    missing = [constant(int(length == 0)), constant(int(length <= 1))]
    return Geometry(
        length=length,
        rows=length + diffusion_slots(length, states),
        nodes=max(2, 2 * length),
        states=states,
        node=node,
        state=state,
        slot=slot,
        **_factors(slot, state, factors, missing),
        waits=length > 1,
        attention="unmasked",
    )


def state_planner(vocabulary: Vocabulary, geometry: Geometry) -> Program:
    """Choose a masked slot once neither factor is masked; the rows of one node are all written in one step."""
    states = geometry.states
    first_row = [choose(f < N, f, N + states * (f - N)) for f in (geometry.left, geometry.right)]
    children = (first_row[0] + geometry.left_state, first_row[1]) if geometry.waits else ()
    room = max(geometry.rows, (states + 1) * geometry.length)
    return readiness_planner(vocabulary, geometry.length, geometry.rows, children, room=room)


def parallel_block(length: int, states: int) -> int:
    """P'; where one step is enough, only the root."""
    return 1 if tree_steps(length) <= 1 else level_width(length) * states


def parallel_geometry(length: int, states: int) -> Geometry:
    """The levels of `regular.tree`, each entry spread over |Q| rows."""
    steps, block, width = max(1, tree_steps(length)), parallel_block(length, states), level_width(length)
    rows = length + steps * block
    slot, root = n >= N, n.equals(rows - 1)
    level = (n - N) // block
    within = (n - N) % block
    entry = choose(root, 0, within // states)
    state = choose(both(slot, n < rows - 1), within % states, 0)
    # the root has a number of its own: its row must not be taken for entry 0 of its level
    node = choose(slot, choose(root, N + steps * width, N + width * level + entry), n)
    factors, missing = [], []
    for side in (0, 1):
        child = 2 * entry + side
        inside = choose(level.equals(0), child < N, child < width)
        place = choose(level.equals(0), child, N + width * (level - 1) + child)
        factors.append(choose(slot, choose(inside, place, node), n))
        missing.append(choose(slot, 1 - inside, 0))
    return Geometry(
        length=length,
        rows=rows,
        nodes=level_room(length, length + steps * width + 1),
        states=states,
        node=node,
        state=state,
        slot=slot,
        **_factors(slot, state, factors, missing),
        waits=False,
        attention="causal",
    )


def _factors(
    slot: Expression, state: Expression, nodes: list[Expression], missing: list[Expression]
) -> dict[str, Expression]:
    """Where both factors are, from their nodes and whether a slot lacks them; a letter has but one row."""
    absent = [choose(slot, lacks, 1) for lacks in missing]
    letter = [node < N for node in nodes]
    return {
        "left": nodes[0],
        "left_state": choose(letter[0], 0, state),
        "left_absent": both(slot, absent[0]),
        "right": nodes[1],
        "right_fixed": choose(letter[1], 1, absent[1]),
        "right_absent": absent[1],
    }
