"""Check a proof for every length: certificate × model folders × solver → what was checked, or `Refused`.

`python -m unmask.checker.families CERTIFICATE [FOLDER …] [--solver COMMAND] [--questions FILE]`. Exit code 0: checked,
1: refused, 2: error. Without a solver, --questions writes what should be asked, as SMT-LIB.

    1. heads       each reads the row that its formula names, for any number of bits    `family_weights`
    2. positions   what the formulas say about every N, asked of a solver               `family_positions`
    3. rows        tables of what a row takes, entry by entry                           `family_tables`
    4. language    pairs closed under the tables, answered as the automaton does        `family_tables`
    5. folders     the given model folders are the family's, entry by entry             `family_weights`

So for every N from the least one on, the family's model decides what the automaton does, with the steps, slots and rows
that `family_positions` states. That the five parts imply this is argued on paper, in the docstrings; it is not checked
by a machine.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unmask.checker import family_form, family_positions
from unmask.checker.certificate import Refused, need, outcome, read_certificate
from unmask.checker.family_form import letters_of
from unmask.checker.family_positions import Solver, SolverQuestions
from unmask.checker.family_tables import ListedMaps, ListedPairs, LoopTables, NodeTables, check_chain
from unmask.checker.family_weights import FamilyRows, compare, copies, read_of
from unmask.errors import UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.weights.model import Model
from unmask.weights.storage import load

NAMES = {"mdm": ["planner", "predictor"], "smdm": ["planner", "predictor"]}
LEAST = {"cot": 1}
HEADS = {"plt": 4, "cot": 1}


class FamilyCheck:
    """One certificate, part by part; `entries` counts what was computed."""

    def __init__(self, claimed: family_form.FamilyCertificate) -> None:
        self.claimed, self.precision, kind = claimed, Precision(claimed.precision), claimed.kind
        need(claimed.least == LEAST.get(kind, 2), f"the family of a {kind} starts at {LEAST.get(kind, 2)}")
        names = NAMES.get(kind, ["model"])
        parts = (claimed.programs, claimed.proof.scores, claimed.proof.flags)
        need(all([*part] == names for part in parts), f"a {kind} has {' and '.join(names)}, in this order")
        self.questions = SolverQuestions(claimed.least)
        self.letters = letters_of(claimed.automaton, claimed.frame)
        roles = {"plt": (False, True), "cot": (False, False)}.get(kind, (True, False))
        has = claimed.frame.mask is not None, claimed.frame.pad is not None
        need(has == roles, f"a {kind} has another mask or pad")
        need((claimed.frame.block is None) == (kind != "pcot"), "symbols per step belong to pcot")
        need(bool(self.letters), "there are no letters")
        symbols = len(claimed.frame.vocabulary)
        self.rows = {name: FamilyRows(program, symbols, self.precision) for name, program in claimed.programs.items()}
        for name, program in claimed.programs.items():
            need(program.outputs == (2 if name == "planner" else symbols), f"the {name} has other outputs")
        self.entries = 0

    def token(self, symbol: str | None) -> int:
        return self.claimed.frame.vocabulary.index(symbol or "")

    def positions(self) -> None:
        """1 and 2: the heads, and all questions."""
        claimed, kind = self.claimed, self.claimed.kind
        copies(self.precision)
        family_positions.ask_frame(self.questions, kind, claimed.frame, claimed.programs)
        reads = {name: [*self._heads(name, program)] for name, program in claimed.programs.items()}
        need(all(len(heads) == HEADS.get(kind, 2) for heads in reads.values()), "there are other heads than expected")
        family_positions.ask_layout(self.questions, kind, reads)
        regions = [*family_positions.REGIONS[family_positions.layout_of(kind)]]
        for name, program in claimed.programs.items():
            family_positions.define_flags(self.questions, name, program.columns)
            need([*claimed.proof.flags[name]] == regions, f"flags are listed for {', '.join(regions)}, in this order")
            for region, listed in claimed.proof.flags[name].items():
                need(listed == sorted(map(list, {*map(tuple, listed)})), "flags are not in order, each once")
                need(all(len(values) == len(self.rows[name].flags) for values in listed), "flags are too few or many")
                family_positions.ask_flags(self.questions, kind, name, program.columns, region, listed)

    def _heads(self, name: str, program: family_form.FamilyProgram) -> Iterable[str]:
        causal = self.claimed.kind in ("cot", "pcot")
        need((program.attention == "causal") == causal, f"a {self.claimed.kind} has another attention")
        need((program.loop is not None) == (self.claimed.kind == "plt"), "a loop belongs to plt")
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

    def tables(self) -> None:
        """3 and 4."""
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
            start, made, symbols_written = loop.check(proof, self.letters, self.token(claimed.frame.pad))
            pairs = ListedPairs(proof.pairs, maps, start)
            need(pairs.held == [*range(len(loop.held))], "pairs do not name all stored numbers")
            pairs.closed(made)
            pairs.each_answered(symbols_written, verdicts)
            self.entries += made.size + symbols_written.size
            return
        need(proof.held is None, "rows hold symbols")
        mask = self.token(claimed.frame.mask)
        neutral = [(mask, maps.identity)] if claimed.kind == "pcot" else []
        pairs = ListedPairs(proof.pairs, maps, [*self.letters, *neutral])
        need(max(pairs.held) < len(claimed.frame.vocabulary), "a pair names a symbol that is not in the vocabulary")
        self._node(pairs, mask, verdicts, words)

    def _node(self, pairs: ListedPairs, mask: int, verdicts: np.ndarray, words: np.ndarray) -> None:
        claimed, kind, flags = self.claimed, self.claimed.kind, self.claimed.proof.flags
        predictor = "predictor" if "predictor" in self.rows else "model"
        diffusion = kind != "pcot"
        need(not diffusion or mask not in pairs.held, "a row is said to hold m")

        def chosen(logits: np.ndarray) -> np.ndarray:
            if diffusion:
                logits[:, mask] = -(1 << 40)
            return logits.argmax(axis=1)

        def sure(logits: np.ndarray) -> np.ndarray:
            logits[:, mask] = -(1 << 40)
            return logits.max(axis=1) > -self.precision.bound

        node = NodeTables(self.rows[predictor], flags[predictor], pairs.held)
        need([*claimed.proof.tables] == ["inner", "last"], "a tree has the tables inner and last, in this order")
        for name, listed in claimed.proof.tables.items():
            table = node.table(mask, name, chosen)
            need(listed == table.tolist(), f"the table {name} is not what the weights compute")
            self.entries += table.size
            if name == "inner":
                pairs.closed(table)
            else:
                pairs.answered(table, verdicts)
        if diffusion:
            decider = "model" if kind == "topk" else "planner"
            own = [mask, *sorted({*pairs.held, *words.tolist()})]
            planner = NodeTables(self.rows[decider], flags[decider], [mask, *pairs.held])
            planner.taken(own, 0, sure if kind == "topk" else lambda logits: logits.argmax(axis=1) == 1)


def check(
    document: Any, models: Iterable[Model], solver: Solver | None, *, sealed: bool = True
) -> tuple[str, FamilyCheck]:
    """Return what was checked; without a solver the SMT queries remain to be checked by another program."""
    checked = FamilyCheck(family_form.read(document, sealed=sealed))
    compared = {model.length: compare(checked.claimed, model) for model in models}
    checked.positions()
    checked.tables()
    asked = checked.questions.asked
    if solver is not None:
        for name, question in asked.items():
            answer = solver(question)
            if answer != "unsat":
                raise Refused(f"{name}: the solver answers {answer!r}, not unsat")
    return _sentence(checked, compared, solved=solver is not None), checked


def _sentence(checked: FamilyCheck, compared: dict[int, int], *, solved: bool) -> str:
    claimed = checked.claimed
    folders = ", ".join(f"N = {length} ({entries:,} numbers)" for length, entries in sorted(compared.items()))
    questions = f"{len(checked.questions.asked)} questions"
    return (
        f"checked for every N >= {claimed.least}: the {claimed.kind} of the certificate, in F_{claimed.precision}, "
        f"decides what its automaton does; {checked.entries:,} entries of tables were computed; "
        + (f"the solver answered {questions} with unsat; " if solved else f"trusted: unsat to {questions}; ")
        + (f"folders that are the family's: {folders}" if compared else "no folder was compared")
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m unmask.checker.families", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("certificate", type=Path, metavar="CERTIFICATE.family.json")
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="folders to compare, of any N")
    parser.add_argument("--solver", metavar="COMMAND", help="reads SMT-LIB and answers; by default z3 or cvc5")
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="write the questions to FILE instead of asking a solver"
    )
    try:
        given = parser.parse_args(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return outcome(lambda: _checked(given))


def _checked(given: argparse.Namespace) -> str:
    asked = None if given.questions is not None else family_positions.found(given.solver)
    if asked is None and given.questions is None:
        raise UnmaskError(
            "no SMT solver was found; name one with --solver, or write the questions to a file with --questions"
        )
    document = read_certificate(given.certificate)
    sentence, checked = check(document, (load(folder) for folder in given.folders), asked)
    if given.questions is not None:
        parts = (f"; {name}\n{text}(reset)\n" for name, text in checked.questions.asked.items())
        try:
            with given.questions.open("x", encoding="utf-8") as file:  # replaces nothing
                file.write("".join(parts))
        except OSError as error:
            raise UnmaskError(f"{given.questions} cannot be written: {error.strerror}; choose another name") from None
    return sentence


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
