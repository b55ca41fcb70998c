"""Certificate × folders × solver → what was checked, in a sentence; Refused if it proves nothing.

    1. heads       each reads the row that its formula names, for any number of bits           `scores`
    2. positions   what the formulas say of every N                                            `layouts`, a solver
    3. rows        tables of what a row takes, entry by entry                                  `nodes`, `chain`, `loop`
    4. language    pairs closed under the tables, answered as the automaton does               `products`
    5. folders     those that are given are the family's, entry by entry                       `instance`

So, for every N from the least on, the family's model decides what the automaton does, with the steps, slots and rows
that `layouts` states. That the argument of `layouts` and of the tables implies this is not checked by a machine.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from unmask.checker.certificate import Refused, need
from unmask.checker.families import form, layouts
from unmask.checker.families.chain import check_chain
from unmask.checker.families.instance import compare
from unmask.checker.families.letters import letters_of
from unmask.checker.families.loop import Loop
from unmask.checker.families.nodes import Node
from unmask.checker.families.products import Maps, Pairs
from unmask.checker.families.questions import Questions
from unmask.checker.families.rows import Rows
from unmask.checker.families.scores import copies, read_of
from unmask.checker.families.solver import Solver
from unmask.numerics.precision import Precision
from unmask.weights.model import Model

NAMES = {"mdm": ["planner", "predictor"], "smdm": ["planner", "predictor"]}
LEAST = {"cot": 1}
HEADS = {"plt": 4, "cot": 1}


class Check:
    """One certificate, part by part; `entries` counts what was computed."""

    def __init__(self, claimed: form.Certificate) -> None:
        self.claimed, self.precision, kind = claimed, Precision(claimed.precision), claimed.kind
        need(claimed.least == LEAST.get(kind, 2), f"the family of a {kind} starts at {LEAST.get(kind, 2)}")
        names = NAMES.get(kind, ["model"])
        parts = (claimed.programs, claimed.proof.scores, claimed.proof.flags)
        need(all([*part] == names for part in parts), f"a {kind} has {' and '.join(names)}, in this order")
        self.questions = Questions(claimed.least)
        self.letters = letters_of(claimed.automaton, claimed.frame)
        roles = {"plt": (False, True), "cot": (False, False)}.get(kind, (True, False))
        has = claimed.frame.mask is not None, claimed.frame.pad is not None
        need(has == roles, f"a {kind} has another mask or pad")
        need((claimed.frame.block is None) == (kind != "pcot"), "symbols per step belong to pcot")
        need(bool(self.letters), "there are no letters")
        symbols = len(claimed.frame.vocabulary)
        self.rows = {name: Rows(program, symbols, self.precision) for name, program in claimed.programs.items()}
        for name, program in claimed.programs.items():
            need(program.outputs == (2 if name == "planner" else symbols), f"the {name} has other outputs")
        self.entries = 0

    def token(self, symbol: str | None) -> int:
        return self.claimed.frame.vocabulary.index(symbol or "")

    def positions(self) -> None:
        """1 and 2: the heads, and all questions."""
        claimed, kind = self.claimed, self.claimed.kind
        copies(self.precision)
        layouts.ask_frame(self.questions, kind, claimed.frame, claimed.programs)
        reads = {name: [*self._heads(name, program)] for name, program in claimed.programs.items()}
        need(all(len(heads) == HEADS.get(kind, 2) for heads in reads.values()), "there are other heads than expected")
        layouts.ask_layout(self.questions, kind, reads)
        regions = [*layouts.REGIONS[layouts.layout_of(kind)]]
        for name, program in claimed.programs.items():
            layouts.define_flags(self.questions, name, program.columns)
            need([*claimed.proof.flags[name]] == regions, f"flags are listed for {', '.join(regions)}, in this order")
            for region, listed in claimed.proof.flags[name].items():
                need(listed == sorted(map(list, {*map(tuple, listed)})), "flags are not in order, each once")
                need(all(len(values) == len(self.rows[name].flags) for values in listed), "flags are too few or many")
                layouts.ask_flags(self.questions, kind, name, program.columns, region, listed)

    def _heads(self, name: str, program: form.Program) -> Iterable[str]:
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
            layouts.ask_read(self.questions, self.claimed.kind, f"{name}.{i}.{h}", read, causal=causal)
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
        maps = Maps(proof.elements, states)
        verdicts = words[maps.accepting(automaton.accepting).astype(np.int64)]
        if claimed.kind == "plt":
            loop = Loop(self.rows["model"], proof, self.precision)
            start, made, said = loop.check(proof, self.letters, self.token(claimed.frame.pad))
            pairs = Pairs(proof.pairs, maps, start)
            need(pairs.held == [*range(len(loop.held))], "pairs do not name all stored numbers")
            pairs.closed(made)
            pairs.each_answered(said, verdicts)
            self.entries += made.size + said.size
            return
        need(proof.held is None, "rows hold symbols")
        mask = self.token(claimed.frame.mask)
        neutral = [(mask, maps.identity)] if claimed.kind == "pcot" else []
        pairs = Pairs(proof.pairs, maps, [*self.letters, *neutral])
        need(max(pairs.held) < len(claimed.frame.vocabulary), "a pair names a symbol that is not in the vocabulary")
        self._node(pairs, mask, verdicts, words)

    def _node(self, pairs: Pairs, mask: int, verdicts: np.ndarray, words: np.ndarray) -> None:
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

        node = Node(self.rows[predictor], flags[predictor], pairs.held)
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
            planner = Node(self.rows[decider], flags[decider], [mask, *pairs.held])
            planner.taken(own, 0, sure if kind == "topk" else lambda logits: logits.argmax(axis=1) == 1)


def check(document: Any, models: Iterable[Model], solver: Solver | None, *, sealed: bool = True) -> tuple[str, Check]:
    """What was checked; without a solver its questions are left to whoever has one."""
    checked = Check(form.read(document, sealed=sealed))
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


def _sentence(checked: Check, compared: dict[int, int], *, solved: bool) -> str:
    claimed = checked.claimed
    folders = ", ".join(f"N = {length} ({entries:,} numbers)" for length, entries in sorted(compared.items()))
    questions = f"{len(checked.questions.asked)} questions"
    return (
        f"checked for every N >= {claimed.least}: the {claimed.kind} of the certificate, in F_{claimed.precision}, "
        f"decides what its automaton does; {checked.entries:,} entries of tables were computed; "
        + (f"the solver answered {questions} with unsat; " if solved else f"trusted: unsat to {questions}; ")
        + (f"folders that are the family's: {folders}" if compared else "no folder was compared")
    )
