"""Regular languages in logarithmically many steps (thm:regular-languages-in-mdm-efficient)."""

# %% A regex becomes a planner and a predictor
# There is a slot for every inner node of a balanced tree over the word. A slot holds the effect of its factor of the
# word on the states of the automaton. The planner selects a slot once both of its halves are written.
from unmask import compile_problem, run_word, verify_model

ENDS_IN_ABB = "(a|b)*abb"
WORD = "ababaabb"
model = compile_problem(ENDS_IN_ABB, "mdm", length=len(WORD))
trace = run_word(model, WORD, record=True)
print(model)
print(trace)

# %% Four slots, then two, then the answer: · is a mask
for step, symbols in enumerate(trace.canvas_symbols, start=1):
    print(f"step {step}:", *("·" if symbol == model.mask else symbol for symbol in symbols))

# %% The order matters
# One slot at a time from the leaves up is also correct, but slow. With three slots at a time in an order that ignores
# the tree, the predictor has to write slots whose halves are still masked.
for planner in (None, "left-to-right:1", "left-to-right:3", "uniform:3", "confidence:3"):
    other = run_word(model, WORD, planner=planner)
    print(f"{planner or 'its own planner':<16}", "accepted" if other.accepted else "rejected", other.steps_taken)

# %% ⌈log2 N⌉ steps, whatever the regex is
# A chain of thought that runs the automaton takes N steps. The second language is parity.
LENGTHS = (8, 64, 512)
print("steps at N =", *LENGTHS)
for regex in (ENDS_IN_ABB, "(0*10*1)*0*", "(a|b)*abba(a|b)*"):
    for kind in ("mdm", "cot"):
        print(f"{regex:<17} {kind}", *(compile_problem(regex, kind, length=n).steps for n in LENGTHS))

# %% The answer is correct for every word
# There are 3^64 words of 64 letters (a, b, anything else). A proof from the weights covers them all.
verdict = verify_model(compile_problem(ENDS_IN_ABB, "mdm", length=64), method="prove")
print(verdict.status, "by", verdict.proof["by"] if verdict.proof else verdict.reason)

# %% In a notebook this cell shows the run step by step: what every slot read and contained
trace  # noqa: B018
