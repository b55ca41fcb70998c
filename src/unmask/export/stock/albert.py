"""Padded looped transformer → a stock `AlbertForMaskedLM`, whose layers share their weights.

ALBERT runs one group of layers `num_hidden_layers` times and nothing before or after it, so that the layers behind the
loop of a plt become part of it: what they write is set to 0 at the start of each round, and the last round counts. That
is right if the loop neither reads nor writes those columns, and if no layer stands before it; else it is refused.
"""

from dataclasses import replace

import numpy as np

from unmask.errors import UnmaskError
from unmask.export.real.weights import RealLayer, RealTransformer
from unmask.export.stock.bert import Written

GROUP = "albert.encoder.albert_layer_groups.0.albert_layers"
RENAMED = {
    "bert.embeddings.": "albert.embeddings.",
    "bert.encoder.layer.": f"{GROUP}.",
    "attention.self.": "attention.",
    "attention.output.dense.": "attention.dense.",
    "attention.output.LayerNorm.": "attention.LayerNorm.",
    "intermediate.dense.": "ffn.",
    "output.dense.": "ffn_output.",
    "output.LayerNorm.": "full_layer_layer_norm.",
    "cls.predictions.transform.": "predictions.",
    "cls.predictions.": "predictions.",
}


def one_round(transformer: RealTransformer, loops: int) -> tuple[RealTransformer, np.ndarray]:
    """The layers of a round, and the columns that are cleared at its start."""
    first, last = transformer.loop or (0, 0)
    loop, behind = transformer.layers[first:last], transformer.layers[last:]
    result = _columns(behind, written=True)
    touched = _columns(loop, written=True) | _columns(loop, written=False)
    starts = transformer.embed.any(axis=0) | transformer.positions.any(axis=0)
    if not loops:
        raise UnmaskError("ALBERT runs its layers at least once, but this model loops 0 times; use --to torch")
    if first or (result & (touched | starts)).any():
        raise UnmaskError(
            "ALBERT repeats all layers, but this model has layers outside its loop that run once; use --to torch"
        )
    return replace(transformer, layers=(*loop, *behind), loop=None), np.flatnonzero(result)


def albert(written: Written, loops: int) -> Written:
    """The tensors of a BERT, by ALBERT's names, and its config."""
    config = {
        **written.config,
        "architectures": ["AlbertForMaskedLM"],
        "model_type": "albert",
        "embedding_size": written.config["hidden_size"],
        "num_hidden_layers": loops,
        "num_hidden_groups": 1,
        "inner_group_num": written.config["num_hidden_layers"],
        "classifier_dropout_prob": 0.0,
    }
    width = written.config["hidden_size"]
    tensors = {_renamed(name): tensor for name, tensor in written.tensors.items()}
    mapping = "albert.encoder.embedding_hidden_mapping_in"
    tensors[f"{mapping}.weight"] = np.eye(width, dtype=np.float32)
    tensors[f"{mapping}.bias"] = np.zeros(width, dtype=np.float32)
    return replace(written, tensors=tensors, config=config)


def _renamed(name: str) -> str:
    for old, new in RENAMED.items():
        if old in name:
            name = name.replace(old, new)
    return name


def _columns(layers: tuple[RealLayer, ...], *, written: bool) -> np.ndarray:
    """Which columns these layers write, or read."""
    if not layers:
        return np.zeros(1, dtype=bool)
    used = np.zeros(len(layers[0].mlp.b2), dtype=bool)
    for layer in layers:
        mlp = layer.mlp
        used |= mlp.w2.any(axis=0) | (mlp.b2 != 0) if written else mlp.w1.any(axis=1)
        for head in layer.heads:
            used |= head.wo.any(axis=0) if written else np.hstack([head.wq, head.wk, head.wv]).any(axis=1)
    return used
