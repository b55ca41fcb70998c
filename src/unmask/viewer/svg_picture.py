"""View → a still picture (SVG): runs side by side, a line per step, every written symbol below its sources.

It has its own background, light or dark as the browser prefers, so that it is legible on any page.
"""

from html import escape

from unmask.viewer.html_page import View, cell_text
from unmask.viewer.panel import Panel
from unmask.viewer.run_history import CONTINUES, EDITED, NOTHING, Edge

LINE, GUTTER, TOP, MARGIN, BETWEEN = 27, 34, 64, 20, 44
HALF = 9  # as a fraction of the height of a symbol
DASHES = ("", "7 3", "2 3", "9 3 2 3")
STYLE = """
.paper{fill:#fcfcfa}.ink{fill:#1f2328}.soft{fill:#5d646c}.rule{stroke:#e3e4e2}
.box{fill:#0072b2}.on{fill:#fff}.edited{fill:#e69f00;stroke:#1b1300;stroke-width:1.5}.on-edited{fill:#1b1300}
.h0{stroke:#d55e00}.h1{stroke:#0072b2}.h2{stroke:#00795a}.h3{stroke:#a8508a}.h4{stroke:#b87d00}.h5{stroke:#2d2d2d}
.go{stroke:#5d646c}.good{fill:#00795a}.bad{fill:#b34700}
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;font-size:13px}
.s{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;text-anchor:middle}
path{fill:none;stroke-width:1.4;opacity:.75}
@media(prefers-color-scheme:dark){
.paper{fill:#16181b}.ink{fill:#e6e4df}.soft{fill:#a3a8ae}.rule{stroke:#30343a}
.box{fill:#56b4e9}.on{fill:#0b1a24}
.h0{stroke:#ff8a3d}.h1{stroke:#56b4e9}.h2{stroke:#2fc69c}.h3{stroke:#d98fbb}.h4{stroke:#e69f00}.h5{stroke:#d0d0d0}
.go{stroke:#a3a8ae}.good{fill:#2fc69c}.bad{fill:#ff8a4c}}
"""


def picture(view: View) -> str:
    """Return the picture as SVG; its text alternative describes the same for screen readers."""
    left, drawings, height = MARGIN, [], 0
    for panel in view.panels:
        width, drawing = _panel(panel, left)
        drawings.append(drawing)
        left += width + BETWEEN
        height = max(height, TOP + panel.history.lines * LINE)
    size = f"{left - BETWEEN + MARGIN} {height + 8}"
    summary = "; ".join(f"{panel.name}: {panel.steps}, {_verdict(panel)}" for panel in view.panels)
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" aria-labelledby="t d">\n',
            f'<title id="t">{escape(view.title)}</title><desc id="d">{escape(summary)}</desc>\n',
            f'<style>{STYLE}</style>\n<rect class="paper" width="100%" height="100%" rx="8"/>\n',
            *drawings,
            "</svg>\n",
        ]
    )


def _panel(panel: Panel, left: int) -> tuple[int, str]:
    """Return (width, drawing) of one run; lines come first, so that symbols are drawn over them."""
    history = panel.history
    columns = max(1, history.tokens.shape[1] if history.looped else history.first_slot)
    cell = 26 if columns <= 32 else 15
    origin = left + GUTTER

    def x(line: int, column: int) -> float:
        return round(origin + (panel.places[line, column] + 0.5) * cell, 1)

    tone = {True: "good", False: "bad", None: "soft"}[panel.trace.accepted]
    elements = [
        f'<g><text class="ink" x="{left}" y="30" font-weight="600">{escape(panel.name)}</text>'
        f'<text class="{tone}" x="{left}" y="48">{panel.steps}, {_verdict(panel)}</text>\n'
    ]
    elements += [
        f'<text class="soft" x="{left + 18}" y="{_y(line) + 4}" text-anchor="end">{line}</text>\n'
        for line in range(panel.trace.steps_taken + 1)
    ]
    planner_heads = sum(name == "planner" for name, _, _ in panel.heads)  # they write nothing
    for edge in panel.edges or ():
        if {(edge.line, edge.column), (edge.source_line, edge.source)} <= panel.places.keys():
            ends = x(edge.line, edge.column), x(edge.source_line, edge.source)
            elements.append(_edge(edge, edge.head - planner_heads, *ends))
    inputs = [] if history.looped else [(0, column) for column in range(history.first_slot)]
    for line, column in (*inputs, *history.events()):
        token = int(history.tokens[line, column])
        if token != NOTHING:
            change = int(history.change[line, column])
            elements.append(_symbol(cell_text(history.symbols[token]), x(line, column), line, change, cell))
    return GUTTER + columns * cell, "".join([*elements, "</g>\n"])


def _edge(edge: Edge, head: int, x: float, source_x: float) -> str:
    top, bottom = _y(edge.source_line) + HALF, _y(edge.line) - HALF
    half = (top + bottom) / 2
    style, dash = (f"h{head % 6}", DASHES[head % 4]) if edge.head != CONTINUES else ("go", "1 3")
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path class="{style}"{dashes} d="M{x} {bottom}C{x} {half} {source_x} {half} {source_x} {top}"/>\n'


def _symbol(text: str, x: float, line: int, change: int, cell: int) -> str:
    text = text if len(text) <= 6 else f"{text[:5]}…"
    width = round(min(cell * 1.3, max(0.8 * cell, 8.5 * len(text) + 6)), 1) if line else cell
    size = round(min(13, (width - 3) / (0.62 * len(text))), 1)
    box, on = ("edited", "on-edited") if change == EDITED else ("box", "on")
    where = f'x="{x}" y="{_y(line) + 4}" style="font-size:{size}px"'
    label = f'<text class="s {on if line else "ink"}" {where}>{escape(text)}</text>\n'
    if not line:
        return label
    frame = f'x="{round(x - width / 2, 1)}" y="{_y(line) - HALF}" width="{width}" height="{2 * HALF}"'
    return f'<rect class="{box}" {frame} rx="4"/>{label}'


def _y(line: int) -> int:
    return TOP + line * LINE + LINE // 2


def _verdict(panel: Panel) -> str:
    return {True: "accepted", False: "rejected", None: "no answer"}[panel.trace.accepted]
