"""Grammar → BinaryGrammar: every rule a letter, or a pair of nonterminals; the same words (Chomsky's normal form).

A → X Y Z      A → X ⟨Y Z⟩,  ⟨Y Z⟩ → Y Z       one helper for each tail of a rule, shared by all rules that end so
A → X a        A → X ⟨a⟩,    ⟨a⟩ → a
A → X Y, Y ⇒ ε   also A → X                    then A takes over the rules of every X with A ⇒ X
"""

from dataclasses import dataclass

from unmask.problems.grammars.notation import Alternative, Grammar


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


def binary(grammar: Grammar) -> BinaryGrammar:
    """The same language in rules of two kinds."""
    short = _short(grammar)
    nullable = _nullable(short)
    wide = {name: _without_empty(alternatives, nullable) for name, alternatives in short.items()}
    reached = _units(wide)
    letters: dict[str, set[str]] = {letter: set() for letter in grammar.letters}
    pairs: dict[tuple[str, str], set[str]] = {}
    for name in wide:
        for below in reached[name]:
            for alternative in wide[below]:
                if len(alternative) == 2:
                    pairs.setdefault((alternative[0], alternative[1]), set()).add(name)
                elif alternative[0] in letters:
                    letters[alternative[0]].add(name)
    return _useful(grammar.start, letters, pairs, empty=grammar.start in nullable)


def _short(grammar: Grammar) -> dict[str, set[Alternative]]:
    """Rules of at most two symbols, and letters only by themselves."""
    short: dict[str, set[Alternative]] = {}

    def named(symbols: Alternative) -> str:
        """A nonterminal for some symbols."""
        if len(symbols) == 1 and symbols[0] in grammar.rules:
            return symbols[0]
        name = f"⟨{' '.join(symbols)}⟩"
        if len(symbols) == 1 and (name in grammar.rules or name in grammar.letters):
            name = f"⟨ {symbols[0]} ⟩"  # no symbol of a grammar has a blank in it
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
    """The nonterminals that derive ε."""
    nullable: set[str] = set()
    while True:
        more = {name for name, listed in short.items() if any(all(s in nullable for s in rhs) for rhs in listed)}
        if more == nullable:
            return nullable
        nullable = more


def _without_empty(alternatives: set[Alternative], nullable: set[str]) -> set[Alternative]:
    """The alternatives, and what is left of a pair when one of it is empty."""
    found = {rhs for rhs in alternatives if rhs}
    for rhs in list(found):
        if len(rhs) == 2:
            found |= {(rhs[1 - side],) for side in (0, 1) if rhs[side] in nullable}
    return found


def _units(rules: dict[str, set[Alternative]]) -> dict[str, set[str]]:
    """name ⇒ …: the nonterminals that a nonterminal can turn into, itself among them."""
    reached: dict[str, set[str]] = {}
    for name in rules:
        found, waiting = {name}, [name]
        while waiting:
            for rhs in rules[waiting.pop()]:
                if len(rhs) == 1 and rhs[0] in rules and rhs[0] not in found:
                    found.add(rhs[0])
                    waiting.append(rhs[0])
        reached[name] = found
    return reached


def _useful(
    start: str, letters: dict[str, set[str]], pairs: dict[tuple[str, str], set[str]], *, empty: bool
) -> BinaryGrammar:
    """Without nonterminals that derive no word, or that no derivation from the start needs."""
    productive = {name for derived in letters.values() for name in derived}
    while (
        more := {name for pair, derived in pairs.items() if productive.issuperset(pair) for name in derived}
        - productive
    ):
        productive |= more
    live = {pair: derived for pair, derived in pairs.items() if productive.issuperset(pair)}
    needed = {start}
    while more := {part for pair, derived in live.items() if derived & needed for part in pair} - needed:
        needed |= more
    return BinaryGrammar(
        start,
        {letter: frozenset(derived & needed) for letter, derived in letters.items()},
        {pair: frozenset(derived & needed) for pair, derived in live.items() if derived & needed},
        empty,
    )
