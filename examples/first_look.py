"""A first look: compile masked diffusion models, watch them run, prove one correct, compare the frameworks."""

import random

from unmask import compare_frameworks, compile_problem, run_word, verify_model
from unmask.api import compiler_of
from unmask.cli import console, show_comparison, show_run, show_verdict

out = console()


def headline(title: str, text: str) -> None:
    out.print(f"\n[bold]{title}[/bold]\n{text}\n")


def watch(problem: str, word: str, *, length: int) -> None:
    """Compile the problem, run the model on the word, and print the canvas after every step."""
    model = compile_problem(problem, "mdm", length=length)
    weights = sum(t.parameters for t in model.transformers.values())
    out.print(f"{problem}: words of {length} letters, {model.steps} steps, {weights} nonzero weights")
    show_run(model, run_word(model, word), canvas=True)


headline(
    "1. A masked diffusion model that decides whether a word matches (a|b)*abb",
    "It is compiled, not trained. All slots start as masks (·). In each step the\n"
    "planner chooses slots and the predictor fills them in: a slot combines two\n"
    "letters, or two slots that are already filled. So log2(16) = 4 steps suffice.\n"
    "The last slot is the answer: 1 accepts, 0 rejects.",
)
watch("(a|b)*abb", "aababbababbaaabb", length=16)
out.print()
watch("(a|b)*abb", "aababbababbaaaba", length=16)

headline(
    "2. A harder problem: is this product of permutations the identity?",
    "The letters are elements of the group A5. The problem is complete for NC1.",
)
a5 = compiler_of("group:A5").automaton
watch("group:A5", a5.random_word(8, accepted=True, rng=random.Random(1)) or "", length=8)

headline(
    "3. Is the model correct? A proof for all words of 64 letters",
    "There are too many words to test them all. The proof uses only the weights.",
)
long = compile_problem("(a|b)*abb", "mdm", length=64)
show_verdict(verify_model(long, method="prove"))
out.print("\nThe same question for another language, (a|b)*ab, where the model is wrong:")
show_verdict(verify_model(long, method="prove", against="(a|b)*ab"))

headline(
    "4. The same problem in six frameworks",
    "Every entry reads: measured <= bound. Masked diffusion (mdm) takes log2(N)\n"
    "steps, chain of thought (cot) takes N. The other kinds are explained in\n"
    "docs/background/frameworks.md.",
)
show_comparison("group:A5", list(compare_frameworks("group:A5", [8, 64])))

headline(
    "What next?",
    "source .venv/bin/activate   makes the command `unmask` available\n"
    "unmask                      an overview with three examples\n"
    "unmask doctor               what is installed, and what each extra adds\n"
    "README.md                   a tour of sixty seconds",
)
