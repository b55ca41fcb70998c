"""`unmask run DIR -`: answers for many words, one line each, computed in batches of thousands."""

import time
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from unmask.errors import UnmaskError
from unmask.terminal import json_line, say_lines

if TYPE_CHECKING:  # `--help` asks for none of it
    from unmask.engines.engine import Engine
    from unmask.pipeline import Decided
    from unmask.weights.model import Model

AT_ONCE = 1 << 16


def decide_lines(
    model: "Model", words: Iterable[str | UnmaskError], engine: "Engine", *, tables: bool | None, outputs: int | None
) -> int:
    """Print one line per word and return the exit code.

    With `outputs`, the number of output bits of a circuit, each line is a JSON document. Batches are as large as the
    engine can hold, and larger once there are tables. A line that is not a word is printed as an error.
    """
    from unmask.pipeline import decide_words, words_at_once

    remaining, seen, code, size = iter(words), 0, 0, words_at_once(model, engine)
    while part := list(islice(remaining, size)):
        seen += len(part)
        start = time.perf_counter()
        readable = ["" if isinstance(word, UnmaskError) else word for word in part]
        decided = decide_words(model, readable, engine=engine, tables=tables, expected=seen)
        decided.errors.update({i: word for i, word in enumerate(part) if isinstance(word, UnmaskError)})
        share = (time.perf_counter() - start) / len(part)
        lines, answered = _lines(decided) if outputs is None else _documents(decided, outputs, share)
        say_lines(lines)
        code = code if answered and not decided.errors else 2
        size = max(size, AT_ONCE) if decided.by == "tables" else size
    return code


def _lines(decided: "Decided") -> tuple[list[str], bool]:
    """Return one line per word, and whether every word has an answer."""
    from unmask.console import answers_told

    said = _sayings(decided, answers_told(decided.model))
    lines = [line for line, _ in said]
    for i, error in decided.errors.items():
        lines[i] = f"error: {error}"
    return lines, all(good for _, good in said)


def _sayings(decided: "Decided", told: int) -> list[tuple[str, bool]]:
    """Return (text, is it an answer) for each word; equal results are formatted once."""
    from unmask.console import said_of

    model, known = decided.model, {}
    ends = [tuple(tokens) for tokens in decided.slots[:, -told:].tolist()]
    for end in ends:
        if end not in known:
            known[end] = said_of(model, model.symbols(end))
    return [known[end] for end in ends]


def _documents(decided: "Decided", outputs: int, seconds: float) -> tuple[list[str], bool]:
    """Return the documents of `--json --no-canvas`; `by` is given if it is not the engine."""
    from unmask.console import answers_told
    from unmask.pipeline import outputs_of

    model, said = decided.model, _sayings(decided, answers_told(decided.model))
    lines, all_answered = [], True
    for i, (accepted, slots) in enumerate(zip(decided.accepted, decided.slots.tolist(), strict=True)):
        if i in decided.errors:
            lines.append(json_line({"error": str(decided.errors[i])}))
            continue
        output = model.symbols(slots)
        all_answered &= said[i][1]
        document = {
            "accepted": accepted,
            "steps": model.steps,
            "length": model.length,
            "padding": model.padding,
            "output": output,
        }
        if 1 < outputs <= len(output):
            document["outputs"] = outputs_of(model, output[-outputs:])
        document["seconds"] = seconds
        if decided.by != "engine":
            document["by"] = decided.by
        lines.append(json_line(document))
    return lines, all_answered
