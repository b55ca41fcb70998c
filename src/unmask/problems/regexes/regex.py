"""Regular expression → the least automaton of {w : re.fullmatch(pattern, w)}."""

from unmask.errors import PatternError, TooLarge
from unmask.problems.automata.automaton import Automaton
from unmask.problems.regexes.determinisation import deterministic
from unmask.problems.regexes.lookaround import deterministic_with_looks
from unmask.problems.regexes.nfa import nfa_of
from unmask.problems.regexes.nodes import size
from unmask.problems.regexes.parser import parse_regex

__all__ = ["regex_automaton"]


def regex_automaton(
    pattern: str, *, ascii: bool = True, ignore_case: bool = False, most_states: int = 20_000
) -> Automaton:
    """The minimal automaton of the words that `re.fullmatch` accepts, over all of Unicode.

    The flags are re.ASCII, unless `ascii` is False or the pattern says `(?u)`, and re.IGNORECASE if
    asked; inline flags work. Characters that no state tells apart share a token.
    """
    try:
        tree = parse_regex(pattern, ascii=ascii, ignore_case=ignore_case)
        states = size(tree)
        if states > 2 * most_states:
            raise TooLarge(
                f"the regex needs {states:,} states once its counted repetitions are written out, "
                f"and {2 * most_states:,} are allowed; lower the counts"
            )
        nfa = nfa_of(tree)
        made = (deterministic_with_looks if nfa.looks else deterministic)(nfa, most_states=most_states)
        return made.minimal()
    except RecursionError:
        raise PatternError("groups are nested too deeply: flatten the groups", pattern=pattern) from None
