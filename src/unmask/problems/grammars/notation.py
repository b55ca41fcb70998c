"""Text → Grammar, in the notation of textbooks:

    # balanced brackets of two kinds
    S -> S S | '(' S ')' | '[' S ']' | ε

One rule a line; a line that begins with `|` goes on with the rule above; `::=` or `→` may stand for the arrow. The
first rule's name is the start. A quoted symbol is a letter; a bare word is a nonterminal if it has a rule, else a
letter. An empty alternative, `ε` or `''` is the empty word. A letter is a character or a word, without blanks.
"""

import re
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
    """The grammar of a text; what is wrong is said with the number of the line."""
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
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise ProblemError(f"line {number} of the grammar has a quotation mark that is never closed; close it")
        place = token.end()
        kind = str(token.lastgroup)
        if kind == "quoted":
            symbol = token["quoted"][1:-1]
            if symbol and symbol.split() != [symbol]:
                shown = shortened(repr(symbol))
                raise ProblemError(f"line {number} of the grammar has the letter {shown}; remove the blanks from it")
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
                    shown = shortened(repr(symbol))
                    raise ProblemError(f"{shown} is a letter and the name of a rule; rename the rule")
                if symbol not in drafts:
                    letters[symbol] = None
        rules[name] = tuple(dict.fromkeys(tuple(symbol for symbol, _ in alternative) for alternative in alternatives))
    if not letters:
        raise ProblemError("the grammar has no letters, so its only word is the empty word; quote letters, as in 'a'")
    return Grammar(next(iter(rules)), rules, tuple(letters))
