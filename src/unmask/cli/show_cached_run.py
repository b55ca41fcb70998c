"""`unmask run DIR WORD --cache POLICY`: which reads of a cached run are stale, and which decisions they change."""

from typing import TYPE_CHECKING

from unmask.cli.terminal import console, literal, print_document
from unmask.errors import UnmaskError

if TYPE_CHECKING:
    from unmask.reasoners.cached_run import CachedRun
    from unmask.weights.model import Model

SHOWN = 5


def show_cached_run(
    model: "Model", word: str, cache: str, *, block: int | None, order: str | None, work: str | None, as_json: bool
) -> int:
    """Print the run of one word, and return the exit code: 0 accepted, 1 rejected, 2 without an answer."""
    from unmask.export.export_task import slot_order, work_slots
    from unmask.reasoners.cached_run import CachePolicy, CanvasLayout, cached_run, longest_interval
    from unmask.reasoners.typed_words import read_word

    policy, tokens = CachePolicy.parse(cache), read_word(model, word)
    arranged = None if order is None else slot_order(model, order)
    layout = CanvasLayout.of(model, order=arranged, block=block, work=[*work_slots(model, order), *_slots(work)])
    run = cached_run(model, tokens, policy, layout)
    longest = longest_interval(model, tokens, policy, layout)
    if as_json:
        print_document({**run.to_json(), "longest_lossless_interval": longest})
    else:
        _show(run, longest)
    return {True: 0, False: 1, None: 2}[run.accepted]


def _slots(text: str | None) -> list[int]:
    parts = [] if text is None else text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() and len(part) < 9 for part in parts):
        raise UnmaskError(f"--work {text!r} is not a list of slots; give numbers such as 8,9,10,11")
    return [int(part) for part in parts]


def _show(run: "CachedRun", longest: int | None) -> None:
    out, model = console(), run.model
    for number, tokens in enumerate(run.canvas, start=1):
        symbols = ("·" if symbol == model.mask else symbol for symbol in model.symbols(tokens.tolist()))
        out.print(literal(f"pass {number:>2} {' '.join(symbols)}"))
    answer = {True: "accepted", False: "rejected", None: "undecided"}[run.accepted]
    passes = f"{len(run.canvas)} pass{'' if len(run.canvas) == 1 else 'es'}"
    out.print(literal(f"{answer} after {passes} with the cache {run.policy}"))
    if run.stale_reads:
        read = run.stale_reads[0]
        out.print(
            literal(
                f"first of {len(run.stale_reads)} stale reads: pass {read.step + 1}, {read.transformer}, layer "
                f"{read.layer}, head {read.head}: row {read.row} reads row {read.source}, register {read.register}"
            )
        )
    for change in run.changed[:SHOWN]:
        out.print(
            literal(
                f"changed decision: pass {change.step + 1}, slot {change.slot}: {change.got} instead of "
                f"{change.expected}"
            )
        )
    if len(run.changed) > SHOWN:
        out.print(f"and {len(run.changed) - SHOWN} more")
    if run.lossless:
        out.print("lossless: every decision is that of a pass without a cache")
    if longest is not None:
        often = "every pass" if longest == 1 else f"at least every {longest} passes"
        out.print(f"on this word the cache is lossless if all rows are computed anew in {often}")
