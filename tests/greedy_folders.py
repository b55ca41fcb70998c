"""Folders of a few KB that ask for everything: the sizes are declared, the tensors are empty."""

import json

import numpy as np
from safetensors.numpy import save_file

from folder_by_hand import sparse

VOCABULARY = ["a", "m", "0", "1"]


def greedy_folder(folder, kind, *, padding, steps, columns=1, width=2):
    """A model of the letter a alone, whose slots copy what they read."""
    folder.mkdir()
    names = ("planner", "predictor") if kind == "mdm" else ("model",)
    for name in names:
        outputs = 2 if name == "planner" else len(VOCABULARY)
        save_file(_tensors(1 + padding, outputs, columns, width), folder / f"{name}.safetensors")
    attention = "causal" if kind == "cot" else "unmasked"
    entries = {
        name: {
            "file": f"{name}.safetensors",
            "attention": attention,
            "loop": [0, 1] if kind == "plt" else None,
            "noise": None,
        }
        for name in names
    }
    config = {
        "format": "unmask-model/1",
        "reasoner": kind,
        "precision": 2,
        "length": 1,
        "steps": steps,
        "padding": padding,
        "vocabulary": VOCABULARY,
        "input_symbols": ["a"],
        "mask": "m",
        "pad": "m",
        "accept": "1",
        "reject": "0",
        "transformers": entries,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _tensors(rows, outputs, columns, width):
    return {
        **sparse("embed", [(0, 0, 4)], [len(VOCABULARY), width]),
        **sparse("pos", [], [rows, width]),
        **sparse("out", [(outputs - 1, 0, 4)], [outputs, width]),
        **sparse("layers.0.heads.0.wq", [(0, columns - 1, 4)], [width, columns]),
        **sparse("layers.0.heads.0.wk", [(0, columns - 1, 4)], [width, columns]),
        **sparse("layers.0.heads.0.wv", [(0, 1, 4)], [width, width]),
        **sparse("layers.0.mlp.w1", [], [width, 1]),
        "layers.0.mlp.b1": np.zeros(1, dtype=np.int8),
        **sparse("layers.0.mlp.w2", [], [1, width]),
        "layers.0.mlp.b2": np.zeros(width, dtype=np.int8),
    }
