"""Edges are read off the attention: trees, circuits, chains, and random weights."""

from unmask.pipeline import compile_problem
from unmask.problems.circuits.shape import collapsed, with_output_gates
from unmask.problems.family import FamilyProblem
from unmask.viewer import reads
from unmask.viewer.reads import CONTINUES
from unmask.views import panel_of


def sources(panel):
    """column → the columns it was made from, for a run that writes every slot at most once."""
    found = {}
    for edge in panel.edges:
        found.setdefault(edge.column, []).append(edge.source)
    return found


def leaves(column, made_from):
    return [column] if column not in made_from else [x for y in made_from[column] for x in leaves(y, made_from)]


def test_a_regular_language_is_a_balanced_tree_over_the_input():
    panel = panel_of(compile_problem("(a|b)*abb", "mdm", length=16), "abbaabbababababb")
    made_from = sources(panel)
    assert leaves(30, made_from) == list(range(16))  # the answer: every letter once, in order
    assert all(len(parts) == 2 for parts in made_from.values())
    assert max(edge.line for edge in panel.edges) == 4
    assert all(edge.source_line == edge.line - 1 for edge in panel.edges)


def test_the_tree_stands_over_what_it_was_made_from():
    panel = panel_of(compile_problem("(a|b)*abb", "mdm", length=16), "abbaabbababababb")
    assert panel.places[4, 30] == 7.5
    assert [panel.places[1, column] for column in range(16, 24)] == [0.5 + 2 * i for i in range(8)]


def test_a_chain_of_thought_reads_a_letter_and_goes_on():
    panel = panel_of(compile_problem("(a|b)*abb", "cot", length=8), "abbaaabb")
    for step in range(8):
        of_step = [(edge.source, edge.head == CONTINUES) for edge in panel.edges if edge.column == 8 + step]
        assert of_step == [(step, False)] + [(8 + step - 1, True)] * (step > 0)


def test_a_gate_is_made_from_what_its_wires_read():
    """Gates read wires, which stay masked; the edges lead through them to what the circuit's own gates read."""
    circuit = collapsed(FamilyProblem("majority").circuit(4))  # as the compiler lays it out
    inner, outputs = with_output_gates(circuit)
    gates = [*inner, *outputs]
    panel = panel_of(compile_problem("family:majority", "mdm", length=4), "0110")
    made_from = sources(panel)
    first = panel.story.tokens.shape[1] - len(gates)  # the gates are the last slots, in their order
    column = {1 + i: i for i in range(4)} | {circuit.first_gate + k: first + k for k in range(len(gates))}
    for k, gate in enumerate(gates):
        assert made_from[first + k] == sorted({column[literal // 2] for literal in gate.inputs})


def test_too_many_edges_are_no_picture(monkeypatch):
    panel = panel_of(compile_problem("(a|b)*abb", "mdm", length=8), "abbaaabb")
    monkeypatch.setattr(reads, "MOST_EDGES", 3)
    assert panel.edges is None
    assert panel.to_json()["edges"]["shape"] == [0, 5]
    assert any("select a slot" in sentence for sentence in panel.left_out)
