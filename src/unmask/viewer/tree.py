"""Where a written symbol stands when the canvas is folded over its input: above what it was made from.

x(input i) = i,      x(event) = mean of x over its sources,      events of one line at least a gap apart
"""

from collections import defaultdict
from collections.abc import Sequence

from unmask.viewer.reads import Edge
from unmask.viewer.story import Story

GAP = 0.9


def folded(story: Story, edges: Sequence[Edge]) -> dict[tuple[int, int], float]:
    """(line, column) → x, in widths of an input column, for the input (line 0) and for every event."""
    width = max(1, story.first_slot if not story.looped else story.tokens.shape[1])
    place = {(0, column): float(column) for column in range(width)}
    sources: dict[tuple[int, int], list[Edge]] = defaultdict(list)
    for edge in edges:
        sources[edge.line, edge.column].append(edge)
    by_line: dict[int, list[int]] = defaultdict(list)
    for line, column in story.events():
        by_line[line].append(column)
    for line, columns in sorted(by_line.items()):
        wished = []
        for column in columns:
            read = [place[e.source_line, e.source] for e in sources[line, column] if (e.source_line, e.source) in place]
            own = column if story.looped else (column - story.first_slot) * width / story.tokens.shape[1]
            wished.append((own if story.looped or not read else sum(read) / len(read), column))
        for x, (_, column) in zip(_spread([w for w, _ in sorted(wished)], width), sorted(wished), strict=True):
            place[line, column] = x
    return place


def _spread(wished: list[float], width: int) -> list[float]:
    """The nearest places that keep the order and a gap, within the input where there is room."""
    gap = min(GAP, (width - 1) / max(1, len(wished) - 1)) if len(wished) > 1 else 0
    left, right = list(wished), list(wished)
    for i in range(1, len(left)):
        left[i] = max(left[i], left[i - 1] + gap)
    for i in range(len(right) - 2, -1, -1):
        right[i] = min(right[i], right[i + 1] - gap)
    middle = [(a + b) / 2 for a, b in zip(left, right, strict=True)]
    for i in range(len(middle)):
        middle[i] = max(middle[i], i * gap if not i else middle[i - 1] + gap)
    shift = max(0.0, middle[-1] - (width - 1)) if middle else 0.0
    return [x - shift for x in middle] if shift <= (middle[0] if middle else 0.0) else _even(len(wished), width)


def _even(count: int, width: int) -> list[float]:
    return [i * (width - 1) / max(1, count - 1) for i in range(count)]
