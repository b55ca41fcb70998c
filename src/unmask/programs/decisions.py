"""What the two logits (keep, take) of a planner decide, within one MLP. Ties are for keep.

| gadget             | equation                                                                       | hidden units |
|--------------------|--------------------------------------------------------------------------------|--------------|
| `unchosen`         | h = ReLU(take - keep) twice, ReLU(1 - Σ 2^(p-1)·h) = [take <= keep]            | 2            |
| `left_as_it_is`    | the same h, ReLU(x_c - Σ 2^(p-1)·h) = x_c ∧ [take <= keep]                     | 2, 1 per c   |
| `no_preference`    | h_c = ReLU(l_c + B), g = ReLU(keep - take + 2^-p), each twice,                 | 2, 2 per c   |
|                    | ReLU(1 - Σ 2^(p-1)·(h_c + g)) = [take > keep, and every l_c is -B]             |              |

With them a predictor's own logits can be emitted, without an argmax over its symbols: subtract B twice where a slot
is not chosen, and every logit is -B, whatever it was. Least p: 1.
"""

from unmask.programs.coefficients import ONE, TOP, ULP, B
from unmask.programs.logic import conjunction
from unmask.programs.program import Columns, MlpBuilder


def unchosen(mlp: MlpBuilder, decision: Columns, flags: Columns) -> None:
    """Every flag becomes [take <= keep]."""
    _not_if_taken(mlp, decision, flags)
    mlp.offset(flags, ONE)


def left_as_it_is(mlp: MlpBuilder, decision: Columns, flags: Columns, target: Columns) -> None:
    """target_c = flags_c where take <= keep, else 0."""
    mlp.write(conjunction(mlp, flags, [[]] * flags.size), target)
    _not_if_taken(mlp, decision, target)


def no_preference(mlp: MlpBuilder, decision: Columns, logits: Columns, flag: Columns) -> None:
    """flag = [take > keep, and every logit is -B]: the lowest symbol wins such a tie."""
    for _ in range(2):
        above = mlp.units(logits.size, bias=B)
        mlp.read(above, logits)
        mlp.write(above, flag, -TOP)
        kept = mlp.units(1, bias=ULP)
        mlp.read(kept, decision[0])
        mlp.read(kept, decision[1], -ONE)
        mlp.write(kept, flag, -TOP)
    mlp.offset(flag, ONE)


def _not_if_taken(mlp: MlpBuilder, decision: Columns, columns: Columns) -> None:
    """Every column loses at least 1 where take > keep."""
    for _ in range(2):
        units = mlp.units(1)
        mlp.read(units, decision[1])
        mlp.read(units, decision[0], -ONE)
        mlp.write(units, columns, -TOP)
