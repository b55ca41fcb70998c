"""EveryLength → a page: the statement, every obligation with how it was settled, and what is trusted."""

from collections.abc import Iterator
from html import escape

from unmask.verification.families.prove import EveryLength


def report(answer: EveryLength, seconds: float, *, html: bool) -> str:
    """The page, as HTML or Markdown."""
    return "\n".join((_html if html else _markdown)(answer, seconds)) + "\n"


def compared_lengths(answer: EveryLength) -> str:
    """The sentence that says at which lengths the compiler's output was compared with what is proved."""
    if not answer.compared:
        return "No compiled model was compared with this proof."
    listed = ", ".join(map(str, answer.compared))
    left = f" Not at N = {', '.join(map(str, answer.not_compared))}: too large." if answer.not_compared else ""
    return f"The compiled models were compared with this proof, entry by entry, at N = {listed}.{left}"


def _verdict(answer: EveryLength) -> str:
    return "Proved for every N" if answer.verdict == "proved" else answer.verdict.capitalize()


def _wrong(answer: EveryLength) -> str | None:
    wrong = answer.counterexample
    if wrong is None:
        return answer.reason
    word = "" if wrong.word is None else f", word {wrong.word!r}"
    return f"Counterexample: N = {wrong.length}{word}: {wrong.expected}, but the model {wrong.got}."


def _rows(answer: EveryLength) -> Iterator[tuple[str, ...]]:
    for obligation in answer.obligations:
        milliseconds = f"{round(obligation.seconds * 1000)} ms"
        yield obligation.name, obligation.method, obligation.verdict, milliseconds, obligation.detail


def _markdown(answer: EveryLength, seconds: float) -> Iterator[str]:
    yield from (f"# {_verdict(answer)}", "", _plain(answer.statement), "")
    if (wrong := _wrong(answer)) is not None:
        yield from (_plain(wrong), "")
    yield from (f"{len(answer.obligations)} obligations, {seconds:.1f} s.", "")
    yield from ("| obligation | method | | time | |", "|---|---|---|---|---|")
    for row in _rows(answer):
        yield f"| {' | '.join(_plain(cell) for cell in row)} |"
    yield from ("", "## Compared lengths", "", _plain(compared_lengths(answer)), "", "## What is trusted", "")
    yield from (f"- {line}" for line in answer.trusted)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\|*_<>[]" else c for c in " ".join(text.split()))


def _html(answer: EveryLength, seconds: float) -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8><meta name=generator content=unmask>"
    yield f"<title>{escape(_verdict(answer))}</title>"
    yield "<style>body{font:16px/1.5 system-ui;max-width:70em;margin:2em auto;padding:0 1em}"
    yield "td,th{text-align:left;padding:.1em 1em .1em 0;vertical-align:top}.open{color:#b00}</style>"
    yield f"<h1>{escape(_verdict(answer))}</h1><p>{escape(answer.statement)}</p>"
    if (wrong := _wrong(answer)) is not None:
        yield f"<p class=open>{escape(wrong)}</p>"
    yield f"<p>{len(answer.obligations)} obligations, {seconds:.1f} s.</p>"
    yield "<table><tr><th>obligation<th>method<th><th>time<th></tr>"
    for row in _rows(answer):
        cells = "".join(f"<td>{escape(cell)}" for cell in row)
        yield f"<tr class={'open' if row[2] == 'open' else 'proved'}>{cells}</tr>"
    yield f"</table><h2>Compared lengths</h2><p>{escape(compared_lengths(answer))}</p>"
    yield "<h2>What is trusted</h2><ul>"
    yield from (f"<li>{escape(line)}</li>" for line in answer.trusted)
    yield "</ul></html>"
