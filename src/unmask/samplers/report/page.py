"""Tables and plots → one HTML file that asks for nothing: no network, no other file, no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from string import Template

PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="unmask">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
body{color:#1f2328;background:#fcfcfa}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;font-size:13px}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #e3e4e2;white-space:nowrap}
th.l,td.l{text-align:left}td.wide{white-space:normal}
.wrap{overflow-x:auto}
svg{max-width:100%;height:auto}svg text{font-size:12px;fill:#1f2328}
.mid{text-anchor:middle}.end{text-anchor:end}
svg path{fill:none;stroke:currentColor;stroke-width:1.6}svg .rule{stroke:#e3e4e2;stroke-width:1}
svg circle{fill:currentColor;stroke:none}svg .bar{stroke-width:1}
.c0{color:#0072b2}.c1{color:#d55e00}.c2{color:#00795a}.c3{color:#a8508a}.c4{color:#b87d00}.c5{color:#2d2d2d}
.c6{color:#4aa3d9}.c7{color:#7a5c00}
@media(prefers-color-scheme:dark){
body{color:#e6e4df;background:#16181b}svg text{fill:#e6e4df}th,td{border-color:#30343a}svg .rule{stroke:#30343a}
.c0{color:#56b4e9}.c1{color:#ff8a3d}.c2{color:#2fc69c}.c3{color:#d98fbb}.c4{color:#e69f00}.c5{color:#d0d0d0}
.c6{color:#9bd1f2}.c7{color:#cdb36b}}
</style>
<h1>$title</h1>
$body
</html>
""")


@dataclass(frozen=True)
class Table:
    """Plain text in cells; `left` names the columns that are ranged left."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[str, ...]


def page(title: str, facts: Sequence[str], plots: Sequence[tuple[str, str]], table: Table) -> str:
    """A heading, sentences, (heading, SVG) pairs and a table."""
    body = [f"<p>{escape(fact)}</p>" for fact in facts]
    body += [f"<h2>{escape(heading)}</h2>{svg}" for heading, svg in plots]
    kinds = [' class="l wide"' if name in table.left else "" for name in table.columns]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.columns, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>\n"
        for row in table.rows
    )
    body.append(f'<h2>All runs</h2><div class="wrap"><table><tr>{head}</tr>\n{rows}</table></div>')
    return PAGE.substitute(title=escape(title), body="\n".join(body))
