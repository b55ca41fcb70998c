"""Compile a regex and the word problem of A5, watch them denoise, and set them beside chain of thought."""

import random

from rich.console import Console

from unmask.console import show_comparison, show_run
from unmask.pipeline import compare_frameworks, compile_problem, compiler_of, run_word, verify_model

out = Console(highlight=False, soft_wrap=True)


def watch(problem: str, word: str, length: int) -> None:
    """Compile, and show the canvas after every step: · is a mask, reversed symbols are new."""
    model = compile_problem(problem, "mdm", length=length)
    weights = sum(t.parameters for t in model.transformers.values())
    out.print(f"\n[bold]{problem}[/bold]  N = {length}, {model.steps} steps, {model.padding} slots, {weights} weights")
    out.print(f"[dim]{compiler_of(problem).layout}[/dim]")
    show_run(model, run_word(model, word), canvas=True)


out.print("[bold]A masked diffusion model that recognises a regular language in ⌈log2 N⌉ steps[/bold]")
out.print("Each slot is the product of a factor of the word; the planner unmasks a slot once both its factors stand.")
watch("regex:(a|b)*abb", "aabababbabbaababb", 17)
watch("regex:(a|b)*abb", "aabababbabbaababa", 17)

a5 = compiler_of("group:A5").automaton
watch("group:A5", a5.random_word(12, accepted=True, rng=random.Random(1)) or "", 12)

model = compile_problem("regex:(a|b)*abb", "mdm", length=7)
verdict = verify_model(model, method="exhaustive")
out.print(f"\nEvery word of length 7, against re.fullmatch: {verdict.status} on {verdict.cases} words.\n")

show_comparison("group:A5", list(compare_frameworks("group:A5", [8, 16, 32])))
