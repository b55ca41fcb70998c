"""A log-log plot as a small SVG, written by hand."""

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 320, 60, 90, 36, 44
COLOURS = ("#1b6ca8", "#c0582b", "#3a7d44")


def log_log(title: str, sizes: list[float], curves: dict[str, list[float]]) -> str:
    """Curves over sizes, all given as logarithms to base 2; a dashed line of slope 1 starts at the first curve."""
    first = next(iter(curves.values()))
    linear = [first[0] + x - sizes[0] for x in sizes]
    values = [y for curve in (*curves.values(), linear) for y in curve]
    low, high = int(min(values) // 1), int(-(-max(values) // 1))

    def x_of(x: float) -> float:
        return LEFT + (x - sizes[0]) / (sizes[-1] - sizes[0]) * (WIDTH - LEFT - RIGHT)

    def y_of(y: float) -> float:
        return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def line(ys: list[float], colour: str, extra: str = "") -> str:
        points = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in zip(sizes, ys, strict=True))
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" {extra}/>'

    def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#444") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14" fill="#222">{title}</text>',
    ]
    for y in range(low, high + 1, max(1, (high - low) // 8)):
        parts.append(f'<path d="M{LEFT} {y_of(y):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
        parts.append(text(LEFT - 6, y_of(y) + 4, f"{2.0**y:.3g} s", "end"))
    for x in sizes:
        parts.append(text(x_of(x), HEIGHT - BOTTOM + 16, f"2^{x:.0f}"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "length N"))
    parts.append(line(linear, "#999", 'stroke-dasharray="4 4"'))
    parts.append(text(x_of(sizes[-1]) + 6, y_of(linear[-1]) + 4, "slope 1", "start", "#999"))
    for (name, ys), colour in zip(curves.items(), COLOURS, strict=False):
        parts.append(line(ys, colour))
        parts += [
            f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>'
            for x, y in zip(sizes, ys, strict=True)
        ]
        parts.append(text(x_of(sizes[-1]) + 6, y_of(ys[-1]) + 4, name, "start", colour))
    return "\n".join([*parts, "</svg>"]) + "\n"
