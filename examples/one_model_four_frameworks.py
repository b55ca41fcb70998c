"""One model in four frameworks: the paper's simulations as maps from weights to weights, with their prices."""

# %% A masked diffusion model for words of four letters
from unmask import compile_problem, convert_model, run_word, verify_model

PROBLEM = "(a|b)*abb"
source = compile_problem(PROBLEM, "mdm", length=4)
print(source)

# %% The same model as a looped transformer, a parallel chain of thought and a chain of thought
# `convert_model` yields one conversion after the other: a chain of thought takes two theorems.
models = {"mdm": source}
for kind in ("plt", "pcot", "cot"):
    for theorem, conversion in convert_model(source, kind):
        models[kind] = conversion.model
        print(f"{kind:>4} by {theorem.stem} ({theorem.label})")

# %% One word
for model in models.values():
    print(run_word(model, "babb"))

# %% Every word: a, b and anything else, 3^4 of them, first by running them all, then by a proof from the weights
for kind in ("plt", "pcot", "cot"):
    run = verify_model(models[kind], against=source, method="exhaustive")
    proof = verify_model(models[kind], against=source, method="prove")
    print(f"{kind:>4} against mdm: {run.status} on {run.cases} words, {proof.status} for every word")

# %% What it costs
# A conversion does not use the problem, so its models are larger. The columns on the right are the sizes of the models
# that are compiled directly for each framework.
print("     converted            compiled")
print("     steps  space  width  steps  space  width")
for kind, model in models.items():
    compiled = compile_problem(PROBLEM, kind, length=4)
    sizes = [(m.steps, m.padding, max(t.width for t in m.transformers.values())) for m in (model, compiled)]
    print(f"{kind:>4}", *(f"{size:>6}" for size in (*sizes[0], *sizes[1])))
