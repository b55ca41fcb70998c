"""Propose a circuit from attention patterns alone, and compare it with the circuit that was found by ablation."""

# %% The truth: which heads and MLPs of a small tree decide what, pass by pass
import json

import numpy as np

from unmask.bench import AblatedBert, ReferenceRow, circuit_files, score_circuit

files = circuit_files(ReferenceRow("tree-4", "group:S3", 4, "tree"), words=4)
truth = json.loads(files["circuit.json"])
for one in truth["circuits"]:
    print(one["part"], "pass", one["pass"], "decides slots", one["decides"], [node["id"] for node in one["nodes"]])

# %% What the predictor attends to when all slots are masked
vocabulary = json.loads(files["predictor/tokenizer.json"])["model"]["vocab"]
mask = json.loads(files["predictor/config.json"])["mask_token_id"]
part = {name.removeprefix("predictor/"): content for name, content in files.items()}
bert = AblatedBert.of(part, len(vocabulary))
word = [vocabulary[symbol] for symbol in truth["pairs"][0]["word"]]
patterns = bert.forward(np.array([*word, *[mask] * truth["slots"]])).patterns

# %% A proposal: every head that attends to one row with a weight above 0.9, with that row as its source
nodes, edges = set(), set()
for layer, pattern in enumerate(patterns):
    for head, row, source in np.argwhere(pattern > 0.9).tolist():
        nodes |= {f"{layer}.h{head}@{row}", f"token@{source}"}
        edges.add((f"token@{source}", f"{layer}.h{head}@{row}"))
proposed = {"circuits": [{"part": "predictor", "pass": 1, "nodes": sorted(nodes), "edges": sorted(edges)}]}

# %% Attention is not a circuit: the proposal has the reads of all slots in a pass that decides two, and no MLP
truth = {"circuits": [one for one in truth["circuits"] if (one["part"], one["pass"]) == ("predictor", 1)]}
for kind, score in score_circuit(proposed, truth).items():
    print(f"{kind}: precision {score.precision:.2f}, recall {score.recall:.2f}")
