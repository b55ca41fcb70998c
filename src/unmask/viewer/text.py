"""View → plain text: the canvas line by line, for a reader without scripts, a terminal, or a screen reader."""

import unicodedata

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
    symbols = [visible(symbol) for symbol in story.symbols]
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


def visible(text: str) -> str:
    """Text in which every character shows and none moves its neighbours: controls as escapes, marks on a circle."""
    parts = []
    for character in text:
        category = unicodedata.category(character)
        if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs") and character != " ":
            parts.append(f"\\u{{{ord(character):x}}}")
        elif category.startswith("M") and not parts:
            parts.append("◌" + character)
        else:
            parts.append(character)
    return "".join(parts).replace(" ", "␣") if text.strip() == "" and text else "".join(parts)
