"""Certificate of an induction × model → checked: the model gives the automaton's answer on every word of its length.

For every variable v over the letters i … j-1 the certificate lists pairs, and claims

    (value of v, the map of w_i … w_{j-1} on the automaton's states)  ∈  pairs of v        for every word w

This module checks that the letters are those that the model and the automaton read, that the pairs of every table are
exactly those that follow from the pairs of its parents, and that the answer is the automaton's in every pair. `answer`
runs the model over variables, so that every entry of every table is compared with the weights. Nothing of the prover is
trusted. Only one form of a certificate is valid: lists are in order, nothing occurs twice, and everything is needed. So
a certificate that is changed in any place is refused.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from unmask.checker import certificate as form
from unmask.checker.certificate import Map, Refused, need, read_induction
from unmask.checker.checked_tables import (
    Cuts,
    LabelTable,
    Token,
    TransformerTables,
    VariableNetwork,
    labels_by_value,
    network_of,
)
from unmask.weights.model import Model
from unmask.weights.storage import content_hash

# The loops of the six kinds of model, over variables: after every step, a variable determines the symbol of each slot.
#
#     steps[t][slot]   the variable that determines the slot's symbol after step t, None if the symbol is constant
#
# The symbol for each value of the variable is computed here; it is refused if the value does not determine it.


Steps = Sequence[Sequence[int | None]]
MOST_LAYERS = 1 << 20


def answer(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    """Run the model over variables; return the last slot after all steps: (label table, the symbol of each label)."""
    loops = {"plt": _looped, "cot": _chain, "pcot": _chain}
    last = loops.get(model.kind, _diffusion)(model, network, steps, cuts)
    need(not cuts, "a cut is listed that is never reached")
    return last


def _looped(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    _check_step_count(steps, 0)
    transformer = model.transformers["model"]
    first, last = transformer.loop or (0, 0)
    tokens = _input_tokens(model, network) + _constant_tokens(model, network, model.pad, model.padding)
    ends = range(last - 1, first + (last - first) * model.steps, last - first) if first < last else ()
    need(len(cuts) >= len(ends) * len(tokens), "a row is cut to no variable after an iteration of the loop")
    need(len(ends) * (last - first) <= MOST_LAYERS, f"the loop has more than {MOST_LAYERS:,} layers when unrolled")
    layers = [*range(first), *[*range(first, last)] * len(ends), *range(last, len(transformer.layers))]
    targets = range(len(tokens) - model.answer_rows, len(tokens))
    labels, logits = TransformerTables(model, "model", network, ends).logits(tokens, layers, targets, cuts)[
        len(tokens) - 1
    ]
    return labels, logits.argmax(axis=1)


def _chain(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    tables, block = TransformerTables(model, "model", network), model.block or 0
    tokens, layers = _input_tokens(model, network), range(len(model.transformers["model"].layers))
    _check_step_count(steps, model.steps)
    for claimed in steps:
        row_tokens = tokens + _constant_tokens(model, network, model.mask, block)
        targets = range(len(row_tokens) - (block or 1), len(row_tokens))
        logits = tables.logits(row_tokens, layers, targets, cuts)
        need(len(claimed) == len(targets), "a step lists another number of slots than the model has")
        for k, v in zip(targets, claimed, strict=True):
            labels, row = logits[k]
            tokens.append(_replaced_by_variable(network, [(labels, row.argmax(axis=1))], lambda symbol: symbol, v))
    return tokens[-1]


def _diffusion(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    mask, first = model.token[model.mask or ""], (model.begin is not None) + model.length
    canvas, slots = _constant_tokens(model, network, model.mask, model.padding), range(first, first + model.padding)
    for t, claimed in enumerate(steps):
        taken, symbols = _chosen(model, network, _input_tokens(model, network) + canvas, slots, cuts, mask)
        before, canvas = canvas, []
        need(len(claimed) == len(slots), "a step lists another number of slots than the model has")
        for k, old, v in zip(slots, before, claimed, strict=True):
            sources = [taken[k], symbols[k], old] if k in symbols else [old]
            if model.kind == "smdm" and k in symbols:
                _, (taken_cases, old_symbols) = network.joint([_label_table(taken[k]), _label_table(old)])
                if (taken_cases & (old_symbols != mask)).any():
                    raise Refused(f"step {t}: the planner may overwrite the symbol in row {k}")
            canvas.append(_replaced_by_variable(network, sources, _overwritten, v))
        pairs = zip(before, canvas, strict=True)
        if t and all(old[0].variables == new[0].variables and np.array_equal(old[1], new[1]) for old, new in pairs):
            _check_step_count(steps, min(t + 1, model.steps))
            return canvas[-1]  # nothing changed, so nothing will
    _check_step_count(steps, model.steps)
    return canvas[-1]


def _overwritten(*symbols: np.ndarray) -> np.ndarray:
    """Return the new symbol where the slot is taken; of a slot that is never taken, only the old symbol is passed."""
    return symbols[0] if len(symbols) == 1 else np.where(*symbols)


def _check_step_count(steps: Steps, expected: int) -> None:
    need(len(steps) == expected, f"{expected} steps should be listed, the certificate has {len(steps)}")


def _chosen(
    model: Model, network: VariableNetwork, tokens: list[Token], slots: range, cuts: Cuts, mask: int
) -> tuple[dict, dict]:
    """Return (per row, whether it is taken; per row that is taken in some case, its symbol)."""
    name = "model" if model.kind == "topk" else "predictor"
    layers = {n: range(len(transformer.layers)) for n, transformer in model.transformers.items()}
    if model.kind == "topk":
        if model.k is not None:
            raise Refused("the checker does not support models that write a fixed number of slots per step")
        logits = TransformerTables(model, name, network).logits(tokens, layers[name], slots, cuts)
        largest = {k: np.delete(row, mask, axis=1).max(axis=1) for k, (_, row) in logits.items()}
        taken = {k: (labels, largest[k] > -model.precision.bound) for k, (labels, _) in logits.items()}
    else:
        planned = TransformerTables(model, "planner", network).logits(tokens, layers["planner"], slots, cuts)
        taken = {k: (labels, row.argmax(axis=1) == 1) for k, (labels, row) in planned.items()}
        targets = [k for k in slots if taken[k][1].any()]
        logits = TransformerTables(model, name, network).logits(tokens, layers[name], targets, cuts)
    unmasked = [s for s in range(len(model.vocabulary)) if s != mask]
    return taken, {
        k: (labels, np.array(unmasked)[row[:, unmasked].argmax(axis=1)]) for k, (labels, row) in logits.items()
    }


def _input_tokens(model: Model, network: VariableNetwork) -> list[Token]:
    symbols = np.array([model.token[s] for s in model.input_symbols], dtype=np.int64)
    return _constant_tokens(model, network, model.begin, 1) + [
        (network.single(i), symbols) for i in range(model.length)
    ]


def _constant_tokens(model: Model, network: VariableNetwork, symbol: str | None, count: int) -> list[Token]:
    return [] if symbol is None else [(network.single(None), np.array([model.token[symbol]]))] * count


def _label_table(token: Token) -> LabelTable:
    labels, symbols = token
    return labels.relabeled(symbols)


def _replaced_by_variable(network: VariableNetwork, tokens: Sequence[Token], symbol: Callable, v: int | None) -> Token:
    """Return the symbol that these tokens determine as a table over variable v; refuse if v does not determine it."""
    _, labels = network.joint_with(v, [_label_table(token) for token in tokens])
    return network.single(v), labels_by_value(labels[-1], symbol(*labels[:-1]), network, v)


MOST_COMBINATIONS = 1 << 22

Pairs = list[tuple[int, Map]]


class CheckedAutomaton:
    """The automaton of the certificate, with which the model is compared; state 0 is the start."""

    def __init__(self, claimed: form.ClaimedAutomaton, model: Model) -> None:
        self.states, self.accepting = len(claimed.delta), claimed.accepting
        maps, reached = form.letter_maps(claimed.delta), {0}
        for _ in range(model.length):
            reached = {q for state in reached for q in claimed.delta[state]}
        has_answer = [accepts is not None for accepts in self.accepting]
        need(
            has_answer == [q in reached for q in range(self.states)],
            "accepting does not fit the states in which words end",
        )
        one_kind = (claimed.tokens is None) != (claimed.characters is None)
        need(one_kind, "the automaton reads neither tokens nor characters, or both")
        self.letters = self._letters(claimed, maps, model)
        """(number of the model's input symbol, map) of every letter."""

    def _letters(self, claimed: form.ClaimedAutomaton, maps: list[Map], model: Model) -> set[tuple[int, Map]]:
        numbers, ranges = {symbol: i for i, symbol in enumerate(model.input_symbols)}, claimed.characters
        if ranges is not None:
            if model.characters is None or not model.length:
                raise Refused("the automaton reads characters, but the model does not")
            need(all(a[2] != b[2] for a, b in pairwise(ranges)), "neighbouring ranges of characters are one letter")
            in_order = [*dict.fromkeys(k for *_, k in ranges)] == [*range(len(maps))]
            need(in_order and len({*maps}) == len(maps), "letters are not in order of occurrence, or equal")
            return form.letters_of_characters(ranges, model.characters, maps, numbers)
        if not model.length:
            need(not claimed.tokens and not maps and self.states == 1, "for N = 0 there are letters or several states")
            return set()
        need(model.characters is None, "the model reads characters, but the automaton does not")
        return form.letters_of_tokens(claimed.tokens or [], maps, numbers)


class Induction:
    """The pairs of the variables that are checked so far, which are the letters at first."""

    def __init__(self, letters: Pairs, length: int, states: int) -> None:
        self._letters = letters
        self._word_maps: list[set[Map]] = [{tuple(range(states))}]
        self._claims: dict[int, tuple[int, int, Pairs]] = {v: (v, v + 1, letters) for v in range(length)}
        self._products: dict[tuple[Map, Map], Map] = {}

    def check_variable(self, v: int, claimed: form.ClaimedVariable, table: np.ndarray, images: list[Map]) -> int:
        """Check the pairs of variable v, whose parents are checked already; return the number of pairs."""
        parents, name = claimed.parents, f"variable {v}"
        interval = self._interval(parents)
        if claimed.pairs is None or interval is None:
            has_none = claimed.pairs is None and claimed.interval is None
            factors, _ = ([], None) if interval is None else self._factors(parents, *interval)
            may_have_none = interval is None or prod(map(len, factors)) > MOST_COMBINATIONS
            need(has_none and may_have_none, f"{name} lists pairs where it must not, or lists none where it must")
            return 0
        need(claimed.interval == interval, f"the interval of {name} is not {interval[0]} to {interval[1]}")
        expected = {(int(table[values]), image) for values, image in self.over(parents, *interval, name)}
        pairs = with_maps(claimed.pairs, images, name)
        need(expected == {*pairs}, f"the pairs of {name} are not those that follow from the pairs of its parents")
        self._claims[v] = *interval, pairs
        return len(pairs)

    def _interval(self, parents: Sequence[int]) -> tuple[int, int] | None:
        """Return the interval of letters of these parents; None if two of them depend on one letter."""
        claims = sorted(self._claims[u][:2] for u in parents if u in self._claims)
        disjoint = all(a[1] <= b[0] for a, b in pairwise(claims))
        return (claims[0][0], claims[-1][1]) if disjoint and len(claims) == len(parents) else None

    def _factors(self, parents: Sequence[int], first: int, last: int) -> tuple[list[Pairs], dict[int, int]]:
        """Return (pairs of the parents in order and of all words between them; the index of each parent in it)."""
        position, factors, index = first, [], {}
        for u in sorted(parents, key=lambda u: self._claims[u][0]):
            start, end, pairs = self._claims[u]
            factors += [self._maps_of_length(start - position), pairs]
            position, index[u] = end, len(factors) - 1
        return [*factors, self._maps_of_length(last - position)], index

    def over(self, parents: Sequence[int], first: int, last: int, name: str) -> Iterable[tuple[tuple[int, ...], Map]]:
        """Yield (values of the parents, map of the letters first … last - 1) for every combination of their pairs."""
        need(not parents or self._interval(parents) is not None, f"{name} reads one letter twice")
        factors, index = self._factors(parents, first, last)
        need(prod(map(len, factors)) <= MOST_COMBINATIONS, f"{name} has too many combinations of pairs")
        for combination in product(*factors):
            image = combination[0][1]
            for _, next_image in combination[1:]:
                image = self._composed(image, next_image)
            yield tuple(combination[index[u]][0] for u in parents), image

    def _maps_of_length(self, length: int) -> Pairs:
        """Return the maps of all words of a length, each with the value 0."""
        while len(self._word_maps) <= length:
            maps = self._word_maps[-1]
            need(len(maps) <= MOST_COMBINATIONS >> 4, "words of one length have too many maps of the states")
            self._word_maps.append({self._composed(f, g) for f in maps for _, g in self._letters})
        return [(0, image) for image in self._word_maps[length]]

    def _composed(self, first: Map, then: Map) -> Map:
        if (first, then) not in self._products:
            self._products[first, then] = tuple(then[q] for q in first)
        return self._products[first, then]


def with_maps(pairs: list[form.Pair], images: list[Map], name: str) -> Pairs:
    """Return the pairs with maps in place of their numbers; refuse pairs that are not in order or name no element."""
    need(pairs == sorted({*pairs}), f"the pairs of {name} are not in order, or one is listed twice")
    need(all(element < len(images) for _, element in pairs), f"{name} has a pair with an element that is not listed")
    return [(value, images[element]) for value, element in pairs]


def check(document: Any, model: Model, tick: Callable[[], None] = lambda: None) -> str:
    """Return a description of what was checked, or raise Refused; `tick` is called regularly and may stop the check."""
    claimed = read_induction(document)
    need(claimed.model == content_hash(model), "the certificate is about other weights: the hashes differ")
    automaton, variables = CheckedAutomaton(claimed.automaton, model), claimed.variables
    images = [tuple(word_map) for word_map in claimed.elements]
    used = {element for pairs in (claimed.letters, *(v.pairs or () for v in variables)) for _, element in pairs}
    need(images == sorted({*images}), "elements are not in order, or one is listed twice")
    need(used == {*range(len(images))}, "an element is not used, or used but not listed")
    letters = with_maps(claimed.letters, images, "a letter")
    need({*letters} == automaton.letters, "the listed letters are not those that the model and the automaton read")
    network = network_of(len(model.input_symbols), model.length, [(v.parents, v.table) for v in variables], tick)
    network.check_use({v for step in (*claimed.steps, [cut[3] for cut in claimed.cuts]) for v in step if v is not None})
    induction, count = Induction(letters, model.length, automaton.states), model.length * len(letters)
    for v, variable in enumerate(variables, start=model.length):
        tick()
        count += induction.check_variable(v, variable, network.table(v), images)
    cuts = {(scores, u, k): v for scores, u, k, v in claimed.cuts}
    need([cut[:3] for cut in claimed.cuts] == sorted(cuts), "cuts are not in order, or one is listed twice")
    labels, symbols = answer(model, network, claimed.steps, cuts)
    network.check_compared()
    meaning = {model.token[model.accept]: True, model.token[model.reject]: False}
    alias = {model.token[old]: model.token[new] for old, new in model.aliases.items()}
    for values, word_map in induction.over(labels.variables, 0, model.length, "the answer"):
        symbol, expected = int(symbols[labels.table[values]]), automaton.accepting[word_map[0]]
        actual = meaning.get(alias.get(symbol, symbol))
        need(actual is expected, f"the model says {model.vocabulary[symbol]!r} where the automaton says {expected}")
    return (
        f"checked for every word of length {model.length}: the weights compute the {len(variables)} tables, and "
        f"{count} pairs lead to the answer of the certificate's automaton"
    )
