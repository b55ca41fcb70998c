"""Induction → certificate: what was found, for `unmask.checker`, which believes none of it.

Its form is that of `checker/certificate.py`: written in one way only, so that nothing in it can be changed unnoticed.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.problems.automata.automaton import Automaton, breadth_first
from unmask.verification.proofs.induction import Inductive, Relation
from unmask.verification.symbolic.extract import Extraction
from unmask.verification.symbolic.network import Cases
from unmask.weights.model import Model
from unmask.weights.storage import content_hash

FORMAT = "unmask-induction/2"

Numbers = dict[int, int]
"""Variable of the network → its number in the certificate."""


@dataclass(frozen=True)
class InductionCertificate:
    """A JSON document."""

    document: dict[str, Any]

    def files(self) -> dict[str, str]:
        return {".induction.json": json.dumps(self.document, separators=(",", ":")) + "\n"}


def named_variables(extraction: Extraction) -> list[int]:
    """The letters, and what slots (in a loop: rows) were cut to, with all that these depend on; there are no others."""
    slots = [] if extraction.model.kind == "plt" else [token.cases for step in extraction.steps for token in step]
    named = {v for cases in (*slots, *extraction.cut_rows.values()) for v in cases.variables}
    return sorted({*extraction.network.letters, *extraction.network.below(sorted(named))})


def induction_certificate(extraction: Extraction, automaton: Automaton, induction: Inductive) -> InductionCertificate:
    """The certificate of an induction that found no counterexample."""
    network, model = extraction.network, extraction.model
    number = {v: i for i, v in enumerate(named_variables(extraction))}
    states = breadth_first(automaton.delta.tolist(), automaton.start) if model.length else [automaton.start]
    rank = {q: i for i, q in enumerate(states)}
    images = [tuple(rank[q] for q in image[states].tolist()) if model.length else (0,) for image in induction.maps]
    pairs = {v: _pairs(relation, images) for v, relation in induction.relations.items() if v in number}
    elements = {image: i for i, image in enumerate(sorted({image for some in pairs.values() for _, image in some}))}
    listed = {v: sorted((value, elements[image]) for value, image in some) for v, some in pairs.items()}
    letters = listed[network.letters[0]] if network.letters else []
    return InductionCertificate(
        {
            "format": FORMAT,
            "model": content_hash(model),
            "automaton": _automaton(automaton, states, rank, model),
            "elements": [list(image) for image in elements],
            "letters": [list(pair) for pair in letters],
            "variables": [
                _variable(extraction, induction, v, number, listed.get(v))
                for v in number
                if network.variables[v].table is not None
            ],
            "steps": [] if model.kind == "plt" else _steps(extraction, number),
            "cuts": [
                [bool(scores), u, k, _only(cases, number)]
                for (scores, u, k), cases in sorted(extraction.cut_rows.items(), key=lambda cut: cut[0])
            ],
        }
    )


def _automaton(automaton: Automaton, states: list[int], rank: Numbers, model: Model) -> dict[str, Any]:
    """As the checker wants it: the start is state 0, and nothing is said of states that no word ends in."""
    if not model.length:
        return {"tokens": [], "characters": None, "delta": [[]], "accepting": [bool(automaton.accepting[states[0]])]}
    reached = {automaton.start}
    for _ in range(model.length):
        reached = set(np.unique(automaton.delta[sorted(reached)]).tolist())
    symbols, characters = list(model.input_symbols), automaton.characters
    order = range(len(automaton.tokens))
    if characters is None:
        order = sorted(order, key=lambda token: symbols.index(automaton.tokens[token]))
    return {
        "tokens": None if characters is not None else [automaton.tokens[token] for token in order],
        "characters": None if characters is None else [list(part) for part in characters],
        "delta": [[rank[q] for q in automaton.delta[state, order].tolist()] for state in states],
        "accepting": [bool(automaton.accepting[state]) if state in reached else None for state in states],
    }


def _pairs(relation: Relation, images: list[tuple[int, ...]]) -> set[tuple[int, tuple[int, ...]]]:
    return {(v, images[e]) for v, e in zip(relation.values.tolist(), relation.elements.tolist(), strict=True)}


def _variable(
    extraction: Extraction, induction: Inductive, v: int, number: Numbers, pairs: list[tuple[int, int]] | None
) -> dict[str, Any]:
    variable, relation = extraction.network.variables[v], induction.relations.get(v)
    assert variable.table is not None
    return {
        "parents": [number[u] for u in variable.parents],
        "table": variable.table.ravel().tolist(),
        "interval": None if relation is None else [relation.first, relation.last],
        "pairs": None if pairs is None else [list(pair) for pair in pairs],
    }


def _steps(extraction: Extraction, number: Numbers) -> list[list[int | None]]:
    """The slots after every step; of a chain of thought, those that are new."""
    model = extraction.model
    new = -(model.block or 1) if model.kind in ("cot", "pcot") else 0
    return [[_only(token.cases, number) for token in slots[new:]] for slots in extraction.steps]


def _only(cases: Cases, number: Numbers) -> int | None:
    """The variable of cases that were cut."""
    assert len(cases.variables) <= 1
    return number[cases.variables[0]] if cases.variables else None
