"""Check a proof for every length: certificate × model folders × solver → what was checked, or `Refused`.

`python -m unmask.checker.families CERTIFICATE [FOLDER …] [--solver COMMAND] [--questions FILE]`. Exit code 0: checked,
1: refused, 2: error. Instead of asking a solver, --questions writes the questions to a file, as SMT-LIB.

    1. heads       each reads the row given by its formula, for any number of bits          `family_weights`
    2. positions   the formulas place the rows as claimed, for every N; asked of a solver   `family_positions`
    3. rows        the tables of a row, recomputed entry by entry                           `family_tables`
    4. language    pairs are closed under the tables, and the answers are the automaton's   `family_tables`
    5. folders     the given model folders are the family's, entry by entry                 `family_weights`

So for every N from the least one on, the family's model gives the automaton's answers, with the steps, slots and rows
that `family_positions` states. The docstrings argue that the five parts imply this; no machine checks the argument.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unmask.checker import family_form, family_positions
from unmask.checker.certificate import Refused, need, read_certificate, run_checker
from unmask.checker.family_form import letters_of
from unmask.checker.family_positions import Solver, SolverQuestions
from unmask.checker.family_tables import ListedMaps, ListedPairs, LoopTables, NodeTables, check_chain
from unmask.checker.family_weights import FamilyRows, check_copying, compare, read_of
from unmask.errors import UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.weights.model import Model
from unmask.weights.storage import load

TRANSFORMER_NAMES = {"mdm": ["planner", "predictor"], "smdm": ["planner", "predictor"]}
LEAST_LENGTHS = {"cot": 1}  # other kinds: 2
HEAD_COUNTS = {"plt": 4, "cot": 1}  # per transformer; other kinds: 2


class FamilyCheck:
    """The check of one certificate, part by part; `entries` counts the computed entries of tables."""

    def __init__(self, claimed: family_form.FamilyCertificate) -> None:
        self.claimed, self.precision, kind = claimed, Precision(claimed.precision), claimed.kind
        least, names = LEAST_LENGTHS.get(kind, 2), TRANSFORMER_NAMES.get(kind, ["model"])
        need(claimed.least == least, f"the family of a {kind} does not start at N = {least}")
        by_name = (claimed.programs, claimed.proof.scores, claimed.proof.flags)
        need(all([*fields] == names for fields in by_name), f"the transformers are not {' and '.join(names)}, in order")
        self.questions = SolverQuestions(claimed.least)
        self.letters = letters_of(claimed.automaton, claimed.frame)
        expected_roles = {"plt": (False, True), "cot": (False, False)}.get(kind, (True, False))
        has_roles = claimed.frame.mask is not None, claimed.frame.pad is not None
        need(has_roles == expected_roles, f"a {kind} has other special symbols")
        need((claimed.frame.block is None) == (kind != "pcot"), "pcot has no symbols per step, or another kind has")
        need(bool(self.letters), "there are no letters")
        symbols = len(claimed.frame.vocabulary)
        self.rows = {name: FamilyRows(program, symbols, self.precision) for name, program in claimed.programs.items()}
        for name, program in claimed.programs.items():
            need(program.outputs == (2 if name == "planner" else symbols), f"the {name} has another number of outputs")
        self.entries = 0

    def token(self, symbol: str | None) -> int:
        return self.claimed.frame.vocabulary.index(symbol or "")

    def check_positions(self) -> None:
        """Check the heads, and collect all questions (parts 1 and 2)."""
        claimed, kind = self.claimed, self.claimed.kind
        check_copying(self.precision)
        family_positions.ask_frame(self.questions, kind, claimed.frame, claimed.programs)
        reads = {name: [*self._heads(name, program)] for name, program in claimed.programs.items()}
        count = HEAD_COUNTS.get(kind, 2)
        need(all(len(heads) == count for heads in reads.values()), "the number of heads is not the kind's")
        family_positions.ask_layout(self.questions, kind, reads)
        regions = [*family_positions.REGIONS[family_positions.layout_of(kind)]]
        for name, program in claimed.programs.items():
            family_positions.define_flags(self.questions, name, program.columns)
            need([*claimed.proof.flags[name]] == regions, f"flags are not those of {', '.join(regions)}, in order")
            for region, listed in claimed.proof.flags[name].items():
                need(listed == sorted(map(list, {*map(tuple, listed)})), "flags are not in order, or listed twice")
                need(all(len(values) == len(self.rows[name].flags) for values in listed), "flags have a wrong length")
                family_positions.ask_flags(self.questions, kind, name, program.columns, region, listed)

    def _heads(self, name: str, program: family_form.FamilyProgram) -> Iterable[str]:
        """Check every head of a program; yield the name of its address in the questions."""
        causal = self.claimed.kind in ("cot", "pcot")
        need((program.attention == "causal") == causal, f"the attention is not that of a {self.claimed.kind}")
        need((program.loop is not None) == (self.claimed.kind == "plt"), "a plt has no loop, or another kind has one")
        written = {*self.rows[name].written.tolist()}
        ones = {c for c, column in enumerate(program.columns) if column == ["flag", 1] and c not in written}
        heads = [(i, h) for i, layer in enumerate(program.layers) for h in range(len(layer.heads))]
        listed = self.claimed.proof.scores[name]
        need(len(listed) == len(heads), "scores are not listed for every head")
        for (i, h), states in zip(heads, listed, strict=True):
            head = program.layers[i].heads[h]
            read = read_of(head, program.columns, ones, self.precision, states)
            family_positions.ask_read(self.questions, self.claimed.kind, f"{name}.{i}.{h}", read, causal=causal)
            yield f"{name}.{i}.{h}"

    def check_tables(self) -> None:
        """Check the tables of the rows, and the language (parts 3 and 4)."""
        claimed, proof, automaton = self.claimed, self.claimed.proof, self.claimed.automaton
        words = np.array([self.token(claimed.frame.reject), self.token(claimed.frame.accept)])
        states = len(automaton.delta)
        if claimed.kind == "cot":
            verdicts = words[np.array(automaton.accepting, dtype=np.int64)]
            self.entries += check_chain(self.rows["model"], proof, self.letters, states, verdicts)
            return
        maps = ListedMaps(proof.elements, states)
        verdicts = words[maps.accepting(automaton.accepting).astype(np.int64)]
        if claimed.kind == "plt":
            loop = LoopTables(self.rows["model"], proof, self.precision)
            start, product_table, answers = loop.check(proof, self.letters, self.token(claimed.frame.pad))
            pairs = ListedPairs(proof.pairs, maps, start)
            need(pairs.contents == [*range(len(loop.vectors))], "pairs do not name all listed contents")
            pairs.check_closed(product_table)
            pairs.check_answers(answers, verdicts)
            self.entries += product_table.size + answers.size
            return
        need(proof.held is None, "contents are listed although rows contain symbols")
        mask = self.token(claimed.frame.mask)
        neutral = [(mask, maps.identity)] if claimed.kind == "pcot" else []
        pairs = ListedPairs(proof.pairs, maps, [*self.letters, *neutral])
        need(max(pairs.contents) < len(claimed.frame.vocabulary), "a pair names a symbol that is not in the vocabulary")
        self._check_node(pairs, mask, verdicts, words)

    def _check_node(self, pairs: ListedPairs, mask: int, verdicts: np.ndarray, words: np.ndarray) -> None:
        """Check the tables of a product tree and, in diffusion, when a slot is taken."""
        claimed, kind, flags = self.claimed, self.claimed.kind, self.claimed.proof.flags
        predictor = "predictor" if "predictor" in self.rows else "model"
        diffusion = kind != "pcot"
        need(not diffusion or mask not in pairs.contents, "a pair names the mask")

        def predicted(logits: np.ndarray) -> np.ndarray:
            if diffusion:
                logits[:, mask] = -(1 << 40)
            return logits.argmax(axis=1)

        def is_above_least(logits: np.ndarray) -> np.ndarray:
            logits[:, mask] = -(1 << 40)
            return logits.max(axis=1) > -self.precision.bound

        node = NodeTables(self.rows[predictor], flags[predictor], pairs.contents)
        need([*claimed.proof.tables] == ["inner", "last"], "the tables are not inner and last, in this order")
        for name, listed in claimed.proof.tables.items():
            table = node.table(mask, name, predicted)
            need(listed == table.tolist(), f"the table {name} is not what the weights compute")
            self.entries += table.size
            if name == "inner":
                pairs.check_closed(table)
            else:
                pairs.check_answers_of_two(table, verdicts)
        if diffusion:
            decider = "model" if kind == "topk" else "planner"
            tokens = [mask, *sorted({*pairs.contents, *words.tolist()})]
            planner = NodeTables(self.rows[decider], flags[decider], [mask, *pairs.contents])
            planner.check_taken(tokens, is_above_least if kind == "topk" else lambda out: out.argmax(axis=1) == 1)


def check(
    document: Any, models: Iterable[Model], solver: Solver | None, *, sealed: bool = True
) -> tuple[str, FamilyCheck]:
    """Return (what was checked, the check); without a solver, another program has to answer the questions."""
    checked = FamilyCheck(family_form.read_family(document, sealed=sealed))
    compared = {model.length: compare(checked.claimed, model) for model in models}
    checked.check_positions()
    checked.check_tables()
    questions = checked.questions.texts
    if solver is not None:
        for name, question in questions.items():
            answer = solver(question)
            if answer != "unsat":
                raise Refused(f"{name}: the solver answers {answer!r}, not unsat")
    return _description(checked, compared, solved=solver is not None), checked


def _description(checked: FamilyCheck, compared: dict[int, int], *, solved: bool) -> str:
    claimed = checked.claimed
    folders = ", ".join(f"N = {length} ({entries:,} numbers)" for length, entries in sorted(compared.items()))
    questions = f"{len(checked.questions.texts)} questions"
    return (
        f"checked for every N >= {claimed.least}: the {claimed.kind} of the certificate, in F_{claimed.precision}, "
        f"decides what its automaton does; {checked.entries:,} entries of tables were computed; "
        + (f"the solver answered {questions} with unsat; " if solved else f"trusted: unsat to {questions}; ")
        + (f"folders that are the family's: {folders}" if compared else "no folder was compared")
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m unmask.checker.families", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("certificate", type=Path, metavar="CERTIFICATE.family.json")
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="folders to compare, of any N")
    parser.add_argument("--solver", metavar="COMMAND", help="reads SMT-LIB and answers; by default z3 or cvc5")
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="write the questions to FILE instead of asking a solver"
    )
    try:
        options = parser.parse_args(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return run_checker(lambda: _checked(options))


def _checked(options: argparse.Namespace) -> str:
    solver = None if options.questions is not None else family_positions.solver_named(options.solver)
    if solver is None and options.questions is None:
        raise UnmaskError(
            "no SMT solver was found; name one with --solver, or write the questions to a file with --questions"
        )
    document = read_certificate(options.certificate)
    description, checked = check(document, (load(folder) for folder in options.folders), solver)
    if options.questions is not None:
        entries = (f"; {name}\n{text}(reset)\n" for name, text in checked.questions.texts.items())
        try:
            with options.questions.open("x", encoding="utf-8") as file:  # replaces nothing
                file.write("".join(entries))
        except OSError as error:
            raise UnmaskError(f"{options.questions} cannot be written: {error.strerror}; choose another name") from None
    return description


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
