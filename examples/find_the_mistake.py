"""Find the mistake: one weight of 2,867 is wrong. A thousand words do not show it, but a proof does."""

# %% A correct model: words that contain abbabb
from dataclasses import replace

from unmask import Model, compile_problem, first_difference, run_word, verify_model
from unmask.weights import Matrix

right = compile_problem("(a|b)*abbabb(a|b)*", "mdm", length=16)
print(right, "with", sum(t.parameters for t in right.transformers.values()), "weights")
print(verify_model(right, method="prove").status)


# %% The same model with one weight of its predictor set to 0
def without(model: Model, entry: int) -> Model:
    """The model whose predictor lacks this entry of W2 in its first layer."""
    predictor = model.transformers["predictor"]
    first, *others = predictor.layers
    w2 = first.mlp.w2
    value = [0 if k == entry else v for k, v in enumerate(w2.value)]
    w2 = Matrix.from_entries(w2.shape, w2.row, w2.column, value)
    layers = (replace(first, mlp=replace(first.mlp, w2=w2)), *others)
    return replace(model, transformers={**model.transformers, "predictor": replace(predictor, layers=layers)})


wrong = without(right, 46)

# %% A thousand words do not find it: members, non-members, words one letter away from a member, random words
print(verify_model(wrong, method="sample", cases=1000).status)

# %% The proof fails, and its counterexample is a word
verdict = verify_model(wrong, method="prove")
print(verdict.status)
word = verdict.counterexample or ""
print(f"{word}: right is {verdict.expected}, the model is {verdict.got}")

# %% Run on both: all factors are the same, up to the last slot, which has to join aabbab and aabba
good, bad = run_word(right, word, record=True), run_word(wrong, word, record=True)
for name, trace in (("right", good), ("wrong", bad)):
    print(name, *trace.output)
print("first difference:", first_difference(good, bad))
