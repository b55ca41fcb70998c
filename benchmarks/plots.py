"""Plots as small SVGs, written by hand."""

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 320, 60, 90, 36, 44
COLOURS = ("#1b6ca8", "#c0582b", "#3a7d44")
Curves = dict[str, list[float]]


def log_log(title: str, sizes: list[float], curves: Curves) -> str:
    """Seconds over sizes, all given as logarithms to base 2; a dashed line of slope 1 starts at the first curve."""
    first = next(iter(curves.values()))
    linear = [first[0] + x - sizes[0] for x in sizes]
    values = [y for curve in (*curves.values(), linear) for y in curve]
    low, high = int(min(values) // 1), int(-(-max(values) // 1))
    grid = {y: f"{2.0**y:.3g} s" for y in range(low, high + 1, max(1, (high - low) // 8))}
    ticks = {x: f"2^{x:.0f}" for x in sizes}
    return _plot(title, sizes, curves, (low, high), grid, ticks, "length N", {"slope 1": linear})


def plain(title: str, sizes: list[float], curves: Curves, across: str, step: int) -> str:
    """Curves over sizes, both axes linear; a line of the grid every `step`."""
    high = -(-max(y for curve in curves.values() for y in curve) // step) * step
    grid = {y: str(y) for y in range(0, int(high) + 1, step)}
    return _plot(title, sizes, curves, (0, high), grid, {x: f"{x:g}" for x in sizes}, across, {})


def _plot(
    title: str,
    sizes: list[float],
    curves: Curves,
    span: tuple[float, float],
    grid: dict[int, str],
    ticks: dict[float, str],
    across: str,
    guides: Curves,
) -> str:
    low, high = span

    def x_of(x: float) -> float:
        return LEFT + (x - sizes[0]) / (sizes[-1] - sizes[0]) * (WIDTH - LEFT - RIGHT)

    def y_of(y: float) -> float:
        return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def line(ys: list[float], colour: str, extra: str = "") -> str:
        points = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in zip(sizes, ys, strict=False))
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" {extra}/>'

    def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#444") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

    def name(ys: list[float], words: str, colour: str) -> str:
        return text(x_of(sizes[len(ys) - 1]) + 6, y_of(ys[-1]) + 4, words, "start", colour)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14" fill="#222">{title}</text>',
    ]
    for y, label in grid.items():
        parts.append(f'<path d="M{LEFT} {y_of(y):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
        parts.append(text(LEFT - 6, y_of(y) + 4, label, "end"))
    for x, label in ticks.items():
        parts.append(text(x_of(x), HEIGHT - BOTTOM + 16, label))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, across))
    for words, ys in guides.items():
        parts.append(line(ys, "#999", 'stroke-dasharray="4 4"'))
        parts.append(name(ys, words, "#999"))
    for (words, ys), colour in zip(curves.items(), COLOURS, strict=False):
        parts.append(line(ys, colour))
        parts += [
            f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>'
            for x, y in zip(sizes, ys, strict=False)
        ]
        parts.append(name(ys, words, colour))
    return "\n".join([*parts, "</svg>"]) + "\n"
