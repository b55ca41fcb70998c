"""The content of every cell, and whether it was written, edited or written again."""

import numpy as np

from unmask.api import compile_problem
from unmask.problems.circuits.circuit import collapsed, with_output_gates
from unmask.problems.circuits.shallow_circuits import shallow_circuit
from unmask.traces.trace import Trace
from unmask.viewer import run_history
from unmask.viewer.model_view import panel_of
from unmask.viewer.run_history import CONTINUES, EDITED, KEPT, NOTHING, REPEATED, WRITTEN, history_of
from unmask.viewer.run_recording import Recording


def trace_of(kind, canvas, chosen):
    return Trace(
        kind=kind,
        length=2,
        padding=3,
        vocabulary=("a", "b", "m", "0", "1"),
        accept="1",
        reject="0",
        mask="m",
        word=(0, 1),
        canvas=tuple(np.array(c) for c in canvas),
        chosen=tuple(np.array(c, dtype=bool) for c in chosen),
        steps_taken=len(canvas),
    )


def test_a_slot_is_written_then_edited_or_repeated():
    trace = trace_of("mdm", [[0, 1, 2], [3, 1, 2], [3, 1, 4]], [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    history = history_of(trace, Recording.of_trace(trace), ())
    assert history.tokens.tolist() == [[0, 1, 2, 2, 2], [0, 1, 0, 1, 2], [0, 1, 3, 1, 2], [0, 1, 3, 1, 4]]
    assert history.change[:, 2:].tolist() == [
        [KEPT, KEPT, KEPT],
        [WRITTEN, WRITTEN, KEPT],
        [EDITED, REPEATED, KEPT],
        [KEPT, KEPT, WRITTEN],
    ]
    assert history.events() == [(1, 2), (1, 3), (2, 2), (3, 4)]
    assert history.last_written(3, 2) == 2  # the edit, not the first symbol
    assert history.last_written(3, 3) == 1  # not the repetition
    assert history.last_written(2, 2) == 1
    assert history.last_written(3, 0) == 0


def test_a_chain_grows_and_is_decided_by_the_row_before():
    trace = trace_of("cot", [[0], [0, 3], [0, 3, 4]], [[1], [0, 1], [0, 0, 1]])
    history = history_of(trace, Recording.of_trace(trace), ())
    assert history.tokens[1].tolist() == [0, 1, 0, NOTHING, NOTHING]
    assert history.events() == [(1, 2), (2, 3), (3, 4)]
    assert [history.deciding_row(*event) for event in history.events()] == [1, 2, 3]
    assert history.deciding_row(3, 2) == 2


def test_a_looped_model_shows_the_register_that_reads_the_word():
    panel = panel_of(compile_problem("(a|b)*abb", "plt", length=4), "babb")
    history = panel.history
    assert history.register == "product"
    cells = [[history.symbols[t] if t != NOTHING else "" for t in line] for line in history.tokens]
    assert cells[0][:4] == ["b", "a", "b", "b"]
    assert cells[1][:2] == ["a", "bb"]  # ba is like a, and bb is itself
    assert cells[2][0] == "abb"
    assert cells[3] == ["", "", "", "", "1"]


# Edges are read off the attention: trees, circuits, chains, and random weights.


def sources(panel):
    """Return column → its source columns, for a run that writes every slot at most once."""
    sources_of = {}
    for edge in panel.edges:
        sources_of.setdefault(edge.column, []).append(edge.source)
    return sources_of


def leaves(column, made_from):
    return [column] if column not in made_from else [x for y in made_from[column] for x in leaves(y, made_from)]


def test_a_regular_language_is_a_balanced_tree_over_the_input():
    panel = panel_of(compile_problem("(a|b)*abb", "mdm", length=16), "abbaabbababababb")
    made_from = sources(panel)
    assert leaves(30, made_from) == list(range(16))  # the answer: every letter once, in order
    assert all(len(parts) == 2 for parts in made_from.values())
    assert max(edge.line for edge in panel.edges) == 4
    assert all(edge.source_line == edge.line - 1 for edge in panel.edges)


def test_the_tree_is_placed_over_its_sources():
    panel = panel_of(compile_problem("(a|b)*abb", "mdm", length=16), "abbaabbababababb")
    assert panel.places[4, 30] == 7.5
    assert [panel.places[1, column] for column in range(16, 24)] == [0.5 + 2 * i for i in range(8)]


def test_a_chain_of_thought_reads_a_letter_and_goes_on():
    panel = panel_of(compile_problem("(a|b)*abb", "cot", length=8), "abbaaabb")
    for step in range(8):
        of_step = [(edge.source, edge.head == CONTINUES) for edge in panel.edges if edge.column == 8 + step]
        assert of_step == [(step, False)] + [(8 + step - 1, True)] * (step > 0)


def test_a_gate_is_made_from_what_its_wires_read():
    """Gates read wires, which stay masked; the edges lead through the wires to the sources of the circuit's gates."""
    circuit = collapsed(shallow_circuit("majority", 4))  # as the compiler lays it out
    inner, outputs = with_output_gates(circuit)
    gates = [*inner, *outputs]
    panel = panel_of(compile_problem("family:majority", "mdm", length=4), "0110")
    made_from = sources(panel)
    first = panel.history.tokens.shape[1] - len(gates)  # the gates are the last slots, in their order
    column = {1 + i: i for i in range(4)} | {circuit.first_gate + k: first + k for k in range(len(gates))}
    for k, gate in enumerate(gates):
        assert made_from[first + k] == sorted({column[literal // 2] for literal in gate.inputs})


def test_too_many_edges_are_not_drawn(monkeypatch):
    panel = panel_of(compile_problem("(a|b)*abb", "mdm", length=8), "abbaaabb")
    monkeypatch.setattr(run_history, "MOST_EDGES", 3)
    assert panel.edges is None
    assert panel.to_json()["edges"]["shape"] == [0, 5]
    assert any("select a slot" in note for note in panel.left_out)
