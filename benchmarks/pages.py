"""Tables of measurements, and where they stand on a page of the documentation."""


def table(head, rows):
    """The lines of a Markdown table; integers with thousands apart."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return lines + [f"| {' | '.join(f'{x:,}' if isinstance(x, int) else x for x in row)} |" for row in rows]


def write_page(page, parts):
    """Replace what stands between the markers of a page: marker → lines."""
    page.write_text(filled(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


def filled(text, parts):
    """A page's text with other lines between its markers."""
    for marker, lines in parts.items():
        begin, end = f"<!-- {marker} -->\n", f"<!-- end of {marker} -->"
        head, rest = text.split(begin)
        text = head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]
    return text
