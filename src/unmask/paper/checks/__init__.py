"""The checks behind the items of the paper: each runs something, and can fail.

Effort → Evidence: a check gets an `Effort`, which scales its number of cases, and returns what was run and how many
cases. A check that fails raises (`evidence`). `unmask paper ITEM --check` runs the check of one item.

    number_checks, gadget_checks              numbers of F_p, layers, decoding; the gadget lemmas
    framework_checks, masking_process         the frameworks, compared with their definitions
    theorem_checks, space_checks              conversions between frameworks; space
    circuit_checks, uniform_circuit_checks    circuits, and that both directions are uniform
    problem_checks                            regular languages and other problems
    own_result_checks                         results that are not in the paper
"""
