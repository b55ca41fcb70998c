"""Circuits of known models: every node is what transformers has there, and a wrong circuit scores below 1."""

import json
from copy import deepcopy

import numpy as np
import pytest

from unmask.bench.ablated_bert import AblatedBert, Node
from unmask.bench.circuits import circuit_files, counterfactual_pairs, read_circuit, score_circuit
from unmask.bench.reference_models import ReferenceRow
from unmask.errors import UnmaskError
from unmask.export.folder_files import write_new_folder

ROW = ReferenceRow("tree-4", "group:S3", 4, "tree")


@pytest.fixture(scope="module")
def files():
    return circuit_files(ROW, 4)


@pytest.fixture(scope="module")
def truth(files):
    return json.loads(files["circuit.json"])


def circuit(truth, part, step):
    return next(one for one in truth["circuits"] if (one["part"], one["pass"]) == (part, step))


def ids(found):
    return {node["id"]: node["necessary"] for node in found["nodes"]}


def bert_of(files, part, symbols=9):
    made = {name.removeprefix(f"{part}/"): content for name, content in files.items() if name.startswith(part)}
    return AblatedBert.of(made, symbols)


def test_the_predictor_of_a_tree(truth):
    """Rows 0 to 3 are letters; slots 4 and 5 multiply two letters each, slot 6 multiplies slots 4 and 5."""
    first, second = circuit(truth, "predictor", 1), circuit(truth, "predictor", 2)
    assert (first["decides"], second["decides"]) == ([0, 1], [2])
    for found, slots in ((first, (4, 5)), (second, (6,))):
        assert {node["row"] for node in found["nodes"] if node["kind"] != "token"} == set(slots)
        assert all(ids(found).values())
    reads = {(4, 0): 0, (4, 1): 1, (5, 0): 2, (5, 1): 3}
    attention = {(source, reader) for source, reader in first["edges"] if source.startswith("token")}
    assert attention == {(f"token@{row}", f"0.h{head}@{slot}") for (slot, head), row in reads.items()}
    assert ["token@4", "0.h0@6"] in second["edges"]
    assert ["token@5", "0.h1@6"] in second["edges"]


def test_the_planner_waits_for_both_operands_through_two_heads_of_which_one_is_enough(truth):
    first = circuit(truth, "planner", 1)
    assert {name for name, necessary in ids(first).items() if not necessary} == {"0.h0@6", "0.h1@6", "0.mlp@6"}
    assert ["token@4", "0.h0@6"] in first["edges"]
    assert ["token@5", "0.h1@6"] in first["edges"]
    assert set(ids(circuit(truth, "planner", 2))) == {"0.mlp@6", "token@6"}


def test_nodes_name_hooks_and_roles(truth):
    nodes = {node["id"]: node for node in circuit(truth, "predictor", 1)["nodes"]}
    assert nodes["0.h1@4"]["hook"] == "blocks.0.attn.hook_z"
    assert (nodes["0.h1@4"]["row"], nodes["0.h1@4"]["head"]) == (4, 1)
    assert nodes["0.h1@4"]["role"].startswith("looks up one, right address = one, here; copies masked, as right")
    assert nodes["2.mlp@4"]["hook"] == "blocks.2.hook_mlp_out"
    assert nodes["token@0"]["hook"] == "embed.hook_out"


def predictor(files, out):
    return write_new_folder({n.removeprefix("predictor/"): c for n, c in files.items() if "predictor" in n}, out)


def test_the_numpy_bert_is_that_of_transformers(files, tmp_path):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    folder = write_new_folder(
        {n.removeprefix("predictor/"): c for n, c in files.items() if "predictor" in n}, tmp_path / "p"
    )
    module = transformers.AutoModelForMaskedLM.from_pretrained(str(folder)).eval()
    canvas = np.array([0, 3, 2, 5, 6, 1, 6])
    with torch.no_grad():
        expected = module(torch.from_numpy(canvas[None])).logits.numpy()
    assert np.abs(bert_of(files, "predictor").forward(canvas).logits - expected).max() < 1e-4


def test_switching_a_node_off_is_what_transformers_does_with_a_hook(files, tmp_path):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    folder = write_new_folder(
        {n.removeprefix("predictor/"): c for n, c in files.items() if "predictor" in n}, tmp_path / "p"
    )
    module = transformers.AutoModelForMaskedLM.from_pretrained(str(folder)).eval()
    canvas = np.array([0, 3, 2, 5, 6, 6, 6])
    width = module.config.hidden_size // module.config.num_attention_heads

    def no_mlp(_, __, output):
        output[:, 4] = 0
        return output

    def no_head(_, __, output):
        output[0][:, 5, width : 2 * width] = 0
        return output

    layer = module.bert.encoder.layer[0]
    hooks = [layer.output.dense.register_forward_hook(no_mlp), layer.attention.self.register_forward_hook(no_head)]
    with torch.no_grad():
        expected = module(torch.from_numpy(canvas[None])).logits.numpy()
    for hook in hooks:
        hook.remove()
    off = frozenset([Node("mlp", 4, 0), Node("head", 5, 0, 1)])
    bert = bert_of(files, "predictor")
    assert np.abs(bert.forward(canvas, [off]).logits - expected).max() < 1e-4
    assert np.abs(bert.forward(canvas).logits - expected).max() > 1


def test_a_right_circuit_scores_one_and_wrong_ones_less(truth):
    right = {kind: (s.precision, s.recall) for kind, s in score_circuit(truth, truth).items()}
    assert right == {"nodes": (1.0, 1.0), "edges": (1.0, 1.0)}
    missing, extra, swapped = deepcopy(truth), deepcopy(truth), deepcopy(truth)
    first = circuit(missing, "predictor", 1)
    first["nodes"] = [node for node in first["nodes"] if node["id"] != "0.h0@4"]
    scores = score_circuit(missing, truth)
    assert scores["nodes"].missing == ("predictor pass 1: 0.h0@4",)
    assert (scores["nodes"].precision, scores["nodes"].recall < 1) == (1.0, True)
    circuit(extra, "predictor", 1)["nodes"].append("0.h0@3")
    scores = score_circuit(extra, truth)
    assert scores["nodes"].extra == ("predictor pass 1: 0.h0@3",)
    assert (scores["nodes"].precision < 1, scores["nodes"].recall) == (True, 1.0)
    circuit(swapped, "predictor", 1)["edges"] = [
        [f"token@{1 - int(a[-1])}" if a in ("token@0", "token@1") else a, b]
        for a, b in circuit(swapped, "predictor", 1)["edges"]
    ]
    assert score_circuit(swapped, truth)["edges"].f1 < 1


def test_a_backup_node_may_be_left_out(truth):
    without = deepcopy(truth)
    first = circuit(without, "planner", 1)
    first["nodes"] = [node for node in first["nodes"] if node["necessary"]]
    first["edges"] = [edge for edge in first["edges"] if set(edge) <= {"0.mlp@4", "0.mlp@5", "token@4", "token@5"}]
    first["edges"] += [["0.mlp@4", "output@4"], ["0.mlp@5", "output@5"]]
    assert all(found.f1 == 1 for found in score_circuit(without, truth).values())
    empty = {"circuits": []}
    assert all((found.precision, found.recall) == (0.0, 0.0) for found in score_circuit(empty, truth).values())


def test_pairs_differ_in_one_letter_and_in_the_listed_slots(truth):
    pairs = truth["pairs"]
    assert pairs
    for pair in pairs:
        differ = [i for i, (a, b) in enumerate(zip(pair["word"], pair["counterfactual"], strict=True)) if a != b]
        assert differ == [pair["letter"]]
        below = {0: {0}, 1: {0}, 2: {1}, 3: {1}}[pair["letter"]]
        assert below <= set(pair["slots"]) <= below | {2}
    assert counterfactual_pairs.__doc__


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "no 'circuits'"),
        ({"circuits": [{"part": "planner", "pass": 1, "nodes": []}]}, "no 'edges'"),
        (
            {"circuits": [{"part": "planner", "pass": 9, "nodes": [], "edges": []}]},
            "no circuit of the planner in pass 9",
        ),
        ({"circuits": [{"part": "planner", "pass": 1, "nodes": [3], "edges": []}]}, "ids are strings"),
        ({"circuits": [{"part": "planner", "pass": 1, "nodes": [], "edges": [["a"]]}]}, "not a document of circuits"),
        ({"circuits": 3}, "not a document of circuits"),
    ],
)
def test_what_is_no_circuit_is_one_message(truth, document, message):
    with pytest.raises(UnmaskError, match=message):
        score_circuit(document, truth)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "text.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    for name, message in (("none.json", "cannot be read"), ("text.json", "not JSON"), ("list.json", "JSON object")):
        with pytest.raises(UnmaskError, match=message):
            read_circuit(tmp_path / name)


def test_a_model_whose_prompt_has_work_tokens_is_refused():
    with pytest.raises(UnmaskError, match="read-only slots"):
        circuit_files(ReferenceRow("work", "group:S3", 8, "tree", order="work", hops=2))


@pytest.mark.parametrize(
    "row",
    [
        ReferenceRow("tree", "(a|b)*abb", 4, "tree", order="reversed"),
        ReferenceRow("chain", "program:chain.py", 3, "chain"),
        ReferenceRow("in-place", "program:smallest.py", 3, "in place"),
        ReferenceRow("hops", "group:S3", 4, "tree", hops=2),
    ],
    ids=lambda row: row.name,
)
def test_other_models_have_circuits_that_are_enough(row):
    document = json.loads(circuit_files(row, 3)["circuit.json"])
    assert {one["part"] for one in document["circuits"]} == {"planner", "predictor"}
    for one in document["circuits"]:
        assert one["nodes"] or one["part"] == "planner"  # a planner that takes every slot needs nothing for that
