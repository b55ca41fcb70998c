"""A first look, in a few seconds: compile, watch it denoise, prove it, set it beside other frameworks."""

import random

from unmask import compare_frameworks, compile_problem, run_word, verify_model
from unmask.console import show_comparison, show_run, show_verdict
from unmask.pipeline import compiler_of
from unmask.terminal import console

out = console()


def headline(text: str, *lines: str) -> None:
    out.print(f"\n[bold]{text}[/bold]", *lines, sep="\n")


def watch(problem: str, word: str, *, length: int) -> None:
    """Compile, and show the canvas after every step."""
    model = compile_problem(problem, "mdm", length=length)
    weights = sum(t.parameters for t in model.transformers.values())
    out.print(f"\n{problem}: N = {length} letters, {model.steps} steps, {weights} nonzero weights")
    show_run(model, run_word(model, word), canvas=True)


headline(
    "1. A masked diffusion model that recognises a regular language in ⌈log2 N⌉ steps",
    "A slot is the product of a factor of the word; the planner takes it once both of its factors stand.",
    "· is a mask, the last slot the answer.",
)
watch("(a|b)*abb", "aababbababbaaabb", length=16)
watch("(a|b)*abb", "aababbababbaaaba", length=16)

headline("2. The same for a group: a product of permutations in A5, which is complete for NC1")
a5 = compiler_of("group:A5").automaton
watch("group:A5", a5.random_word(8, accepted=True, rng=random.Random(1)) or "", length=8)

headline("3. Is it right? There are 3^64 words of 64 letters, so this is a proof, from the weights")
long = compile_problem("(a|b)*abb", "mdm", length=64)
show_verdict(verify_model(long, method="prove"))
out.print("and of a language that it does not recognise, (a|b)*ab:")
show_verdict(verify_model(long, method="prove", against="(a|b)*ab"))

headline("4. The frameworks side by side: what was measured <= its bound", "")
show_comparison("group:A5", list(compare_frameworks("group:A5", [8, 64])))

headline(
    "Next",
    ".venv/bin/unmask --help                      every command",
    ".venv/bin/unmask serve                       the same in a browser, for problems and words of your own",
    ".venv/bin/python examples/find_the_mistake.py",
)
