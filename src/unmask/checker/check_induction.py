"""Certificate of an induction × model → checked: the model decides what the automaton does, on every word.

For every variable v over the letters i … j-1 the certificate lists pairs, and claims

    (value of v, the map of w_i … w_{j-1} on the automaton's states)  ∈  pairs of v        for every word w

Checked here: letters are what the folder and the automaton read for every letter of the automaton; the pairs of a table
are all that the pairs of its parents lead to; the answer is the automaton's in every pair. `loops` compares every entry
of every table with the weights. Nothing of the prover is trusted. A certificate can be written in one way only: lists
in order, nothing twice, nothing that is not needed. So a certificate that is changed in any place is refused.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from unmask.checker import certificate as form
from unmask.checker.certificate import Refused, need, read
from unmask.checker.checked_tables import (
    Cuts,
    LabelTable,
    Token,
    TransformerTables,
    VariableNetwork,
    confirmed,
    network_of,
)
from unmask.weights.model import Model
from unmask.weights.storage import content_hash

# The loops of the six kinds of model, over variables: every slot, after every step, is a variable of the certificate.
#
#     steps[t][slot]   the variable that the slot's symbol follows from after step t, None if it is always the same
#
# What each of its values stands for is computed here, and refused if it does not follow from the value.


Steps = Sequence[Sequence[int | None]]
MOST_LAYERS = 1 << 20


def answer(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    """The last slot after all steps: (part, the symbol of each label). Every row of a loop that answers is computed."""
    loops = {"plt": _looped, "cot": _chain, "pcot": _chain}
    last = loops.get(model.kind, _diffusion)(model, network, steps, cuts)
    need(not cuts, "a row is cut where none should be")
    return last


def _looped(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    _count(steps, 0)
    transformer = model.transformers["model"]
    first, last = transformer.loop or (0, 0)
    tokens = _input(model, network) + _copies(model, network, model.pad, model.padding)
    ends = range(last - 1, first + (last - first) * model.steps, last - first) if first < last else ()
    need(len(cuts) >= len(ends) * len(tokens), "a row is cut to no variable after a turn of the loop")
    need(len(ends) * (last - first) <= MOST_LAYERS, f"the loop has more than {MOST_LAYERS:,} layers when unrolled")
    layers = [*range(first), *[*range(first, last)] * len(ends), *range(last, len(transformer.layers))]
    asked = range(len(tokens) - model.answer_rows, len(tokens))
    part, logits = TransformerTables(model, "model", network, ends).logits(tokens, layers, asked, cuts)[len(tokens) - 1]
    return part, logits.argmax(axis=1)


def _chain(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    run, block = TransformerTables(model, "model", network), model.block or 0
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


def _diffusion(model: Model, network: VariableNetwork, steps: Steps, cuts: Cuts) -> Token:
    mask, first = model.token[model.mask or ""], (model.begin is not None) + model.length
    canvas, slots = _copies(model, network, model.mask, model.padding), range(first, first + model.padding)
    for t, claimed in enumerate(steps):
        taken, symbols = _chosen(model, network, _input(model, network) + canvas, slots, cuts, mask)
        before, canvas = canvas, []
        need(len(claimed) == len(slots), "a step has another number of slots than the model")
        for k, old, v in zip(slots, before, claimed, strict=True):
            parts = [taken[k], symbols[k], old] if k in symbols else [old]
            if model.kind == "smdm" and k in symbols:
                _, (take, kept) = network.joint([_labelled(taken[k]), _labelled(old)])
                if (take & (kept != mask)).any():
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
    model: Model, network: VariableNetwork, tokens: list[Token], slots: range, cuts: Cuts, mask: int
) -> tuple[dict, dict]:
    """(per row, is it taken; per row that is taken in some case, the symbol)."""
    name = "model" if model.kind == "topk" else "predictor"
    layers = {n: range(len(transformer.layers)) for n, transformer in model.transformers.items()}
    if model.kind == "topk":
        if model.k is not None:
            raise Refused("the checker does not support models that write a fixed number of slots per step")
        logits = TransformerTables(model, name, network).logits(tokens, layers[name], slots, cuts)
        sure = {k: np.delete(row, mask, axis=1).max(axis=1) for k, (_, row) in logits.items()}
        taken = {k: (part, sure[k] > -model.precision.bound) for k, (part, _) in logits.items()}
    else:
        planned = TransformerTables(model, "planner", network).logits(tokens, layers["planner"], slots, cuts)
        taken = {k: (part, row.argmax(axis=1) == 1) for k, (part, row) in planned.items()}
        asked = [k for k in slots if taken[k][1].any()]
        logits = TransformerTables(model, name, network).logits(tokens, layers[name], asked, cuts)
    without = [s for s in range(len(model.vocabulary)) if s != mask]
    return taken, {k: (p, np.array(without)[row[:, without].argmax(axis=1)]) for k, (p, row) in logits.items()}


def _input(model: Model, network: VariableNetwork) -> list[Token]:
    symbols = np.array([model.token[s] for s in model.input_symbols], dtype=np.int64)
    return _copies(model, network, model.begin, 1) + [(network.alone(place), symbols) for place in range(model.length)]


def _copies(model: Model, network: VariableNetwork, symbol: str | None, count: int) -> list[Token]:
    return [] if symbol is None else [(network.alone(None), np.array([model.token[symbol]]))] * count


def _labelled(token: Token) -> LabelTable:
    part, labels = token
    return LabelTable(part.variables, labels[part.table]).reduced()


def _cut(network: VariableNetwork, tokens: Sequence[Token], symbol: Callable, v: int | None) -> Token:
    """What follows from some tokens, as a table of variable v alone."""
    _, labels = network.joint_with(v, [_labelled(token) for token in tokens])
    return network.alone(v), confirmed(labels[-1], symbol(*labels[:-1]), network, v)


MOST_COMBINATIONS = 1 << 22
LAST_CODE_POINT = 0x10FFFF

Map = tuple[int, ...]
"""What a word does to the states: state ↦ state."""
Pairs = list[tuple[int, Map]]


class CheckedAutomaton:
    """The automaton that the model is compared with, as the certificate states it; state 0 is the start."""

    def __init__(self, claimed: form.ClaimedAutomaton, model: Model) -> None:
        self.delta, self.accepting, states = claimed.delta, claimed.accepting, range(len(claimed.delta))
        self._model, self._number = model, {symbol: i for i, symbol in enumerate(model.input_symbols)}
        need(len(states) > 0 and len({len(row) for row in self.delta}) == 1, "delta is not a table of states")
        need(all(q in states for row in self.delta for q in row), "delta leads out of the states")
        self.columns = list(zip(*self.delta, strict=True))
        reached = {0}
        for _ in range(model.length):
            reached = {q for state in reached for q in self.delta[state]}
        need(
            [a is not None for a in self.accepting] == [q in reached for q in states],
            "accepting is not as long as delta, or not said of exactly the states that words end in",
        )
        need((claimed.tokens is None) != (claimed.characters is None), "words are made of tokens, or of characters")
        self.letters = self._of_characters(claimed.characters) if claimed.tokens is None else self._of(claimed.tokens)

    def _of(self, tokens: list[str]) -> set[tuple[int, Map]]:
        """(number of the model's input symbol, map) of every letter that a word may have."""
        need(len(tokens) == len(self.columns), "the automaton has not one column for each token")
        if not self._model.length:
            need(not tokens and len(self.delta) == 1, "the empty word has no letters, and leads to one state")
            return set()
        need(self._model.characters is None, "the folder reads characters, the automaton reads symbols")
        need({*tokens} <= {*self._number}, "the folder cannot read a letter of the automaton")
        numbers = [self._number[name] for name in tokens]
        need(all(a < b for a, b in pairwise(numbers)), "tokens are not in the order of the folder's input symbols")
        return {*zip(numbers, self.columns, strict=True)}

    def _of_characters(self, ranges: list[tuple[int, int, int]] | None) -> set[tuple[int, Map]]:
        if ranges is None or self._model.characters is None or not self._model.length:
            raise Refused("the automaton reads characters, but the model does not")
        starts = [0, *(last + 1 for _, last, _ in ranges)]
        need(
            [first for first, _, _ in ranges] == starts[:-1]
            and starts == sorted({*starts})
            and starts[-1] == LAST_CODE_POINT + 1,
            "the automaton's characters are not all code points, in order",
        )
        need(all(a[2] != b[2] for a, b in pairwise(ranges)), "two ranges of characters are one")
        need(
            [*dict.fromkeys(k for *_, k in ranges)] == [*range(len(self.columns))]
            and len({*self.columns}) == len(self.columns),
            "classes of characters are not the automaton's columns, in order and each another",
        )
        edges = {edge for part in (*self._model.characters, *ranges) for edge in (part[0], part[1] + 1)}
        points = {0, *edges} - {LAST_CODE_POINT + 1}
        return {(self._number[_at(self._model.characters, x)], self.columns[_at(ranges, x)]) for x in points}


def _at(ranges: Sequence, point: int):
    """What ranges say of a code point."""
    i = bisect_right(ranges, point, key=lambda part: part[0]) - 1
    need(i >= 0 and point <= ranges[i][1], f"no letter has the character U+{point:04X}")
    return ranges[i][2]


class Induction:
    """Pairs of variables, each checked when it is taken in; the first ones are the letters."""

    def __init__(self, letters: Pairs, length: int, states: int) -> None:
        self._length, self._letter = length, letters
        self._gaps: list[set[Map]] = [{tuple(range(states))}]
        self._claims: dict[int, tuple[int, int, Pairs]] = {v: (v, v + 1, letters) for v in range(length)}
        self._products: dict[tuple[Map, Map], Map] = {}

    def take_in(self, v: int, claimed: form.ClaimedVariable, table: np.ndarray, images: list[Map]) -> int:
        """A table of variables that were taken in before: how many pairs it has."""
        parents, name = claimed.parents, f"variable {v}"
        interval = self._interval(parents)
        if claimed.pairs is None or interval is None:
            none = claimed.pairs is None and claimed.interval is None
            need(
                none and (interval is None or self._count(parents, *interval) > MOST_COMBINATIONS),
                f"{name} has pairs, or none, where it should not",
            )
            return 0
        need(claimed.interval == interval, f"{name} is over the letters {interval[0]} to {interval[1] - 1}")
        found = {(int(table[values]), image) for values, image in self.over(parents, *interval, name)}
        pairs = named(claimed.pairs, images, name)
        need(found == {*pairs}, f"the pairs of {name} are not those that the pairs of its parents lead to")
        self._claims[v] = *interval, pairs
        return len(pairs)

    def _interval(self, parents: Sequence[int]) -> tuple[int, int] | None:
        """From the first letter to behind the last, if no letter is below two of the parents."""
        claims = sorted(self._claims[u][:2] for u in parents if u in self._claims)
        apart = all(a[1] <= b[0] for a, b in pairwise(claims))
        return (claims[0][0], claims[-1][1]) if apart and len(claims) == len(parents) else None

    def _parts(self, parents: Sequence[int], first: int, last: int) -> tuple[list[Pairs], dict[int, int]]:
        """(pairs of the parents in order, all words in between; the place of each parent among them)."""
        at, parts, place = first, [], {}
        for u in sorted(parents, key=lambda u: self._claims[u][0]):
            start, end, pairs = self._claims[u]
            parts += [self._gap(start - at), pairs]
            at, place[u] = end, len(parts) - 1
        return [*parts, self._gap(last - at)], place

    def _count(self, parents: Sequence[int], first: int, last: int) -> int:
        return prod(map(len, self._parts(parents, first, last)[0]))

    def over(self, parents: Sequence[int], first: int, last: int, name: str) -> Iterable[tuple[tuple[int, ...], Map]]:
        """(values of the parents, map of the letters first … last - 1), for all that their pairs allow."""
        need(not parents or self._interval(parents) is not None, f"{name} reads two variables over one letter")
        parts, place = self._parts(parents, first, last)
        need(prod(map(len, parts)) <= MOST_COMBINATIONS, f"{name} has too many combinations of pairs")
        for chosen in product(*parts):
            image = chosen[0][1]
            for _, then in chosen[1:]:
                image = self._times(image, then)
            yield tuple(chosen[place[u]][0] for u in parents), image

    def _gap(self, length: int) -> Pairs:
        """The maps of all words of a length."""
        while len(self._gaps) <= length:
            need(len(self._gaps[-1]) <= MOST_COMBINATIONS >> 4, "words of one length have too many maps of the states")
            self._gaps.append({self._times(f, g) for f in self._gaps[-1] for _, g in self._letter})
        return [(0, image) for image in self._gaps[length]]

    def _times(self, first: Map, then: Map) -> Map:
        if (first, then) not in self._products:
            self._products[first, then] = tuple(then[q] for q in first)
        return self._products[first, then]


def named(pairs: list[form.Pair], images: list[Map], name: str) -> Pairs:
    need(pairs == sorted({*pairs}), f"the pairs of {name} are not in order, or one is there twice")
    need(all(element < len(images) for _, element in pairs), f"{name} has a pair with an element that is not listed")
    return [(value, images[element]) for value, element in pairs]


def check(document: Any, model: Model, look: Callable[[], None] = lambda: None) -> str:
    """Describe what was checked; raise Refused if the certificate proves nothing. `look` is called regularly."""
    claimed = read(document)
    need(claimed.model == content_hash(model), "the certificate is about other weights: the hashes differ")
    automaton, variables = CheckedAutomaton(claimed.automaton, model), claimed.variables
    images = [tuple(image) for image in claimed.elements]
    used = {element for pairs in (claimed.letters, *(v.pairs or () for v in variables)) for _, element in pairs}
    need(images == sorted({*images}) and used == {*range(len(images))}, "elements are not in order, each once and used")
    letters = named(claimed.letters, images, "a letter")
    need({*letters} == automaton.letters, "letters are not what the folder and the automaton read")
    network = network_of(len(model.input_symbols), model.length, [(v.parents, v.table) for v in variables], look)
    network.check_use({v for step in (*claimed.steps, [cut[3] for cut in claimed.cuts]) for v in step if v is not None})
    induction, count = Induction(letters, model.length, len(automaton.delta)), model.length * len(letters)
    for v, variable in enumerate(variables, start=model.length):
        look()
        count += induction.take_in(v, variable, network.table(v), images)
    cuts = {(scores, u, k): v for scores, u, k, v in claimed.cuts}
    need([cut[:3] for cut in claimed.cuts] == sorted(cuts), "cuts are not in order, or one is there twice")
    part, symbols = answer(model, network, claimed.steps, cuts)
    network.check_compared()
    meaning = {model.token[model.accept]: True, model.token[model.reject]: False}
    alias = {model.token[old]: model.token[new] for old, new in model.aliases.items()}
    for values, image in induction.over(part.variables, 0, model.length, "the answer"):
        symbol, right = int(symbols[part.table[values]]), automaton.accepting[image[0]]
        meant = meaning.get(alias.get(symbol, symbol))
        need(meant is right, f"the model says {model.vocabulary[symbol]!r} where the automaton says {right}")
    return (
        f"checked for every word of length {model.length}: the weights compute the {len(variables)} tables, and "
        f"{count} pairs lead to the answer of the certificate's automaton"
    )
