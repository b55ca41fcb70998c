"""Regular languages in logarithmically many steps (thm:regular-languages-in-mdm-efficient)."""

# %% A regex becomes a planner and a predictor
# There is a slot for every inner node of a balanced tree over the word. A slot holds what its factor of the word does
# to the states of the automaton, and the planner takes a slot once both of its halves stand.
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
# One slot at a time, from the leaves up, is right as well, but slow. Three at a time in an order that does not know the
# tree, and the predictor has to write slots whose halves are still masked.
for planner in (None, "left-to-right:1", "left-to-right:3", "uniform:3", "confidence:3"):
    other = run_word(model, WORD, planner=planner)
    print(f"{planner or 'its own planner':<16}", "accepted" if other.accepted else "rejected", other.steps_taken)

# %% ⌈log2 N⌉ steps, whatever the regex is
# A chain of thought that walks through the automaton takes N. The second language is parity.
LENGTHS = (8, 64, 512)
print("steps at N =", *LENGTHS)
for regex in (ENDS_IN_ABB, "(0*10*1)*0*", "(a|b)*abba(a|b)*"):
    for kind in ("mdm", "cot"):
        print(f"{regex:<17} {kind}", *(compile_problem(regex, kind, length=n).steps for n in LENGTHS))

# %% And every word is right
# There are 3^64 words of 64 letters (a, b, anything else). No run reaches them all; a proof from the weights does.
verdict = verify_model(compile_problem(ENDS_IN_ABB, "mdm", length=64), method="prove")
print(verdict.status, "by", verdict.proof["by"] if verdict.proof else verdict.reason)

# %% In a notebook this cell is the run, to step through: what every slot read, held and was chosen for
trace  # noqa: B018
