"""CoT[O(log N)] ⊆ AC0 at fixed precision: a circuit that checks all chains of thought (for thm:cot-mdm-separation).

Statement:    a chain of thought with T steps is decided by a circuit whose depth depends neither on N nor on T. Its
              size is |Σ|^T times that of a forward pass: for T = ⌈log2 N⌉ at most |Σ|·N^(log2 |Σ|) passes. Parity is
              not in AC0 (cited: L1145), so no chain of O(log N) steps decides it. Masked diffusion decides it in
              ⌈log2 N⌉ steps with N - 1 slots. This separates the classes without a conjecture. Not a statement of the
              paper, which cites that such chains are within TC0 and assumes that TC0 is not NC1 (L964, L965).
Construction: guess the chain and check all its steps at once. For each string c of T symbols and each t there is one
              forward pass over w·c_1…c_(t-1), in which only w varies (`verification.circuits.constant_depth`). Then
                  consistent(c) = AND_t [step t decodes to c_t]        accepted = OR_c consistent(c) ∧ [c_T = 1]
              Exactly one chain is consistent: the one that the model writes. Chains with a common prefix share its
              passes, and a prefix that no input leads to is not extended.
              With `together` = g, only g symbols are guessed at once. An OR over the consistent guesses gives the wires
              of these symbols, and the next g symbols are guessed from them. This takes fewer passes, and the groups
              follow one another.
Bounds:       depth at most 5 more than that of one pass (`pass_depth`), a formula in p and the number of layers; at
              most 1 + |Σ| + … + |Σ|^(T-1) passes. In groups: ⌈T/g⌉·(depth of one pass + 2) + 3, with at most
              ⌈T/g⌉·(1 + |Σ| + … + |Σ|^(g-1)) passes. For T = c·log2 N and g = ε·log2 N / log2 |Σ| the depth is still a
              constant, and there are O(N^ε) passes, for all c and Σ.
Exactness:    on every word: `accepted` and `rejected` are the answer of the model, and `undefined` holds if and only if
              the model divides by zero.
Deviations:   the paper has no such construction. At logarithmic precision it would give TC0.
"""

from collections.abc import Iterator

from unmask.errors import TooLarge, UnmaskError
from unmask.problems.circuits.circuit import FALSE, Circuit, CircuitBuilder, trimmed
from unmask.verification.circuits.constant_depth import WiredTransformer, pass_depth, token_inputs
from unmask.verification.circuits.one_hot import OneHotWires, argmax_wires, constant_wires, or_of_causes
from unmask.weights.model import Model

MOST_CHAINS = 20_000
TOKENS, CHECKS, CHOICE, ANSWER = 2, 1, 1, 1


def depth_bound(model: Model, groups: int = 1) -> int:
    """Return an upper bound on the depth of the circuit; it depends neither on N nor on T.

    It is the depth of the tokens plus, for each group, a pass, an AND over its steps and an OR over its guesses.
    """
    one_pass = pass_depth(model.precision, len(model.transformers["model"].layers))
    return TOKENS + groups * (one_pass + CHECKS + CHOICE) + ANSWER


def cot_to_ac0(model: Model, *, steps: int | None = None, together: int | None = None) -> Circuit:
    """Return the circuit of a chain of thought, with the outputs `undefined`, `rejected` and `accepted`.

    With `steps`, the chain ends after this number of symbols, and the last one is the answer. With `together`, it
    guesses this number of symbols at once, not all of them.
    """
    steps = model.steps if steps is None else steps
    together = steps if together is None else together
    if model.kind != "cot":
        raise UnmaskError(f"cot_to_ac0 takes a model of kind cot, not {model.kind}; convert it first")
    if len(model.vocabulary) ** together > MOST_CHAINS:
        raise TooLarge(
            f"there are {len(model.vocabulary)}^{together} chains of thought, more than {MOST_CHAINS:,}, and "
            "the construction tries all of them; use a model with fewer steps, about log N"
        )
    tokens = [model.token[s] for s in model.input_symbols]
    builder, word = token_inputs(model.length, tokens)
    begin = [] if model.begin is None else [constant_wires(model.token[model.begin])]
    prefix = begin + word
    for _ in range(0, steps - together, together):
        prefix += _written(builder, list(_chains(model, builder, prefix, together, (), ())))
    remaining = steps - (len(prefix) - len(begin) - model.length)
    ends: dict[str, list[int]] = {"undefined": [FALSE], "rejected": [FALSE], "accepted": [FALSE]}
    for chain, checks, undefined in _chains(model, builder, prefix, remaining, (), ()):
        ends["undefined"].append(builder.and_(undefined, *checks))
        answer = model.plain([model.vocabulary[chain[-1]]])[0]
        for name, symbol in (("rejected", model.reject), ("accepted", model.accept)):
            if answer == symbol:
                ends[name].append(builder.and_(*checks))
    outputs = {name: builder.or_(*causes) for name, causes in ends.items()}
    return trimmed(builder.circuit(list(outputs.values()), list(outputs)))


def _written(builder: CircuitBuilder, guesses: list[tuple[tuple[int, ...], tuple[int, ...], int]]) -> list[OneHotWires]:
    """Return the wires of the symbols of the only consistent guess."""
    symbols: list[dict[int, list[int]]] = [{} for _ in guesses[0][0]]
    for chain, checks, _ in guesses:
        consistent = builder.and_(*checks)
        for causes, token in zip(symbols, chain, strict=True):
            causes.setdefault(token, []).append(consistent)
    return [or_of_causes(builder, causes) for causes in symbols]


def _chains(
    model: Model,
    builder: CircuitBuilder,
    prefix: list[OneHotWires],
    steps: int,
    chain: tuple[int, ...],
    checks: tuple[int, ...],
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Yield (chain, the wires that must be 1 for the model to write it, [its run divides by zero])."""
    wired = WiredTransformer(builder, model.transformers["model"])
    residual = wired.embed([*prefix, *(constant_wires(token) for token in chain)])
    residual = wired.layers(residual, 0, len(wired.transformer.layers))
    for token, wire in argmax_wires(builder, wired.logits(residual[-1])).items():
        if len(chain) + 1 < steps:
            yield from _chains(model, builder, prefix, steps, (*chain, token), (*checks, wire))
        else:
            yield (*chain, token), (*checks, wire), wired.undefined
