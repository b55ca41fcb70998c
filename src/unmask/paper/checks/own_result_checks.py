"""Checks of our own results: chains of thought as circuits, parity by masked diffusion, majority by top-k."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from unmask.api import compile_problem, verify_model
from unmask.engines.engine import forward
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision
from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.problems.problem import ACCEPTED, REJECTED
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.run_words import answers, run_batch
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.theorems.cot_to_ac0 import cot_to_ac0, depth_bound
from unmask.theorems.mdm_and_topk import A, majority_by_topk
from unmask.verification.circuits.constant_depth import token_bits
from unmask.verification.model_outcomes import outcomes
from unmask.weights.model import Model


def chains_in_parallel(effort: Effort) -> Evidence:
    """Check circuits of random chains of ⌈log2 N⌉ steps: they agree with the runs, and one bound holds for all N."""
    cases, bounds, seeds = 0, set(), effort.of(8)
    for seed, length in product(range(seeds), (1, 2, 3, 4, 5)):
        steps = max(1, (length - 1).bit_length())
        model = random_model(seed, "cot", length, precision=1, steps=steps, layers=1, width=3)
        circuit, words = cot_to_ac0(model), all_words(model)
        bounds.add(depth_bound(model))
        require(circuit.depth <= depth_bound(model), f"random:{seed} at N = {length} is {circuit.depth} deep")
        outputs = circuit.evaluate(token_bits(words, [model.token[s] for s in model.input_symbols])).tolist()
        spelled = ["".join(model.symbols(word)) for word in words.tolist()]
        for word, actual, outcome in zip(spelled, outputs, outcomes(model, spelled, ReferenceEngine()), strict=True):
            expected = [outcome.error is not None, outcome == REJECTED, outcome == ACCEPTED]
            agree = actual[0] if expected[0] else actual == expected
            require(agree, f"random:{seed} on {word}: the circuit says {actual}, the run {outcome}")
        cases += len(words)
    require(len(bounds) == 1, f"the bound depends on N: {bounds}")
    return Evidence(
        f"{5 * seeds} random chains of ⌈log2 N⌉ steps as circuits, N = 1 … 5, p = 1, seeds 0 … {seeds - 1}, every "
        f"word, depth at most {bounds.pop()} for all N",
        cases,
    )


def depth_without_steps(effort: Effort) -> Evidence:
    """Check circuits of chains of T = 1 … 6 symbols: correct on every word, and below one bound for all T.

    Measured depths may depend on T, because circuits are simplified. Only the bound is claimed.
    """
    cases, longest, seeds = 0, 6 if effort.percent >= 100 else 4, effort.of(10)
    bounds, depths, gates = set(), [], []
    for seed in range(seeds):
        model = random_model(seed, "cot", 4, precision=1, steps=6, layers=1, width=4)
        words = all_words(model)
        chains = [trace.canvas[-1] for trace in run_batch(model, words, engine=ReferenceEngine())]
        bits = token_bits(words, [model.token[s] for s in model.input_symbols])
        bounds.add(depth_bound(model))
        circuits = [cot_to_ac0(model, steps=steps) for steps in range(1, longest + 1)]
        depths.append([circuit.depth for circuit in circuits])
        gates.append([len(circuit.gates) for circuit in circuits])
        for steps, circuit in enumerate(circuits, start=1):
            require(circuit.depth <= depth_bound(model), f"random:{seed}, T = {steps}: {circuit.depth} deep")
            for actual, chain in zip(circuit.evaluate(bits).tolist(), chains, strict=True):
                last = model.vocabulary[chain[steps - 1]]
                expected = [False, last == model.reject, last == model.accept]
                require(actual == expected, f"random:{seed}, T = {steps}: the circuit says {actual}, the chain {last}")
                cases += 1
    require(len(bounds) == 1, f"the bound depends on the model: {bounds}")
    deepest = ", ".join(str(max(row[t] for row in depths)) for t in range(longest))
    largest = ", ".join(str(max(row[t] for row in gates)) for t in range(longest))
    return Evidence(
        f"{seeds} random chains as circuits, seeds 0 … {seeds - 1}, N = 4, p = 1, every word: depth at most "
        f"{bounds.pop()} for every T; deepest measured for T = 1 … {longest}: {deepest}; most gates: {largest}",
        cases,
    )


def chains_in_groups(effort: Effort) -> Evidence:
    """Check circuits that guess one, two or three symbols of a chain at once, on every word and against their bound."""
    cases, seeds, deepest = 0, effort.of(6), {}
    for seed in range(seeds):
        model = random_model(seed, "cot", 4, precision=1, steps=6, layers=1, width=4)
        words = all_words(model)
        last_tokens = [trace.canvas[-1][-1] for trace in run_batch(model, words, engine=ReferenceEngine())]
        bits = token_bits(words, [model.token[s] for s in model.input_symbols])
        for together in (1, 2, 3):
            circuit = cot_to_ac0(model, together=together)
            bound = depth_bound(model, model.steps // together)
            require(circuit.depth <= bound, f"random:{seed} in groups of {together} is {circuit.depth} deep")
            deepest[together] = max(deepest.get(together, 0), circuit.depth)
            for actual, token in zip(circuit.evaluate(bits).tolist(), last_tokens, strict=True):
                last = model.vocabulary[token]
                expected = [False, last == model.reject, last == model.accept]
                case = f"random:{seed} in groups of {together}"
                require(actual == expected, f"{case}: {actual}, the chain ends with {last}")
                cases += 1
    return Evidence(
        f"{seeds} random chains of 6 symbols as circuits that guess 1, 2 or 3 symbols at once, seeds 0 … {seeds - 1}, "
        f"N = 4, p = 1, every word; deepest: {', '.join(map(str, deepest.values()))}",
        cases,
    )


def parity_by_diffusion(effort: Effort) -> Evidence:
    """Prove for every word of a length that parity takes ⌈log2 N⌉ steps with N - 1 slots."""
    lengths = (2, 3, 8, 16) if effort.percent >= 100 else (2, 3)
    for length in lengths:
        model = compile_problem("group:Z2", "mdm", length=length)
        require(model.steps == (length - 1).bit_length(), f"parity takes {model.steps} steps at N = {length}")
        require(model.padding == length - 1, f"parity takes {model.padding} slots at N = {length}")
        verdict = verify_model(model, method="prove")
        require(verdict.status == "proved", f"parity at N = {length} is {verdict.status}")
    return Evidence(f"parity as mdm in ⌈log2 N⌉ steps, proved for N = {', '.join(map(str, lengths))}", len(lengths))


def majority(effort: Effort) -> Evidence:
    """Check majority on every word of N = 1 … 8, for p = 2, 3; with k = 1 or k = N some word must be wrong."""
    cases, longest = 0, 8 if effort.percent >= 100 else 4
    for precision, length in product((2, 3), range(1, longest + 1)):
        model = majority_by_topk(length, Precision(precision))
        words = np.array(list(product((A, A + 1), repeat=length)))
        expected = words.sum(axis=1) > length // 2
        for k in {model.k, 1, length}:
            actual = answers(replace(model, k=k), words, engine=FastEngine()).accepted == 1
            agree = np.array_equal(actual, expected)
            result = "right" if agree else "wrong"
            require(agree == (k == model.k), f"with k = {k}, majority of {length} letters is {result}")
        cases += len(words)
    model = majority_by_topk(4, Precision(2))
    all_of_length_4 = product((A, A + 1), repeat=4)
    differ = [word for word in all_of_length_4 if _last_symbol(model, word, 1) != _last_symbol(model, word, -1)]
    require(differ == [(A,) * 4], f"with ties for the highest slot, {len(differ)} words of N = 4 end otherwise")
    return Evidence(
        f"every word of N = 1 … {longest}, p = 2, 3, against counting; wrong with k = 1 or N; if the highest slot wins "
        "ties, one word of 16 gets another answer at N = 4",
        cases,
    )


def _last_symbol(model: Model, word: Sequence[int], direction: int) -> int:
    """Return the last symbol, with ties between slots going to the lowest (1) or to the highest (-1)."""
    mask = model.token[model.mask or ""]
    frame = RunSetup(model, np.array([word]), ReferenceEngine())
    session = frame.session("model")
    canvas = np.full((1, model.padding), mask)
    for _ in range(model.steps):
        stream = forward(session, model.transformers["model"], frame.before(canvas))
        logits = session.logits(stream[:, frame.first_row :])
        confidences = confidence(logits, model.precision, without=mask)[0]
        chosen = np.lexsort((direction * np.arange(model.padding), -confidences))[: model.k]
        canvas[0, chosen] = decode(logits, model.precision, without=mask)[0, chosen]
    return int(canvas[0, -1])
