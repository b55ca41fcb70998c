"""Text → Grammar, in the notation of textbooks:

    # balanced brackets of two kinds
    S -> S S | '(' S ')' | '[' S ']' | ε

One rule per line; a line that begins with `|` continues the rule above; `::=` or `→` may replace the arrow. The
first rule's name is the start. A quoted symbol is a letter; a bare word is a nonterminal if it has a rule, else a
letter. An empty alternative, `ε` or `''` is the empty word. A letter is a character or a word, without blanks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unmask.errors import ProblemError, shortened

MOST_SYMBOLS = 10_000
_TOKEN = re.compile(r"""\s*(?:(?P<comment>\#.*)|(?P<bar>\|)|(?P<quoted>'[^'\n]*'|"[^"\n]*")|(?P<bare>[^\s|'"\#]+))""")
_ARROW = re.compile(r"\s*(?P<name>[^\s|'\"#]+?)\s*(?:->|→|::=)")

Alternative = tuple[str, ...]


@dataclass(frozen=True)
class Grammar:
    """Rules by nonterminal, in the order of the file; a symbol that has no rules is a letter."""

    start: str
    rules: dict[str, tuple[Alternative, ...]]
    letters: tuple[str, ...]


def read_grammar(text: str) -> Grammar:
    """Parse the text of a grammar. Error messages give the number of the line."""
    drafts: dict[str, list[list[tuple[str, bool]]]] = {}
    name: str | None = None
    symbols = 0
    for number, line in enumerate(text.splitlines(), 1):
        arrow = _ARROW.match(line)
        if arrow is not None:
            name = arrow["name"]
            drafts.setdefault(name, []).append([])
        tokens = _tokens(line[arrow.end() :] if arrow is not None else line, number)
        if tokens and (name is None or (arrow is None and tokens[0][0] != "bar")):
            raise ProblemError(f"line {number} of the grammar has no arrow; write it as Name -> alternatives")
        for kind, token in tokens:
            assert name is not None
            if kind == "bar":
                drafts[name].append([])
            elif token:
                drafts[name][-1].append((token, kind == "quoted"))
            symbols += 1
            if symbols > MOST_SYMBOLS:
                raise ProblemError(f"the grammar has more than {MOST_SYMBOLS:,} symbols; give a smaller one")
    if not drafts:
        raise ProblemError("the grammar has no rule; write one as S -> 'a' S 'b' | ε")
    return _grammar(drafts)


def _tokens(text: str, number: int) -> list[tuple[str, str]]:
    """(kind, symbol) of every token; the empty word is the symbol ''."""
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ProblemError(f"line {number} of the grammar has a quotation mark that is never closed; close it")
        position = token.end()
        kind = str(token.lastgroup)
        if kind == "quoted":
            symbol = token["quoted"][1:-1]
            if symbol and symbol.split() != [symbol]:
                quoted = shortened(repr(symbol))
                raise ProblemError(f"line {number} of the grammar has the letter {quoted}; remove the blanks from it")
            tokens.append((kind, symbol))
        elif kind == "bare":
            tokens.append((kind, "" if token["bare"] == "ε" else token["bare"]))
        elif kind == "bar":
            tokens.append((kind, "|"))
    return tokens


def _grammar(drafts: dict[str, list[list[tuple[str, bool]]]]) -> Grammar:
    letters: dict[str, None] = {}
    rules: dict[str, tuple[Alternative, ...]] = {}
    for name, alternatives in drafts.items():
        for alternative in alternatives:
            for symbol, quoted in alternative:
                if quoted and symbol in drafts:
                    quoted_symbol = shortened(repr(symbol))
                    raise ProblemError(f"{quoted_symbol} is a letter and the name of a rule; rename the rule")
                if symbol not in drafts:
                    letters[symbol] = None
        rules[name] = tuple(dict.fromkeys(tuple(symbol for symbol, _ in alternative) for alternative in alternatives))
    if not letters:
        raise ProblemError("the grammar has no letters, so its only word is the empty word; quote letters, as in 'a'")
    return Grammar(next(iter(rules)), rules, tuple(letters))


# Grammar × word → is it derived? The oracle: Earley's algorithm, on the rules as they were written.
#
#     (A → α • β, i) in set j    α derives the letters i … j - 1, and A is expected at i
#
# An expected nonterminal that derives ε is also skipped, so that one pass over a set is enough.


_Item = tuple[str, Alternative, int, int]
"""(left side, right side, the number of its symbols already derived, the start position)."""


def derives(grammar: Grammar, word: Sequence[str]) -> bool:
    """Return whether the word is in the language."""
    empty = derive_empty(grammar)
    sets: list[dict[_Item, None]] = [{} for _ in range(len(word) + 1)]
    sets[0].update({(grammar.start, rhs, 0, 0): None for rhs in grammar.rules[grammar.start]})
    for j, items in enumerate(sets):
        waiting = list(items)
        while waiting:
            for item in _items_from(grammar, sets, j, waiting.pop(), empty):
                if item not in items:
                    items[item] = None
                    waiting.append(item)
        if j < len(word):
            for name, rhs, matched, first in items:
                if matched < len(rhs) and rhs[matched] == word[j]:
                    sets[j + 1][name, rhs, matched + 1, first] = None
    return any((grammar.start, rhs, len(rhs), 0) in sets[-1] for rhs in grammar.rules[grammar.start])


def _items_from(grammar: Grammar, sets: list[dict[_Item, None]], j: int, item: _Item, empty: set[str]) -> list[_Item]:
    """Return the items that an item of set j adds."""
    name, rhs, matched, first = item
    if matched == len(rhs):
        return [
            (above, symbols, dot + 1, begin)
            for above, symbols, dot, begin in list(sets[first])
            if dot < len(symbols) and symbols[dot] == name
        ]
    expected = rhs[matched]
    if expected not in grammar.rules:
        return []
    items: list[_Item] = [(expected, symbols, 0, j) for symbols in grammar.rules[expected]]
    return [*items, (name, rhs, matched + 1, first)] if expected in empty else items


def derive_empty(grammar: Grammar) -> set[str]:
    """The nonterminals that derive ε."""
    empty: set[str] = set()
    changed = True
    while changed:
        changed = False
        for name, alternatives in grammar.rules.items():
            if name not in empty and any(all(symbol in empty for symbol in rhs) for rhs in alternatives):
                empty.add(name)
                changed = True
    return empty


# Grammar → BinaryGrammar of the same words: every rule is a letter or a pair of nonterminals (Chomsky normal form).
#
# A → X Y Z      A → X ⟨Y Z⟩,  ⟨Y Z⟩ → Y Z       one helper for each tail of a rule, shared by all rules with that tail
# A → X a        A → X ⟨a⟩,    ⟨a⟩ → a
# A → X Y, Y ⇒ ε   also A → X                    then A takes over the rules of every X with A ⇒ X


@dataclass(frozen=True)
class BinaryGrammar:
    """`letters[a]` and `pairs[X, Y]` are the nonterminals that derive a, and X Y; `empty`: is ε a word?"""

    start: str
    letters: dict[str, frozenset[str]]
    pairs: dict[tuple[str, str], frozenset[str]]
    empty: bool

    @property
    def nonterminals(self) -> tuple[str, ...]:
        """The start first, then in the order in which they are derived."""
        names = dict.fromkeys([self.start])
        for derived in (*self.letters.values(), *self.pairs.values()):
            names.update(dict.fromkeys(sorted(derived)))
        return tuple(names)


def to_binary_grammar(grammar: Grammar) -> BinaryGrammar:
    """The binary grammar of the same language."""
    short = _split_rules(grammar)
    nullable = _nullable(short)
    wide = {name: _without_empty(alternatives, nullable) for name, alternatives in short.items()}
    reached = _unit_closure(wide)
    letters: dict[str, set[str]] = {letter: set() for letter in grammar.letters}
    pairs: dict[tuple[str, str], set[str]] = {}
    for name in wide:
        for below in reached[name]:
            for alternative in wide[below]:
                if len(alternative) == 2:
                    pairs.setdefault((alternative[0], alternative[1]), set()).add(name)
                elif alternative[0] in letters:
                    letters[alternative[0]].add(name)
    return _useful_rules(grammar.start, letters, pairs, empty=grammar.start in nullable)


def _split_rules(grammar: Grammar) -> dict[str, set[Alternative]]:
    """The rules, split so that each has at most two symbols, and a letter is the only symbol of its rule."""
    short: dict[str, set[Alternative]] = {}

    def named(symbols: Alternative) -> str:
        """Return the nonterminal that stands for a sequence of symbols."""
        if len(symbols) == 1 and symbols[0] in grammar.rules:
            return symbols[0]
        name = f"⟨{' '.join(symbols)}⟩"
        if len(symbols) == 1 and (name in grammar.rules or name in grammar.letters):
            name = f"⟨ {symbols[0]} ⟩"  # no symbol of a grammar contains a blank
        if name not in short:
            short[name] = set()
            short[name].add(symbols if len(symbols) == 1 else pair(symbols))
        return name

    def pair(symbols: Alternative) -> Alternative:
        return named(symbols[:1]), named(symbols[1:])

    short.update({name: set() for name in grammar.rules})
    for name, alternatives in grammar.rules.items():
        for alternative in alternatives:
            short[name].add(alternative if len(alternative) < 2 else pair(alternative))
    return short


def _nullable(short: dict[str, set[Alternative]]) -> set[str]:
    """The nonterminals that derive ε. It is separate from `derive_empty`: the oracle shares nothing with this code."""
    nullable: set[str] = set()
    while True:
        more = {name for name, listed in short.items() if any(all(s in nullable for s in rhs) for rhs in listed)}
        if more == nullable:
            return nullable
        nullable = more


def _without_empty(alternatives: set[Alternative], nullable: set[str]) -> set[Alternative]:
    """The alternatives, and the rest of each pair in which one symbol can be empty."""
    shorter = {rhs for rhs in alternatives if rhs}
    for rhs in list(shorter):
        if len(rhs) == 2:
            shorter |= {(rhs[1 - side],) for side in (0, 1) if rhs[side] in nullable}
    return shorter


def _unit_closure(rules: dict[str, set[Alternative]]) -> dict[str, set[str]]:
    """name ⇒ …: the nonterminals that a nonterminal can become, including itself."""
    reached: dict[str, set[str]] = {}
    for name in rules:
        names, waiting = {name}, [name]
        while waiting:
            for rhs in rules[waiting.pop()]:
                if len(rhs) == 1 and rhs[0] in rules and rhs[0] not in names:
                    names.add(rhs[0])
                    waiting.append(rhs[0])
        reached[name] = names
    return reached


def _useful_rules(
    start: str, letters: dict[str, set[str]], pairs: dict[tuple[str, str], set[str]], *, empty: bool
) -> BinaryGrammar:
    """The rules without nonterminals that derive no word or that no derivation from the start needs."""
    productive = {name for derived in letters.values() for name in derived}
    while (
        more := {name for pair, derived in pairs.items() if productive.issuperset(pair) for name in derived}
        - productive
    ):
        productive |= more
    live = {pair: derived for pair, derived in pairs.items() if productive.issuperset(pair)}
    needed = {start}
    while more := {symbol for pair, derived in live.items() if derived & needed for symbol in pair} - needed:
        needed |= more
    return BinaryGrammar(
        start,
        {letter: frozenset(derived & needed) for letter, derived in letters.items()},
        {pair: frozenset(derived & needed) for pair, derived in live.items() if derived & needed},
        empty,
    )
