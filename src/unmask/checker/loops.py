"""The loops of the six kinds of model, over variables: every slot, after every step, is a variable of the certificate.

    steps[t][slot]   the variable that the slot's symbol follows from after step t, None if it is always the same

What each of its values stands for is computed here, and refused if it does not follow from the value.
"""

from collections.abc import Callable, Sequence

import numpy as np

from unmask.checker.certificate import Refused, need
from unmask.checker.network import Network, Part
from unmask.checker.tables import Cuts, Run, Token, confirmed
from unmask.weights.model import Model

Steps = Sequence[Sequence[int | None]]
MOST_LAYERS = 1 << 20


def answer(model: Model, network: Network, steps: Steps, cuts: Cuts) -> Token:
    """The last slot after all steps: (part, the symbol of each label). Every row of a loop that answers is computed."""
    loops = {"plt": _looped, "cot": _chain, "pcot": _chain}
    last = loops.get(model.kind, _diffusion)(model, network, steps, cuts)
    need(not cuts, "a row is cut where none should be")
    return last


def _looped(model: Model, network: Network, steps: Steps, cuts: Cuts) -> Token:
    _count(steps, 0)
    transformer = model.transformers["model"]
    first, last = transformer.loop or (0, 0)
    tokens = _input(model, network) + _copies(model, network, model.pad, model.padding)
    ends = range(last - 1, first + (last - first) * model.steps, last - first) if first < last else ()
    need(len(cuts) >= len(ends) * len(tokens), "a row is cut to no variable after a turn of the loop")
    need(len(ends) * (last - first) <= MOST_LAYERS, f"the loop has more than {MOST_LAYERS:,} layers when unrolled")
    layers = [*range(first), *[*range(first, last)] * len(ends), *range(last, len(transformer.layers))]
    asked = range(len(tokens) - model.answer_rows, len(tokens))
    part, logits = Run(model, "model", network, ends).logits(tokens, layers, asked, cuts)[len(tokens) - 1]
    return part, logits.argmax(axis=1)


def _chain(model: Model, network: Network, steps: Steps, cuts: Cuts) -> Token:
    run, block = Run(model, "model", network), model.block or 0
    tokens, layers = _input(model, network), range(len(model.transformers["model"].layers))
    _count(steps, model.steps)
    for claimed in steps:
        read = tokens + _copies(model, network, model.mask, block)
        asked = range(len(read) - (block or 1), len(read))
        logits = run.logits(read, layers, asked, cuts)
        need(len(claimed) == len(asked), "a step has another number of slots than the model")
        for k, v in zip(asked, claimed, strict=True):
            part, row = logits[k]
            tokens.append(_cut(network, [(part, row.argmax(axis=1))], lambda symbol: symbol, v))
    return tokens[-1]


def _diffusion(model: Model, network: Network, steps: Steps, cuts: Cuts) -> Token:
    mask, first = model.token[model.mask or ""], (model.begin is not None) + model.length
    canvas, slots = _copies(model, network, model.mask, model.padding), range(first, first + model.padding)
    for t, claimed in enumerate(steps):
        taken, symbols = _chosen(model, network, _input(model, network) + canvas, slots, cuts, mask)
        before, canvas = canvas, []
        need(len(claimed) == len(slots), "a step has another number of slots than the model")
        for k, old, v in zip(slots, before, claimed, strict=True):
            parts = [taken[k], symbols[k], old] if k in symbols else [old]
            if model.kind == "smdm" and k in symbols:
                _, (take, held) = network.joint([_labelled(taken[k]), _labelled(old)])
                if (take & (held != mask)).any():
                    raise Refused(f"step {t}: the planner may overwrite the symbol in row {k}")
            canvas.append(_cut(network, parts, _overwritten, v))
        pairs = zip(before, canvas, strict=True)
        if t and all(old[0].variables == new[0].variables and np.array_equal(old[1], new[1]) for old, new in pairs):
            _count(steps, min(t + 1, model.steps))
            return canvas[-1]  # nothing changed, so nothing will
    _count(steps, model.steps)
    return canvas[-1]


def _overwritten(*symbols: np.ndarray) -> np.ndarray:
    """(taken?, new, old), or the old symbol alone where the slot is never taken."""
    return symbols[0] if len(symbols) == 1 else np.where(*symbols)


def _count(steps: Steps, expected: int) -> None:
    need(len(steps) == expected, f"{expected} steps should be listed, the certificate has {len(steps)}")


def _chosen(
    model: Model, network: Network, tokens: list[Token], slots: range, cuts: Cuts, mask: int
) -> tuple[dict, dict]:
    """(per row, is it taken; per row that is taken in some case, the symbol)."""
    name = "model" if model.kind == "topk" else "predictor"
    layers = {n: range(len(transformer.layers)) for n, transformer in model.transformers.items()}
    if model.kind == "topk":
        if model.k is not None:
            raise Refused("the checker does not support models that write a fixed number of slots per step")
        logits = Run(model, name, network).logits(tokens, layers[name], slots, cuts)
        sure = {k: np.delete(row, mask, axis=1).max(axis=1) for k, (_, row) in logits.items()}
        taken = {k: (part, sure[k] > -model.precision.bound) for k, (part, _) in logits.items()}
    else:
        planned = Run(model, "planner", network).logits(tokens, layers["planner"], slots, cuts)
        taken = {k: (part, row.argmax(axis=1) == 1) for k, (part, row) in planned.items()}
        asked = [k for k in slots if taken[k][1].any()]
        logits = Run(model, name, network).logits(tokens, layers[name], asked, cuts)
    without = [s for s in range(len(model.vocabulary)) if s != mask]
    return taken, {k: (p, np.array(without)[row[:, without].argmax(axis=1)]) for k, (p, row) in logits.items()}


def _input(model: Model, network: Network) -> list[Token]:
    symbols = np.array([model.token[s] for s in model.input_symbols], dtype=np.int64)
    return _copies(model, network, model.begin, 1) + [(network.alone(place), symbols) for place in range(model.length)]


def _copies(model: Model, network: Network, symbol: str | None, count: int) -> list[Token]:
    return [] if symbol is None else [(network.alone(None), np.array([model.token[symbol]]))] * count


def _labelled(token: Token) -> Part:
    part, labels = token
    return Part(part.variables, labels[part.table]).reduced()


def _cut(network: Network, tokens: Sequence[Token], symbol: Callable, v: int | None) -> Token:
    """What follows from some tokens, as a table of variable v alone."""
    _, labels = network.joint_with(v, [_labelled(token) for token in tokens])
    return network.alone(v), confirmed(labels[-1], symbol(*labels[:-1]), network, v)
