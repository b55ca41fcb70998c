"""Markdown tables of measurements, and the marked regions of a page that they fill."""


def table(head, rows):
    """Return the lines of a Markdown table; integers have thousands separators."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return lines + [f"| {' | '.join(f'{x:,}' if isinstance(x, int) else x for x in row)} |" for row in rows]


def write_page(page, parts):
    """Replace the lines between the markers of a page: marker → lines."""
    page.write_text(fill_regions(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


def fill_regions(text, parts):
    """Return the text of a page with the given lines between its markers."""
    for marker, lines in parts.items():
        begin, end = f"<!-- {marker} -->\n", f"<!-- end of {marker} -->"
        head, rest = text.split(begin)
        text = head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]
    return text
