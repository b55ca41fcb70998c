"""What the two logits (keep, take) of a planner decide, within one MLP. Ties are for keep.

| gadget             | equation                                                                       | hidden units |
|--------------------|--------------------------------------------------------------------------------|--------------|
| `unchosen`         | h = ReLU(take - keep) twice, ReLU(1 - Σ 2^(p-1)·h) = [take <= keep]            | 2            |
| `left_as_it_is`    | the same h, ReLU(x_c - Σ 2^(p-1)·h) = x_c ∧ [take <= keep]                     | 2, 1 per c   |
| `no_preference`    | h_c = ReLU(l_c + B), g = ReLU(keep - take + 2^-p), each twice,                 | 2, 2 per c   |
|                    | ReLU(1 - Σ 2^(p-1)·(h_c + g)) = [take > keep, and every l_c is -B]             |              |
| `barely_preferred` | h_c = ReLU(l_c + B - 2^-p), m_c = ReLU(2^-p - B - l_c), g as above, each twice | 2, 4 per c   |
|                    | ReLU(1 - Σ_j 2^(p-1)·(h_j + g) - 2^(p-1)·m_c)                                  |              |
|                    | = [take > keep, l_c is -B + 2^-p, and no logit is above that]                  |              |

With them a predictor's own logits can be emitted, without an argmax over its symbols: subtract B twice where a slot
is not chosen, and every logit is -B, whatever it was. Least p: 1.
"""

from unmask.programs.gadgets.logic import conjunction
from unmask.programs.language.builders import Columns, MlpBuilder
from unmask.programs.language.coefficients import NEXT_TO_B, ONE, TOP, ULP, B


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
        _not_if_kept(mlp, decision, flag)
    mlp.offset(flag, ONE)


def barely_preferred(mlp: MlpBuilder, decision: Columns, logits: Columns, flags: Columns) -> None:
    """flags_c = [take > keep, l_c is -B + 2^-p, and no logit is larger]."""
    for _ in range(2):
        larger = mlp.units(logits.size, bias=NEXT_TO_B)
        mlp.read(larger, logits)
        least = mlp.units(logits.size, bias=-NEXT_TO_B)
        mlp.read(least, logits, -ONE)
        mlp.write(least, flags, -TOP)
        for flag in flags:
            mlp.write(larger, flag, -TOP)
        _not_if_kept(mlp, decision, flags)
    mlp.offset(flags, ONE)


def _not_if_kept(mlp: MlpBuilder, decision: Columns, columns: Columns) -> None:
    """Every column loses at least 1/2 where take <= keep."""
    not_taken = mlp.units(1, bias=ULP)
    mlp.read(not_taken, decision[0])
    mlp.read(not_taken, decision[1], -ONE)
    mlp.write(not_taken, columns, -TOP)


def _not_if_taken(mlp: MlpBuilder, decision: Columns, columns: Columns) -> None:
    """Every column loses at least 1 where take > keep."""
    for _ in range(2):
        units = mlp.units(1)
        mlp.read(units, decision[1])
        mlp.read(units, decision[0], -ONE)
        mlp.write(units, columns, -TOP)
