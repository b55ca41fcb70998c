"""An independent checker of certificates: certificate × model folder → what was checked, or `Refused` with the reason.

It shares nothing with the prover on purpose, not even the code for a layer or an expression: it imports F_p, the
reader of model folders, and errors.

    certificate         the form of a certificate of a proof by induction; results and exit codes
    check_induction     `python -m unmask.checker`: one model, every word of its length
    checked_tables      the tables of such a certificate, computed again from the weights
    families            `python -m unmask.checker.families`: one family of models, every length
    family_form         the form of its certificate: formulas, columns, letters
    family_weights      the weights of the family: comparison with a model folder, heads, rows
    family_tables       what rows can hold, as tables computed from the weights
    family_positions    the layout of the rows for every N, as questions to an SMT solver
"""
