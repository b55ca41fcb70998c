"""Complete deterministic finite automata."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.errors import ProblemError, WordError, shortened
from unmask.limits import check
from unmask.problems.automata.characters import LAST_CODE_POINT, class_name, union

# Complete DFA → the least complete DFA of the same language, by Hopcroft's algorithm.


def minimal_table(delta: np.ndarray, start: int, accepting: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """Return (delta, start, accepting) of the quotient of the reachable part; its states are in no particular order."""
    delta, start, accepting = renumbered(delta, start, accepting, breadth_first(delta.tolist(), start))
    # Arrows into states from which nothing is accepted are left out: most arrows of a typical table are such arrows.
    live = _reaching(delta, accepting)
    arrows = _arrows_into(delta, live)
    count = len(delta)
    blocks = [set(np.flatnonzero(accepting).tolist()), set(np.flatnonzero(live & ~accepting).tolist())]
    labels = np.asarray(_refined([block for block in blocks if block], arrows, count=count), dtype=np.int32)
    labels[labels < 0] = labels.max() + 1  # all dead states form one class
    _, firsts = np.unique(labels, return_index=True)
    return labels[delta[firsts]], int(labels[start]), accepting[firsts]


def breadth_first(rows: Sequence[Sequence[int]], start: int) -> list[int]:
    """The states reached from `start`, in breadth-first order."""
    order, reached = [start], {start}
    for state in order:
        for target in rows[state]:
            if target not in reached:
                reached.add(target)
                order.append(target)
    return order


def renumbered(
    delta: np.ndarray, start: int, accepting: np.ndarray, order: Sequence[int]
) -> tuple[np.ndarray, int, np.ndarray]:
    """The automaton restricted to `order`, its k-th state being order[k]."""
    old = np.asarray(order, dtype=np.int64)
    number = np.full(len(delta), -1, dtype=np.int32)
    number[old] = np.arange(len(old), dtype=np.int32)
    return number[delta[old]], int(number[start]), accepting[old]


def _arrows_into(delta: np.ndarray, live: np.ndarray) -> list[list[tuple[int, int]]]:
    """For each state, the pairs (token, source) of the arrows that enter it. Only arrows between live states count."""
    into: list[list[tuple[int, int]]] = [[] for _ in delta]
    sources, tokens = np.nonzero(live[delta] & live[:, None])
    targets = delta[sources, tokens]
    for source, token, target in zip(sources.tolist(), tokens.tolist(), targets.tolist(), strict=True):
        into[target].append((token, source))
    return into


def _reaching(delta: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return a flag per state: whether it has a path to a target."""
    before: list[list[int]] = [[] for _ in delta]
    for source, row in enumerate(delta.tolist()):
        for target in set(row):
            before[target].append(source)
    live = targets.tolist()
    stack = np.flatnonzero(targets).tolist()
    while stack:
        for source in before[stack.pop()]:
            if not live[source]:
                live[source] = True
                stack.append(source)
    return np.array(live, dtype=bool)


def _refined(blocks: list[set[int]], arrows: list[list[tuple[int, int]]], *, count: int) -> list[int]:
    """The coarsest refinement of `blocks` under which equal states have equal successors; -1 outside.

    Hopcroft: if a block is split, only its smaller half becomes a splitter again. This is correct even if arrows are
    missing: a block that is stable under B and was split by half of B is stable under the other half.
    """
    label = [-1] * count
    for k, block in enumerate(blocks):
        for state in block:
            label[state] = k
    waiting = set(range(len(blocks)))
    while waiting:
        check()
        sources: dict[int, list[int]] = {}
        for state in blocks[waiting.pop()]:
            for token, source in arrows[state]:
                sources.setdefault(token, []).append(source)
        for group in sources.values():
            touched: dict[int, list[int]] = {}
            for state in group:
                touched.setdefault(label[state], []).append(state)
            for k, members in touched.items():
                if len(members) == len(blocks[k]):
                    continue
                blocks[k].difference_update(members)
                for state in members:
                    label[state] = len(blocks)
                if k in waiting or len(members) <= len(blocks[k]):
                    waiting.add(len(blocks))
                else:
                    waiting.add(k)
                blocks.append(set(members))
    return label


# Counting and drawing the words of an automaton by length.


_SURROGATES = range(0xD800, 0xE000)


class WordCounts:
    """c[n][q] = number of words of length n that lead from state q to acceptance.

    c[0] = accepting, c[n + 1][q] = Σ_t c[n][delta[q, t]]; exact integers, computed once for each length.
    """

    def __init__(self, delta: np.ndarray, accepting: np.ndarray) -> None:
        self._delta = delta
        self._rows: list[list[int]] = delta.tolist()
        self._levels: list[list[int]] = [[int(flag) for flag in accepting]]
        # Most rows send many tokens to the same state: sum over distinct targets with multiplicity.
        self._arrows = [
            list(zip(*map(np.ndarray.tolist, np.unique(row, return_counts=True)), strict=True)) for row in delta
        ]

    def accepted(self, length: int, state: int) -> int:
        """The number of accepted words of this length from `state`."""
        while len(self._levels) <= length:
            last = self._levels[-1]
            self._levels.append([sum(times * last[q] for q, times in row) for row in self._arrows])
        return self._levels[length][state]

    def draw(self, length: int, state: int, *, accepted: bool, rng: random.Random) -> list[int] | None:
        """Return a uniformly drawn word of this length that is accepted (or not), or None if no such word exists."""
        if self._number(length, state, accepted=accepted) == 0:
            return None
        ids: list[int] = []
        for remaining in range(length - 1, -1, -1):
            choice = rng.randrange(self._number(remaining + 1, state, accepted=accepted))
            for token, target in enumerate(self._rows[state]):
                choice -= self._number(remaining, target, accepted=accepted)
                if choice < 0:
                    ids.append(token)
                    state = target
                    break
        return ids

    def _number(self, length: int, state: int, *, accepted: bool) -> int:
        members = self.accepted(length, state)
        return members if accepted else self._delta.shape[1] ** length - members


def random_character(ranges: Sequence[tuple[int, int]], rng: random.Random | None) -> str:
    """A character of the ranges: the first printable one or, with `rng`, a random one; not a surrogate if possible."""
    if rng is None:
        firsts = (chr(p) for first, last in ranges for p in range(first, min(last, first + 128) + 1))
        return next((c for c in firsts if c.isprintable()), chr(ranges[0][0]))
    for _ in range(16):
        first, last = rng.choice(ranges)
        # Half of the draws are near the start of a range, where the readable characters are.
        point = rng.randint(first, min(last, first + 96) if rng.getrandbits(1) else last)
        if point not in _SURROGATES:
            return chr(point)
    return chr(ranges[0][0])


Word = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Automaton:
    """A complete DFA: state' = delta[state, token], accepted iff accepting[delta*(start, word)].

    `characters` maps code points to tokens, as sorted (first, last, token) ranges that cover all of
    Unicode. If it is None, a word is a sequence of token names.
    """

    tokens: tuple[str, ...]
    delta: np.ndarray  # int32 [states, tokens]
    start: int
    accepting: np.ndarray  # bool [states]
    characters: tuple[tuple[int, int, int], ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tuple(self.tokens))
        object.__setattr__(self, "delta", _frozen(self.delta, np.int32))
        object.__setattr__(self, "accepting", _frozen(self.accepting, np.bool_))
        _check_table(self)
        _check_names(self.tokens)
        if self.characters is not None:
            _check_characters(self.characters, count=len(self.tokens))

    @property
    def states(self) -> int:
        """|Q|, including the dead state."""
        return len(self.delta)

    def token_ids(self, word: Word) -> np.ndarray:
        """The word as indices into `tokens`, int32 [length]."""
        if self.characters is not None:
            text = word if isinstance(word, str) else "".join(_one_character(symbol) for symbol in word)
            points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            firsts, owners = self._character_table
            return owners[np.searchsorted(firsts, points, side="right") - 1]
        if isinstance(word, str):
            word = word if self._plain else word.split()
        unknown = next((name for name in word if name not in self._index), None)
        if unknown is not None:
            raise WordError(
                f"{shortened(unknown)!r} is not an input symbol; use "
                f"{shortened(' '.join(self.tokens))}{'' if self._plain else ', separated by blanks'}"
            )
        return np.array([self._index[name] for name in word], dtype=np.int32)

    def run(self, word: Word) -> int:
        """The state after reading the word."""
        state, rows = self.start, self._rows
        for token in self.token_ids(word).tolist():
            state = rows[state][token]
        return state

    def accepts(self, word: Word) -> bool:
        """Whether the word is in the language."""
        return bool(self.accepting[self.run(word)])

    def minimal(self) -> "Automaton":
        """The least complete DFA of the same language, in canonical form.

        States are numbered breadth first. If `characters` is given, tokens that no state distinguishes
        become one token, and tokens are numbered and named by their characters.
        """
        delta, start, accepting = minimal_table(self.delta, self.start, self.accepting)
        tokens, characters = self.tokens, self.characters
        if characters is not None:
            delta, characters = _merge_tokens(delta, characters)
            tokens = character_class_names(characters)
        order = breadth_first(delta.tolist(), start)
        delta, start, accepting = renumbered(delta, start, accepting, order)
        return Automaton(tokens, delta, start, accepting, characters)

    def representative(self, token: int, *, rng: random.Random | None = None) -> str:
        """The text of a token: its name, or a character of its class (a random one with `rng`)."""
        if self.characters is None:
            return self.tokens[token]
        return random_character(self._ranges[token], rng)

    def spelled(self, ids: Sequence[int], *, rng: random.Random | None = None) -> str:
        """A word with these tokens, as a user would type it."""
        separator = "" if self.characters is not None or self._plain else " "
        return separator.join(self.representative(token, rng=rng) for token in ids)

    def count(self, length: int) -> int:
        """The number of accepted token sequences of this length."""
        return self._counts.accepted(length, self.start)

    def random_word(self, length: int, *, accepted: bool, rng: random.Random) -> str | None:
        """Return a member (or non-member) of this length, uniform over token sequences, or None if none exists."""
        ids = self._counts.draw(length, self.start, accepted=accepted, rng=rng)
        return None if ids is None else self.spelled(ids, rng=rng)

    @cached_property
    def _rows(self) -> list[list[int]]:
        return self.delta.tolist()

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.tokens)}

    @cached_property
    def _plain(self) -> bool:
        return all(len(name) == 1 for name in self.tokens)

    @cached_property
    def _character_table(self) -> tuple[np.ndarray, np.ndarray]:
        table = np.array(self.characters, dtype=np.int32)
        return table[:, 0], table[:, 2]

    @cached_property
    def _ranges(self) -> dict[int, list[tuple[int, int]]]:
        return _ranges_of(self.characters or ())

    @cached_property
    def _counts(self) -> WordCounts:
        return WordCounts(self.delta, self.accepting)


def character_class_names(characters: tuple[tuple[int, int, int], ...]) -> tuple[str, ...]:
    """A distinct name for each class of characters."""
    ranges = _ranges_of(characters)
    return tuple(class_name(union(ranges[token])) for token in sorted(ranges))


def _ranges_of(characters: tuple[tuple[int, int, int], ...]) -> dict[int, list[tuple[int, int]]]:
    ranges: dict[int, list[tuple[int, int]]] = {}
    for first, last, token in characters:
        ranges.setdefault(token, []).append((first, last))
    return ranges


def _merge_tokens(
    delta: np.ndarray, characters: tuple[tuple[int, int, int], ...]
) -> tuple[np.ndarray, tuple[tuple[int, int, int], ...]]:
    """One token per distinct column, numbered by first code point."""
    kinds: dict[bytes, int] = {}
    columns = np.ascontiguousarray(delta.T)
    firsts: list[int] = []
    merged: list[tuple[int, int, int]] = []
    for first, last, token in characters:
        kind = kinds.setdefault(columns[token].tobytes(), len(kinds))
        if kind == len(firsts):
            firsts.append(token)
        if merged and merged[-1][2] == kind:
            first = merged.pop()[0]
        merged.append((first, last, kind))
    return delta[:, firsts], tuple(merged)


def _frozen(values: np.ndarray, dtype: type) -> np.ndarray:
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _one_character(symbol: str) -> str:
    if len(symbol) != 1:
        raise WordError(f"{shortened(symbol)!r} is not one character; give the word as a plain string")
    return symbol


def _check_table(automaton: Automaton) -> None:
    delta, states = automaton.delta, len(automaton.delta)
    if delta.ndim != 2 or states == 0 or delta.shape[1] != len(automaton.tokens) or not automaton.tokens:
        raise ProblemError(
            f"delta has shape {delta.shape}; give one row per state and one column for each of the "
            f"{len(automaton.tokens)} tokens, at least one of each"
        )
    if automaton.accepting.shape != (states,):
        raise ProblemError(
            f"accepting has shape {automaton.accepting.shape}; give one flag for each of {states} states"
        )
    if not 0 <= automaton.start < states:
        raise ProblemError(f"the start state {automaton.start} does not exist; use 0 to {states - 1}")
    if delta.min() < 0 or delta.max() >= states:
        raise ProblemError(f"delta names a state outside 0 to {states - 1}; correct the table")


def _check_names(tokens: tuple[str, ...]) -> None:
    if len(set(tokens)) < len(tokens):
        repeated = next(name for k, name in enumerate(tokens) if name in tokens[:k])
        raise ProblemError(f"the token {repeated!r} is given twice; give every token its own name")
    if all(len(name) == 1 for name in tokens):
        return
    blank = next((name for name in tokens if not name or name.split() != [name]), None)
    if blank is not None:
        raise ProblemError(f"the token {blank!r} is empty or has a blank, which separates tokens; rename it")


def _check_characters(characters: tuple[tuple[int, int, int], ...], *, count: int) -> None:
    expected = 0
    for first, last, token in characters:
        if first != expected or last < first:
            raise ProblemError(
                f"the character ranges must follow each other, but one starts at {first}, not {expected}"
            )
        if not 0 <= token < count:
            raise ProblemError(f"the characters {first} to {last} name token {token}; use 0 to {count - 1}")
        expected = last + 1
    if expected != LAST_CODE_POINT + 1:
        raise ProblemError(
            f"the character ranges end at {expected - 1}; cover every code point up to {LAST_CODE_POINT}"
        )
    if len({token for _, _, token in characters}) < count:
        raise ProblemError("a token has no characters; leave it out")
