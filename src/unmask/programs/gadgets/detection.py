"""Which symbols occur (lem:detection).

Statement:    one unmasked layer computes [σ occurs] for every symbol σ, over all rows, or over those a head sees.
Construction: a head that scores 0 on every row it sees copies the symbol's one-hot code; n rows have Z = min(n, B),
              so that each has the weight [1/min(n, B)] >= 2^-p. The MLP of the same layer takes the threshold.
Bounds:       one head, two hidden units and two columns per symbol. Least p: 1.
Exactness:    exact for every n: the denominator saturates, so that the weights never round to 0.
Deviations:   none in the construction. Codes must be 0 and 1: a weight of 2^-p rounds 1/2 to 0.
"""

from unmask.programs.gadgets.threshold import threshold
from unmask.programs.language.builders import Columns, HeadBuilder, LayerBuilder, MlpBuilder


def everywhere(layer: LayerBuilder) -> HeadBuilder:
    """A head that scores 0 on every row: one column of zeros."""
    head = layer.head()
    head.column([], [])
    return head


def detect(head: HeadBuilder, mlp: MlpBuilder, codes: Columns, average: Columns, found: Columns) -> None:
    """found_σ = [a row that the head sees has codes_σ = 1]; the head scores 0 on what it sees."""
    head.copy(codes, average)
    threshold(mlp, average, found)
