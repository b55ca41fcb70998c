"""EveryLength → a page: the statement, every obligation with how it was settled, and what is trusted."""

from collections.abc import Iterator, Sequence
from html import escape

from unmask.verification.families.prove import EveryLength

TRUSTED = (
    "Python, NumPy, and the SMT solver's answers `unsat`; with a certificate these can be asked of another solver.",
    "`verification/families`: that its obligations, one file per kind, imply the statement. The argument stands at the "
    "top of each file.",
    "`programs/language/instance.py`: that a program of every N becomes that of one N as it says. For the lengths that "
    "were compared, the folder was compared with the family entry by entry, by other code.",
    "`verification/symbolic` and `verification/proofs`, for the shortest lengths, which are proved as folders.",
    "Products, sums and MLPs of `engines/shared`, which the enumerations use, and F_p in `numerics`.",
    "Of powers of two: that those below K are the halves of those up to K, that every u >= 2 lies in some (q, 2q], "
    "that ⌈log2 N⌉ = log2 K + [K < N] for K <= N < 2K, N <= 2^⌈log2 N⌉, that K is 1 or even, and that ⌈log2(2m - 1)⌉ = "
    "⌈log2 m⌉ + 1 for m >= 2. Of division: that n is q·W + r in one way.",
    "Problem → automaton (`problems/`), which compiling and proving share; of a program, that its rules are functions.",
    "Positions are computed in 64 bits, for N < 2^40; a folder of that size is refused.",
)


def report(answer: EveryLength, seconds: float, *, html: bool, trusted: Sequence[str] = TRUSTED) -> str:
    """The page, as HTML or Markdown."""
    return "\n".join((_html if html else _markdown)(answer, seconds, trusted)) + "\n"


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


def _markdown(answer: EveryLength, seconds: float, trusted: Sequence[str]) -> Iterator[str]:
    yield from (f"# {_verdict(answer)}", "", _plain(answer.statement), "")
    if (wrong := _wrong(answer)) is not None:
        yield from (_plain(wrong), "")
    yield from (f"{len(answer.obligations)} obligations, {seconds:.1f} s.", "")
    yield from ("| obligation | method | | time | |", "|---|---|---|---|---|")
    for row in _rows(answer):
        yield f"| {' | '.join(_plain(cell) for cell in row)} |"
    yield from ("", "## What is trusted", "")
    yield from (f"- {line}" for line in trusted)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\|*_<>[]" else c for c in " ".join(text.split()))


def _html(answer: EveryLength, seconds: float, trusted: Sequence[str]) -> Iterator[str]:
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
    yield "</table><h2>What is trusted</h2><ul>"
    yield from (f"<li>{escape(line)}</li>" for line in trusted)
    yield "</ul></html>"
