"""View → plain text: the canvas line by line, for a reader without scripts, a terminal, or a screen reader."""

import unicodedata

from unmask.escapes import visible
from unmask.viewer.panel import Panel
from unmask.viewer.story import EDITED, KEPT, NOTHING, WRITTEN

MOST_CELLS = 40_000
MARKS = {KEPT: " ", WRITTEN: "*", EDITED: "!"}


def text_of(panel: Panel) -> str:
    """A line per step: input, a bar, slots; `*` marks what was written in the step, `!` what was edited."""
    story, trace = panel.story, panel.trace
    verdict = {True: "accepted", False: "rejected", None: "neither accepted nor rejected"}[trace.accepted]
    head = f"{panel.name}: {panel.steps}, {verdict}"
    shown = "loop" if story.looped else "step"
    if story.register is not None:
        head += f"; cells show the register {visible(story.register)}"
    symbols = [in_a_cell(symbol) for symbol in story.symbols]
    width = max((len(symbols[t]) for t in set(story.tokens.flat) if t != NOTHING), default=1)
    most = max(2, MOST_CELLS // max(1, story.tokens.shape[1] * (width + 2)))
    lines = []
    for line in range(story.lines):
        if most // 2 <= line < story.lines - most // 2:
            if line == most // 2:
                lines.append(f"… {story.lines - 2 * (most // 2)} lines left out …")
            continue
        cells = [
            (symbols[token] if token != NOTHING else ".").rjust(width) + MARKS.get(int(change), " ")
            for token, change in zip(story.tokens[line].tolist(), story.change[line], strict=True)
        ]
        first = story.first_slot
        label = "answer" if story.looped and line == story.lines - 1 else f"{shown} {line}" if line else "start"
        lines.append(f"{label:>9}  {' '.join(cells[:first])} | {' '.join(cells[first:])}".rstrip())
    return "\n".join([head, *lines, *panel.left_out])


def in_a_cell(text: str) -> str:
    """A symbol in a cell of its own: a blank that is seen, and no mark that joins its neighbour."""
    if text and not text.strip(" "):
        return "␣" * len(text)
    return "◌" + visible(text) if text and unicodedata.category(text[0]).startswith("M") else visible(text)
