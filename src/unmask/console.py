"""What a person sees: `rich` on a terminal, plain text in a pipe."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from unmask.escapes import visible
from unmask.reasoners.typed_expressions import blank_between, is_value, reads_expressions
from unmask.terminal import console, literal, print_document, show_table
from unmask.traces.trace import Trace
from unmask.verification.compare import Row, grows_as_promised, lengths_that_lack_cases
from unmask.verification.question.verdict import Verdict
from unmask.weights.model import Model
from unmask.weights.price import Price
from unmask.weights.storage import stored_hash

if TYPE_CHECKING:  # only `convert` needs the theorems, only `doctor` the installation
    from unmask.installation import Installation
    from unmask.theorems.theorem import Theorem
    from unmask.verification.families.prove import EveryLength

LONGEST_ROW = 120  # slots of a canvas that are printed


def show_compiled(model: Model, folder: Path, *, as_json: bool) -> None:
    """One line about a folder that was just written."""
    widest = max(model.transformers.values(), key=lambda t: t.width)
    facts = {
        "folder": str(folder),
        "reasoner": model.kind,
        "precision": model.precision.p,
        "length": model.length,
        "steps": model.steps,
        "padding": model.padding,
        "width": widest.width,
        "layers": max(len(t.layers) for t in model.transformers.values()),
        "parameters": sum(t.parameters for t in model.transformers.values()),
        "layout": layout_of(model),
    }
    if as_json:
        print_document({**facts, "hash": stored_hash(model, folder)})
        return
    console().print(
        f"[bold]{literal(folder)}[/bold]: {model.kind}, "
        f"N = {model.length}, T = {model.steps}, P = {model.padding}, "
        f"width {facts['width']}, {facts['layers']} layers, {facts['parameters']} nonzero weights, "
        f"F_{model.precision.p}"
    )
    if facts["layout"] is not None:
        console().print(f"[dim]{literal(facts['layout'])}[/dim]")


def layout_of(model: Model) -> str | None:
    """Which layout was taken and why, where the model was compiled from a regular problem."""
    made = model.provenance[0] if isinstance(model.provenance, list) and model.provenance else {}
    return made.get("layout") if isinstance(made, dict) else None


def show_hop(theorem: "Theorem", source: Model, result: Model, *, quiet: bool) -> dict[str, Any]:
    """One line about a conversion: what it took, beside what it may take."""
    from unmask.theorems.size import Size

    price, bound, law = Price.of(result), theorem.bound(source), theorem.law(source)
    facts = {
        "by": theorem.stem,
        "label": theorem.label,
        "from": theorem.source,
        "to": theorem.target,
        **price.to_json(),
        "bound": bound.to_json(),
        "within_bound": price.within(bound),
        "growth": theorem.growth(Size.of(source)).to_json(),
        "law": None if law is None else law.to_json(),
    }
    if not quiet:
        before = Price.of(source)
        console().print(
            f"[bold]{theorem.stem}[/bold] ({theorem.label}): "
            f"steps {before.steps} → {price.steps} (<= {bound.steps}), "
            f"space {before.padding} → {price.padding} (<= {bound.padding}), "
            f"layers {before.layers} → {price.layers} (<= {bound.layers}), "
            f"width {before.width} → {price.width} (<= {bound.width}, {facts['growth']['width']}), "
            f"symbols {before.symbols} → {price.symbols} (<= {bound.symbols})"
        )
        if law is not None:
            console().print(law.sentence)
    return facts


def show_comparison(problem: str, rows: list[Row]) -> None:
    """The table, and what each framework's resources do as N grows."""
    columns = ("kind", "N", "steps", "space", "width", "layers", "symbols", "weights", "sec", "correct")
    cells = [
        (
            row.framework,
            str(row.length),
            f"{row.steps} <= {row.bound.steps}",
            f"{row.padding} <= {row.bound.padding}",
            f"{row.width} <= {row.bound.width}",
            f"{row.layers} <= {row.bound.layers}",
            f"{row.symbols} <= {row.bound.symbols}",
            str(row.parameters),
            "–" if row.seconds is None else f"{row.seconds:.3f}",
            {True: "yes", False: "[red]NO[/red]", None: "not run"}[row.correct],
        )
        for row in rows
    ]
    show_table(literal(problem), columns, cells, left=("kind",))
    out = console()
    for kind in dict.fromkeys(row.framework for row in rows):
        same = sorted((row for row in rows if row.framework == kind), key=lambda row: row.length)
        first, last = same[0], same[-1]
        if first.length != last.length:
            out.print(
                f"{kind:>5}: N {first.length} → {last.length}, steps {first.steps} → {last.steps}, "
                f"space {first.padding} → {last.padding}, width {first.width} → {last.width} <= {last.width_formula}"
                + ("" if grows_as_promised(same) else ": [red]depth, alphabet or width grow faster than allowed[/red]")
                + _lacking(same)
            )
    out.print(
        "[dim]These runs show upper bounds. Lower bounds are cited theorems: for example, log N steps of chain of "
        "thought cannot decide parity (thm:cot-mdm-separation).[/dim]"
    )


def _lacking(rows: list[Row]) -> str:
    lengths = lengths_that_lack_cases(rows)
    return f" (not every case of the recurrence occurs at N = {', '.join(map(str, lengths))})" if lengths else ""


def show_verdict(verdict: Verdict) -> None:
    style = {"proved": "bold green", "held": "bold green", "refuted": "bold red", "unknown": "bold yellow"}
    out = console()
    if verdict.proof is not None:
        how = ", ".join(f"{name} {value}" for name, value in verdict.proof.items() if name not in ("by", "invariant"))
        words = "every word" if verdict.about is None else "every word that was compared"
        out.print(f"[{style[verdict.status]}]proved[/] for {words}, by {verdict.proof['by']} ({how})")
    elif verdict.status == "held":
        number = f"{'all ' if verdict.complete else ''}{verdict.cases:,} word{'' if verdict.cases == 1 else 's'}"
        out.print(f"[{style[verdict.status]}]no counterexample found[/] ({number})")
    elif not verdict.comparable:
        out.print(literal(verdict.reason or ""), style=style[verdict.status])
        return
    else:
        out.print(f"[{style[verdict.status]}]{verdict.status}[/]")
    if verdict.compared is not None:
        out.print(f"compared: {literal(verdict.compared)}")
    if verdict.counterexample is not None:
        out.print(
            f"counterexample {literal(repr(verdict.counterexample))}: "
            f"{literal(verdict.expected)}, but the model {literal(verdict.got)}"
        )
    elif verdict.about is not None:
        out.print(f"this is about {literal(verdict.about)}")
    if verdict.reason:
        out.print(literal(verdict.reason))


def show_every_length(answer: "EveryLength", seconds: float) -> None:
    """Print the verdict, how many obligations each method settled, and what was compared and is trusted."""
    from unmask.verification.families.report import compared_lengths

    out = console()
    style = {"proved": "bold green", "refuted": "bold red", "unknown": "bold yellow"}[answer.verdict]
    for_every = "proved for every N" if answer.verdict == "proved" else answer.verdict
    out.print(f"[{style}]{for_every}[/]: {literal(answer.statement)}")
    settled = Counter(o.method for o in answer.obligations if o.verdict == "proved")
    counted = ", ".join(f"{count} by {literal(method)}" for method, count in settled.items())
    out.print(f"{sum(settled.values())} obligations{f' ({counted})' if counted else ''}, {seconds:.3f} s")
    if answer.counterexample is not None:
        wrong = answer.counterexample
        word = "" if wrong.word is None else f", word {literal(repr(wrong.word))}"
        out.print(
            f"counterexample: N = {wrong.length}{word}: {literal(wrong.expected)}, but the model {literal(wrong.got)}"
        )
    if answer.reason:
        out.print(literal(answer.reason))
    if answer.verdict == "proved":
        if answer.compared:
            out.print(literal(compared_lengths(answer)))
        out.print(f"The proof relies on {len(answer.trusted)} trusted assumptions; --json and --out list them.")


def show_installation(installation: "Installation") -> None:
    """What there is, what there could be, and whether the engines agree."""
    from unmask.installation import OPTIONAL_PROGRAMS

    out = console()
    out.print(f"unmask {installation.version}, Python {installation.python}, {installation.platform}")
    out.print(", ".join(f"{p.name} {p.version or '[red]MISSING[/red]'}" for p in installation.packages))
    test = installation.self_test
    if test.problem is None:
        out.print(f"[green]the engines agree[/green] on {test.runs} runs ({test.seconds:.3f} s)")
    else:
        out.print(f"[bold red]the self-test failed:[/bold red] {literal(test.problem)}")
    for extra in installation.extras:
        lacking = [p.name for p in extra.packages if p.version is None]
        state = "[green]installed[/green]" if extra.installed else f"lacks {', '.join(lacking)}"
        hint = "" if extra.installed else f"; pip install 'unmask\\[{extra.name}]'"
        out.print(f"[bold]{extra.name}[/bold] ({state}): {literal(extra.adds)}{hint}")
    for name, path in installation.programs.items():
        out.print(f"{name}: {path or 'not found'} [dim](only for {literal(OPTIONAL_PROGRAMS[name])})[/dim]")


def said_of(model: Model, output: Sequence[str]) -> tuple[str, bool]:
    """(what is said of a run that ends with these symbols, is it an answer)"""
    answers = model.plain(list(output[-answers_told(model) :]))
    verdict = verdict_of(model, output[-1])
    if len(answers) == 1 and (verdict[1] or not notes_answers(model)):
        return verdict
    allowed = model.problem.get("symbols")
    if isinstance(allowed, list):  # what an answer may be; folders of older versions do not say it
        wrong = next((symbol for symbol in answers if symbol not in (*allowed, model.accept, model.reject)), None)
        if wrong is not None and wrong != model.mask:
            return f"undecided: {' '.join(answers)}, and {wrong!r} is not an answer of the program", False
    return f"answer: {' '.join(answers)}", model.mask not in answers


def verdict_of(model: Model, last: str) -> tuple[str, bool]:
    """The same, by the last symbol alone: a verdict, or the value of an expression."""
    meant = model.aliases.get(last, last)
    if meant in (model.accept, model.reject):
        return "accepted" if meant == model.accept else "rejected", True
    if is_value(meant, model.vocabulary):
        return f"= {meant}", True
    stands_for = f", which means {meant!r}" if meant != last else ""
    return f"undecided: the last symbol is {last!r}{stands_for}, neither {model.accept!r} nor {model.reject!r}", False


def notes_answers(model: Model) -> bool:
    """Does the folder say how many slots answer? That of a program does; its answers may be any symbols."""
    stored = model.problem  # anything at all, in a folder that others made
    return isinstance(stored, dict) and isinstance(stored.get("slots"), list) and type(stored.get("outputs")) is int


def answers_in_symbols(model: Model) -> bool:
    """Does the folder say that answers may be other symbols than accept and reject: of a program, of an expression?"""
    stored = model.problem
    return notes_answers(model) or (isinstance(stored, dict) and stored.get("kind") == "expression")


def answers_told(model: Model) -> int:
    """How many symbols at the end of a run are its answers."""
    if model.outputs is not None and notes_answers(model):
        return model.outputs
    return max(1, model.problem["outputs"]) if notes_answers(model) else 1


def show_run(model: Model, trace: Trace, *, canvas: bool) -> None:
    """The canvas step by step, freshly written slots highlighted, then the verdict."""
    out = console()
    if canvas:
        expression = reads_expressions(model.input_symbols)
        gap = "" if expression or all(len(s) == 1 for s in trace.vocabulary) else " "
        given = [Text(visible(symbol)) for symbol in model.symbols(trace.word)]
        _show_row(out, "input ", _apart(given) if expression else given, gap)
        if trace.left_out is not None:
            out.print(literal(trace.left_out))
        first = 1 + trace.steps_taken - len(trace.canvas)
        for t, (tokens, chosen) in enumerate(zip(trace.canvas, trace.chosen, strict=True), start=first):
            name = "answer" if model.kind == "plt" else f"step {t:>2}"
            cells = _slots(model, trace, tokens, chosen)
            _show_row(out, name, _apart(cells) if expression else cells, gap)
    said, good = said_of(model, trace.output)
    style = {True: "bold green", False: "bold yellow", None: "bold green" if good else "bold red"}
    steps = f"{trace.steps_taken} step{'' if trace.steps_taken == 1 else 's'}"
    out.print(f"[{style[trace.accepted]}]{literal(said)}[/] after {steps}")


def _show_row(out: Console, name: str, cells: list[Text], gap: str) -> None:
    """One line; on a terminal as many as it takes, each under the first, and no cell is torn apart."""
    lines, room = [Text.assemble((name, "dim"), " ")], out.width - len(name) - 1 if out.is_terminal else None
    used = 0
    for cell in cells:
        wanted = cell.cell_len + (len(gap) if used else 0)
        if room is not None and used and used + wanted > room:
            lines.append(Text(" " * (len(name) + 1)))
            used, wanted = 0, cell.cell_len
        lines[-1].append(gap if used else "").append_text(cell)
        used += wanted
    for line in lines:
        out.print(line)


def _apart(cells: list[Text]) -> list[Text]:
    """The symbols of an expression, with a blank where two numbers would run into one."""
    before = [Text("("), *cells]
    return [Text(" " * blank_between(x.plain, y.plain, "·")) + y for x, y in zip(before, cells, strict=False)]


def _slots(model: Model, trace: Trace, tokens: np.ndarray, chosen: np.ndarray) -> list[Text]:
    """No markup: symbols such as [ and ] would be read as tags when they stand side by side."""
    cells = [
        Text("·" if symbol == model.mask else visible(symbol), style="bold reverse" if fresh else "")
        for symbol, fresh in zip(trace.symbols(tokens[:LONGEST_ROW]), chosen[:LONGEST_ROW], strict=True)
    ]
    return [*cells, Text(f"… {tokens.size - LONGEST_ROW} more")] if tokens.size > LONGEST_ROW else cells
