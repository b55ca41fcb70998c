"""The checks of the items of the paper. Each check runs cases and can fail.

Effort → Evidence: a check takes an `Effort`, which scales its number of cases. It returns a description of the cases
and their number, or raises `Refuted` (`evidence`). `unmask paper ITEM --check` runs the check of one item.

    number_checks, gadget_checks              numbers of F_p, layers, decoding; the gadget lemmas
    framework_checks, masking_process         the frameworks, compared with their definitions
    theorem_checks, space_checks              conversions between frameworks; space
    circuit_checks, uniform_circuit_checks    circuits, and that both directions are uniform
    problem_checks                            regular languages and other problems
    own_result_checks                         results that are not in the paper
"""
