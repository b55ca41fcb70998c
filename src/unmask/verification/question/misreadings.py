"""Misreadings: a folder's `characters` against the classes of a problem, class by class.

    symbol of the model   ←read—   letter   —belongs to→   class of the problem

Both sides cut all code points into finitely many ranges, so that `question.readings` has a letter for every symbol and
class that meet. Words drawn at random would rarely hold a code point that is read as another letter; the words here do.
Where two classes are read as one symbol, a model says the same of two words that are not alike: such words are found in
the automaton, if there are any of this length.
"""

import random
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

from unmask.problems.automata.automaton import Automaton
from unmask.verification.question.question import Question

DRAWN = 32
"""Words that are drawn for a letter of a class that is read as several symbols."""
MOST_STEPS = 1 << 20


def misread_words(question: Question) -> Iterator[str]:
    """Words in which a misread letter shows; none where every class is read as one symbol of its own."""
    characters = question.standard.characters
    if characters is None or not question.model.length:
        return
    classes = {letter: _class_of(characters, letter) for letter in question.letters}
    of_symbol: dict[str | None, str] = {}
    of_class: dict[Hashable, str] = {}
    for letter in question.letters:
        known = of_symbol.setdefault(question.readings[letter], letter)
        if known != letter:
            yield from _told_apart(question, known, letter, classes)
        usual = of_class.setdefault(classes[letter], letter)
        if usual != letter or known != letter:
            yield from _drawn_with(question, letter, classes)


def _told_apart(question: Question, one: str, other: str, classes: dict[str, Hashable]) -> Iterator[str]:
    """Two words that differ in one letter, which the problem does not answer alike."""
    automaton = question.standard.specification()
    if not isinstance(automaton, Automaton) or automaton.characters is None:
        return
    tokens = [int(automaton.token_ids(letter)[0]) for letter in (one, other)]
    word = telling_word(automaton, *tokens, question.model.length)
    if word is not None:
        usual: dict[int, str] = {}
        for letter in classes:
            usual.setdefault(int(automaton.token_ids(letter)[0]), letter)
        for letter in (one, other):
            yield "".join(letter if token is None else usual[token] for token in word)


def telling_word(automaton: Automaton, one: int, other: int, length: int) -> list[int | None] | None:
    """Tokens of a word of this length with a gap (None), such that the answer is not the same with either token in it.

    None if there is no such word, or if it was not found in `MOST_STEPS` steps.
    """
    rows, accepting = automaton.delta.tolist(), automaton.accepting.tolist()
    layers: list[dict] = [{(automaton.start, automaton.start, False): None}]
    steps = 0
    for _ in range(length):
        after: dict = {}
        for node in layers[-1]:
            p, q, parted = node
            steps += len(automaton.tokens)
            for token in range(len(automaton.tokens)):
                after.setdefault((rows[p][token], rows[q][token], parted), (node, token))
            if not parted:
                after.setdefault((rows[p][one], rows[p][other], True), (node, None))
        layers.append({node: came for node, came in after.items() if not node[2] or node[0] != node[1]})
        if steps > MOST_STEPS:
            return None
    node = next((n for n in layers[-1] if n[2] and accepting[n[0]] != accepting[n[1]]), None)
    if node is None:
        return None
    word: list[int | None] = []
    for layer in reversed(layers[1:]):
        node, token = layer[node]
        word.append(token)
    return word[::-1]


def _drawn_with(question: Question, letter: str, classes: dict[str, Hashable]) -> Iterator[str]:
    """Words of the problem that hold this letter wherever they held one of its class."""
    characters = question.standard.characters or ()
    drawn = question.standard.words(random.Random(0))
    for word in islice(drawn, DRAWN):
        spelled = "".join(letter if _class_of(characters, c) == classes[letter] else c for c in word)
        if letter in spelled:
            yield spelled


def _class_of(characters: Sequence[tuple[int, int, Hashable]], letter: str) -> Hashable:
    return next(kind for first, last, kind in characters if first <= ord(letter) <= last)
