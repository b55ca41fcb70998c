"""Time proofs, and a SAT solver alone on the same question.

Writes the tables of docs/reference/proof-times.md.
"""

import time
from pathlib import Path

from pages import table, write_page
from pysat.solvers import Solver

from unmask.api import compile_problem, convert_model, verify_model
from unmask.problems.catalogue import parse_problem
from unmask.verification.word_encoding import WordEncoding
from unmask.verification.words.deciders import decider_of, miter
from unmask.verification.words.sat_sweeping import constant_clause, difference_clauses, gate_clauses

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "proof-times.md"
CONFLICTS = 100_000

PROVED = [
    ("(a|b)*abb", "mdm", 64, None),
    ("(a|b)*abb", "mdm", 256, None),
    ("(a|b)*abb", "plt", 256, None),
    ("(a|b)*abb", "cot", 256, None),
    ("(a|b)*abb", "mdm", 64, "smdm"),
    ("(a|b)*abb", "mdm", 64, "plt"),
    ("(a|b)*abb", "pcot", 8, "mdm"),
    ("(a|b)*abb", "plt", 3, "mdm"),
    ("group:A5", "mdm", 64, None),
    ("group:A5", "plt", 64, None),
    ("family:parity", "mdm", 128, None),
    ("family:addition", "mdm", 64, None),
]
ALONE = [("group:S3", length) for length in (8, 16, 24, 32, 64)] + [("group:A5", length) for length in (4, 8)]


def proofs():
    """Yield (problem, model, N, rows, method, seconds) of each proof."""
    for problem, kind, length, to in PROVED:
        model = compile_problem(problem, kind, length=length)
        for _, conversion in convert_model(model, to) if to else ():
            model = conversion.model
        start = time.process_time()
        verdict = verify_model(model, method="prove")
        seconds = time.process_time() - start
        assert verdict.status == "proved", (problem, kind, length, to, verdict)
        by = verdict.proof["by"].split(" over")[0]
        yield (
            f"`{problem.replace('|', chr(92) + '|')}`",
            f"{kind} → {to}" if to else kind,
            length,
            model.rows,
            by,
            seconds,
        )


def alone():
    """Yield (problem, N, seconds of our proof, seconds of the solver alone, its outcome) on the same two circuits."""
    for problem, length in ALONE:
        model = compile_problem(problem, "mdm", length=length)
        start = time.process_time()
        assert verify_model(model, method="prove").status == "proved"
        ours = time.process_time() - start
        circuit, pairs = _miter(model, parse_problem(problem))
        start = time.process_time()
        solved, conflicts = _solve(circuit, pairs)
        theirs = time.process_time() - start
        outcome = {None: "gives up", False: "proves it"}[solved]
        yield f"`{problem}`", length, ours, theirs, f"{outcome} after {conflicts:,} conflicts"


def _miter(model, problem):
    """The model and the specification of its problem as one circuit, and the pairs that must be equal."""
    letters = list(model.input_symbols)
    deciders = decider_of(model, letters, 1), decider_of(problem.specification(model.length), letters, 1)
    return miter(deciders, WordEncoding(len(letters), model.length))


def _solve(circuit, pairs):
    """Run the solver on the miter as it is; return (answer or None after too many conflicts, conflicts)."""
    with Solver(name="cadical195") as solver:
        solver.add_clause(constant_clause())
        for k, gate in enumerate(circuit.gates):
            for clause in gate_clauses(circuit.first_gate + k, gate):
                solver.add_clause(clause)
        for clause in difference_clauses(circuit, pairs)[1]:
            solver.add_clause(clause)
        solver.conf_budget(CONFLICTS)
        return solver.solve_limited(), solver.accum_stats()["conflicts"]


def main():
    """Measure, and write the tables."""
    ours, theirs = list(proofs()), list(alone())
    tables = {
        "proofs": table(
            ("problem", "model", "N", "rows", "method", "seconds"), [(*row[:-1], f"{row[-1]:.1f}") for row in ours]
        ),
        "alone": table(
            ("problem", "N", "ours, seconds", "solver alone, seconds", "the solver alone"),
            [(name, n, f"{mine:.2f}", f"{its:.2f}", outcome) for name, n, mine, its, outcome in theirs],
        ),
    }
    write_page(PAGE, tables)
    print("\n".join(line for lines in tables.values() for line in lines))


if __name__ == "__main__":
    main()
