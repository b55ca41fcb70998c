"""Two buffers: overwrite arbitrary numbers without clipping (section 1.6 of the constructions).

    layer:   other ← 0 + value of the attended row,      current ← current - current = 0,      then swap

One buffer is not enough: heads are summed before the residual stream is added, and (-old + new) may clip before
+ old undoes it. Values in {-1, 0, 1} never clip, so that bits may be overwritten in place. Least p: 1.
"""

from dataclasses import dataclass

from unmask.programs.gadgets.lookup import clear
from unmask.programs.language.builders import Columns, HeadBuilder


@dataclass(frozen=True, eq=False)
class Buffers:
    """`current` holds the contents, `other` is 0."""

    current: Columns
    other: Columns

    @property
    def swapped(self) -> "Buffers":
        return Buffers(self.other, self.current)


def overwrite(gather: HeadBuilder, own_row: HeadBuilder, source: Columns, buffers: Buffers) -> Buffers:
    """The contents become `source` of the row that `gather` attends to; `own_row` is a SELF head of the layer."""
    gather.copy(source, buffers.other)
    clear(own_row, buffers.current)
    return buffers.swapped
