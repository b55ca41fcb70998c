"""Chain of thought, one symbol at a time or a block at a time (kinds cot, pcot).

    cot:   y_t = the last row's symbol after reading  w · y_1 … y_{t-1}                        T steps
    pcot:  the P' symbols of the last P' rows after reading  w · y_1 … y_{t-1} · m^{P'}        T steps

Both are causal; positions and N do not change while the string grows.
"""

from collections.abc import Iterator

from unmask.reasoners.medium import Choice, Logits, Medium, Residual, Symbols, Tokens


def chain_of_thought(medium: Medium[Tokens, Logits, Symbols, Choice, Residual]) -> Iterator[Tokens]:
    """After every step, all symbols generated so far; the last P' (or the last one) are new."""
    model = medium.model
    masks = medium.copies(model.mask, model.block or 0)
    generated = medium.copies(None, 0)
    for step in range(model.steps):
        logits = medium.read(step, "model", medium.joined(generated, masks), model.block or 1)
        generated = medium.joined(generated, medium.written(medium.decode(logits)))
        yield generated
