"""Model → circuit whose depth is at most a constant times T: one forward pass after the other, wired together.

    kind            one step                                                             depth of T steps at most
    mdm, smdm       planner and predictor side by side, then a choice per slot           T·(pass + 2)
    topk, k = null  one pass, then a choice per slot by its largest logit                T·(pass + 3)
    plt             one loop of the layers [l1, l2)                                      T·loop + pass
    cot, pcot       one pass over what is written so far                                 T·pass

`pass` is that of pass_depth, a constant for fixed p and number of layers. A topk that counts, with a fixed k, is
refused: no circuit of constant depth counts up to a k that grows.
"""

from unmask.problems.circuits.circuit import FALSE, Circuit, trimmed
from unmask.reasoners.loops import canvases
from unmask.verification.circuits.constant_depth import Sum, pass_depth
from unmask.verification.circuits.medium import Wires
from unmask.verification.circuits.one_hot import OneHotWires
from unmask.verification.circuits.saturating_sum import saturating_sum
from unmask.weights.model import Model


def constant_depth_model(model: Model, *, slots: bool = False, total: Sum = saturating_sum) -> Circuit:
    """What a model does without noise, as a circuit of the outputs `undefined`, `rejected` and `accepted`.

    Inputs as `input_names` gives them, over the input symbols. `undefined` holds if and only if the run ends in an
    error: a row attends to nothing, or the planner of an smdm chooses a written slot. With `slots`, what the slots hold
    in the end comes first: `slot 2 is a`.
    """
    wires = Wires(model, total)
    *_, held = canvases(wires)
    outputs: dict[str, int] = {}
    if slots:
        each = ((i, symbol, slot) for i, slot in enumerate(held) for symbol in model.vocabulary)
        outputs = {f"slot {i} is {symbol}": slot.get(model.token[symbol], FALSE) for i, symbol, slot in each}
    outputs["undefined"] = wires.undefined
    outputs["rejected"], outputs["accepted"] = (_says(wires, held[-1], s) for s in (model.reject, model.accept))
    return trimmed(wires.builder.circuit(list(outputs.values()), list(outputs)))


def model_depth(model: Model) -> int:
    """What the circuit's depth never exceeds: it depends on T, p and the layers alone."""
    layers = max(len(transformer.layers) for transformer in model.transformers.values())
    tokens, answer = 2, 1
    if model.kind == "plt":
        first, last = model.transformers["model"].loop or (0, 0)
        layers = first + model.steps * (last - first) + layers - last
        return tokens + pass_depth(model.precision, layers) + answer
    return tokens + model.steps * (pass_depth(model.precision, layers) + 3) + answer


def _says(wires: Wires, slot: OneHotWires, symbol: str) -> int:
    """The slot holds the symbol, or one that stands for it."""
    model = wires.model
    meant = (t for t in slot if model.aliases.get(model.vocabulary[t], model.vocabulary[t]) == symbol)
    return wires.builder.or_(*(slot[t] for t in meant))
