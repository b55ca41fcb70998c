"""What a proof trusts: every module that the provers import, directly or not, inside functions too.

A test computes this set from the code and compares. docs/background/trusted-modules.md is written from it (`make
architecture`). A module enters this list only because a person lets it in: if it is wrong, a proof may be. What a proof
for every length trusts is on docs/background/every-length.md.
"""

PROVERS = ("verification/proofs/equivalence",)
"""Where a proof is made; what they import is trusted with them."""

TRUSTED: dict[str, tuple[str, ...]] = {
    "engines": ("engine", "prepared_weights", "visible_keys"),
    "errors": ("errors",),
    "expressions": ("expressions",),
    "files": ("files",),
    "limits": ("limits",),
    "numerics": ("arithmetic", "array_types", "compact", "noise"),
    "problems/automata": ("automaton", "characters", "groups_and_monoids"),
    "problems": (
        "catalogue",
        "circuit_problems",
        "context_free_grammars",
        "expression_problems",
        "expression_shapes",
        "grammar_problems",
        "problem",
        "program_problems",
        "regular_problems",
    ),
    "problems/circuits": ("circuit", "circuit_families", "circuit_files", "textbook_circuits"),
    "problems/regexes": ("determinisation", "nfa", "regex_parser"),
    "reasoners": ("array_medium", "decoding", "loops", "planners", "run_words", "typed_words"),
    "recurrences": ("__init__", "interpreter", "rule_functions", "slots", "system", "unfolding"),
    "traces": ("notebook", "trace"),
    "verification/proofs": (
        "certificate",
        "clauses",
        "equivalence",
        "grammar_side",
        "induction",
        "induction_certificate",
        "network_gates",
        "pointwise",
        "questions",
        "recurrence_side",
        "sides",
        "specified",
        "sweeping",
        "unit_propagation",
    ),
    "verification/question": ("letters", "outcomes", "question", "standard", "verdict"),
    "verification/symbolic": (
        "embedding",
        "extract",
        "forward",
        "head",
        "key_scores",
        "liveness",
        "medium",
        "meeting",
        "network",
        "partition",
        "projections",
        "readers",
        "renaming",
        "residual_sum",
        "row",
        "rows",
        "shapes",
    ),
    "weights": ("config_json", "kinds", "matrices", "model", "size_limits", "storage", "tensors", "transformer"),
}
"""Place → its trusted modules."""
