"""The modules that a proof of a model trusts: every module that the prover imports, directly or indirectly.

With a certificate, only the modules that its checker imports are trusted (`CHECKERS`). Without one, an error in a
module of `TRUSTED` may make a proof wrong. A test computes the set from the imports, also those inside functions, and
compares it, so that a module is added only on purpose. `make architecture` writes docs/background/trusted-modules.md
from it. docs/background/every-length.md describes what a proof for every length trusts.
"""

CHECKERS = {".induction.json": "checker/__main__", ".family.json": "checker/families"}
"""Ending of a certificate → the entry point of its checker."""

PROVERS = ("verification/words/equivalence",)
"""The entry points of proofs about one model."""

TRUSTED: dict[str, tuple[str, ...]] = {
    "engines": ("prepared_weights", "visible_keys"),
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
    "reasoners": ("decoding", "loops", "typed_words"),
    "recurrences": ("__init__", "interpreter", "rule_functions", "slots", "system", "unfolding"),
    "verification": ("transformer_layer", "verdict", "word_encoding"),
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
