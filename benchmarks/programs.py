"""CPU seconds to compile and run programs of the language: `python benchmarks/programs.py`.

A grammar of ten nonterminals at N = 32, edit distance of two words of 64 letters, Rule 110 on 256 cells for 256 steps.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "src"))

from pages import table  # noqa: E402

from unmask.api import compile_problem, run_word  # noqa: E402

SENTENCES = """S -> NP VP
NP -> Det Nom | 'p'
Nom -> 'n' | Adj Nom | Nom PP
VP -> V NP | VP PP | 'w'
PP -> P NP
Det -> 'd'
Adj -> 'a'
V -> 'v'
P -> 'o'
X -> S S
"""


def main() -> None:
    """Print a table with a row for each program."""
    rng = random.Random(0)
    programs = ROOT / "examples" / "programs"
    with tempfile.TemporaryDirectory() as scratch:
        grammar = Path(scratch) / "sentences.cfg"
        grammar.write_text(SENTENCES, encoding="utf-8")
        rows = [
            measure_program("a grammar of ten nonterminals", f"cfg:{grammar}", "dnvdaaan" + 8 * "odn"),
            measure_program(
                "edit distance", f"program:{programs / 'edit_distance.py'}", "".join(rng.choices("acgt", k=128))
            ),
            measure_program("Rule 110", f"program:{programs / 'rule_110.py'}", "".join(rng.choices("01", k=256))),
        ]
    print("\n".join(table(("program", "N", "steps", "slots and rows", "compiled", "run"), rows)))


def measure_program(name: str, problem: str, word: str) -> tuple[str, int, int, int, str, str]:
    start = time.process_time()
    model = compile_problem(problem, "mdm", length=len(word))
    compiled = time.process_time()
    run_word(model, word)
    seconds = (compiled - start, time.process_time() - compiled)
    return name, len(word), model.steps, model.padding, *(f"{took:.1f} s" for took in seconds)


if __name__ == "__main__":
    main()
