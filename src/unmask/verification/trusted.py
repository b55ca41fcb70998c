"""The modules that a proof of a model trusts: every module that the prover imports, directly or indirectly.

With a certificate, only `checker`, `numerics` and the reader of model folders are trusted. Without one, an error in a
module of this list may make a proof wrong. A test computes the set from the imports, inside functions too, and compares
it, so that a module is added only on purpose. `make architecture` writes docs/background/trusted-modules.md from it.
What a proof for every length trusts is described in docs/background/every-length.md.
"""

CHECKERS = ("checker/__main__",)
"""The entry points of the checker: with a certificate, everything that they import is trusted, and nothing else."""

PROVERS = ("verification/words/equivalence",)
"""The entry points of proofs; everything that they import is trusted."""

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
    "problems/circuits": ("circuit", "circuit_families", "circuit_files"),
    "problems/regexes": ("determinisation", "nfa", "regex_parser"),
    "reasoners": ("array_medium", "decoding", "loops", "planners", "run_words", "typed_words"),
    "recurrences": ("__init__", "interpreter", "rule_functions", "slots", "system", "unfolding"),
    "traces": ("notebook", "trace"),
    "verification": ("transformer_layer", "verdict"),
    "verification/words": (
        "deciders",
        "equivalence",
        "extraction",
        "induction",
        "network",
        "references",
        "sat_sweeping",
        "statewise_induction",
        "symbolic_heads",
        "symbolic_layers",
    ),
    "weights": ("config_json", "kinds", "matrices", "model", "size_limits", "storage", "tensors", "transformer"),
}
"""Package → its trusted modules."""
