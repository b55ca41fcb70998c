"""Predictor, planner or topk model → the tensors and config.json of a stock `BertForMaskedLM`, and its pass in NumPy.

    h⁰     = LN(word + position + type)
    layer    G = LN(dense(attention(H)) + H),   H' = LN(W2·ReLU(W1·G) + G)
    logits = decoder(LN(ReLU(dense(h)))) + bias

The head's dense map gives h and -h of every column that a logit reads, and a column that is always 0; after its ReLU
and its norm, which takes away a mean, the difference to that column is the value again.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from unmask.export.files.token_names import TokenNames
from unmask.export.real.forward import FLOAT, Passes, in_parts, softmax, visible
from unmask.export.real.weights import RealLayer, RealTransformer
from unmask.export.stock.architecture import (
    EPSILON,
    GAIN,
    NEVER,
    ZERO,
    StockTransformer,
    most_rows,
    stock_transformer,
)

OFF = 2.0**-22
Tensors = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Written:
    """What goes into the folder: tensors, config.json, and which columns are which."""

    tensors: Tensors
    config: dict[str, Any]
    stock: StockTransformer


def bert(
    transformer: RealTransformer,
    tokens: TokenNames,
    *,
    scale: float,
    outputs: np.ndarray,
    cleared: np.ndarray | None = None,
) -> Written:
    """`outputs[i]` is the token whose logit the transformer's output i is; all others are never predicted."""
    read = np.flatnonzero(transformer.out.any(axis=0))
    stock = stock_transformer(transformer, least_width=2 * len(read) + 1, cleared=cleared)
    tensors = {
        **embeddings(stock),
        **{
            f"bert.encoder.layer.{i}.{name}": tensor
            for i, layer in enumerate(stock.real.layers)
            for name, tensor in layer_tensors(stock, layer).items()
        },
        **_head(stock, read, len(tokens.names), scale, outputs),
    }
    config = {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": len(tokens.names),
        "hidden_size": stock.width,
        "num_hidden_layers": len(stock.real.layers),
        "num_attention_heads": stock.heads,
        "intermediate_size": stock.hidden,
        "hidden_act": "relu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": most_rows(len(stock.real.positions)),
        "type_vocab_size": 2,
        "layer_norm_eps": EPSILON,
        "tie_word_embeddings": False,
        "dtype": "float32",
        "torch_dtype": "float32",
        **{f"{role}_token_id": tokens.id(role) for role in ("pad", "bos", "eos", "mask") if role in tokens.special},
    }
    return Written({name: np.ascontiguousarray(t, dtype=FLOAT) for name, t in tensors.items()}, config, stock)


def embeddings(stock: StockTransformer) -> Tensors:
    """The tables; spare rows have zeros for a position."""
    return {
        "bert.embeddings.word_embeddings.weight": stock.real.embed,
        "bert.embeddings.position_embeddings.weight": with_zero_rows(stock.real.positions),
        "bert.embeddings.token_type_embeddings.weight": np.zeros((2, stock.width)),
        **norm("bert.embeddings.LayerNorm", stock),
    }


def with_zero_rows(positions: np.ndarray) -> np.ndarray:
    """The position table, with zeros for the spare rows."""
    return np.pad(positions, ((0, most_rows(len(positions)) - len(positions)), (0, 0)))


def norm(name: str, stock: StockTransformer) -> Tensors:
    return {f"{name}.weight": np.full(stock.width, GAIN), f"{name}.bias": np.zeros(stock.width)}


def layer_tensors(stock: StockTransformer, layer: RealLayer) -> Tensors:
    """A Linear of torch holds [out, in]."""
    width, size = stock.width, stock.head_width
    maps = {name: np.zeros((width, width)) for name in ("query", "key", "value", "output")}
    for i, head in enumerate(layer.heads):
        scores = slice(i * size, i * size + head.wq.shape[1])
        values = slice(i * size, i * size + head.wv.shape[1])
        maps["query"][scores], maps["key"][scores] = head.wq.T, head.wk.T
        maps["value"][values], maps["output"][:, values] = head.wv.T, head.wo.T
    w1, b1 = np.zeros((stock.hidden, width)), np.zeros(stock.hidden)
    w2 = np.zeros((width, stock.hidden))
    units = len(layer.mlp.b1)
    w1[:units], b1[:units], w2[:, :units] = layer.mlp.w1.T, layer.mlp.b1, layer.mlp.w2.T
    return {
        **{f"attention.self.{name}.weight": maps[name] for name in ("query", "key", "value")},
        **{f"attention.self.{name}.bias": np.zeros(width) for name in ("query", "key", "value")},
        "attention.output.dense.weight": maps["output"],
        "attention.output.dense.bias": np.zeros(width),
        **norm("attention.output.LayerNorm", stock),
        "intermediate.dense.weight": w1,
        "intermediate.dense.bias": b1,
        "output.dense.weight": w2,
        "output.dense.bias": layer.mlp.b2,
        **norm("output.LayerNorm", stock),
    }


def _head(stock: StockTransformer, read: np.ndarray, vocabulary: int, scale: float, outputs: np.ndarray) -> Tensors:
    width, count = stock.width, len(read)
    dense, zero = np.zeros((width, width)), 2 * count
    dense[np.arange(count), read], dense[count + np.arange(count), read] = 1, -1
    dense[:count, ZERO], dense[count : 2 * count, ZERO] = -1, 1
    weights = stock.real.out[:, read] * scale
    decoder = np.zeros((vocabulary, width))
    decoder[outputs, :count], decoder[outputs, count : 2 * count] = weights, -weights
    decoder[:, zero] = -decoder.sum(axis=1)
    biases = np.full(vocabulary, NEVER)
    biases[outputs] = stock.real.bias * scale
    return {
        "cls.predictions.transform.dense.weight": dense,
        "cls.predictions.transform.dense.bias": np.zeros(width),
        **norm("cls.predictions.transform.LayerNorm", stock),
        "cls.predictions.decoder.weight": decoder,
        "cls.predictions.decoder.bias": biases,
        "cls.predictions.bias": biases,
    }


def bert_passes(tensors: Tensors, config: dict[str, Any], rounds: int = 1) -> Passes:
    """What transformers computes with these tensors, operation by operation; all layers `rounds` times."""
    heads = config["num_attention_heads"]

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def normed(name: str, x: np.ndarray) -> np.ndarray:
        return layer_norm(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], config["layer_norm_eps"])

    def attention(name: str, H: np.ndarray) -> np.ndarray:
        Q, K, V = (_by_head(linear(f"{name}.self.{part}", H), heads) for part in ("query", "key", "value"))
        return attend(Q, K, V, causal=False)

    def passes(tokens: np.ndarray) -> np.ndarray:
        e = "bert.embeddings"
        words, places = tensors[f"{e}.word_embeddings.weight"], tensors[f"{e}.position_embeddings.weight"]
        kinds = tensors[f"{e}.token_type_embeddings.weight"]
        H = normed(f"{e}.LayerNorm", words[tokens] + kinds[0] + places[: tokens.shape[1]])
        for i in [*range(config["num_hidden_layers"])] * rounds:
            at = f"bert.encoder.layer.{i}"
            mixed = linear(f"{at}.attention.output.dense", attention(f"{at}.attention", H))
            G = normed(f"{at}.attention.output.LayerNorm", mixed + H)
            inner = np.maximum(linear(f"{at}.intermediate.dense", G), 0)
            H = normed(f"{at}.output.LayerNorm", linear(f"{at}.output.dense", inner) + G)
        t = np.maximum(linear("cls.predictions.transform.dense", H), 0)
        return linear("cls.predictions.decoder", normed("cls.predictions.transform.LayerNorm", t))

    return in_parts(passes, config["max_position_embeddings"], config["intermediate_size"])


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """(x - mean)/√(variance + ε)·gain + bias, with a mean that is off as far as that of another kernel may be."""
    mean = x.mean(axis=-1, keepdims=True) + FLOAT(OFF) * np.abs(x).max(axis=-1, keepdims=True)
    centred = x - mean
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + FLOAT(epsilon)) * gain + bias


def attend(Q: np.ndarray, K: np.ndarray, V: np.ndarray, *, causal: bool) -> np.ndarray:
    """[batch, heads, rows, size] each → the heads side by side, [batch, rows, heads·size]."""
    scores = Q @ np.swapaxes(K, -1, -2) * FLOAT(1 / sqrt(Q.shape[-1])) + visible(Q.shape[-2], causal)
    mixed = softmax(scores) @ V
    return np.swapaxes(mixed, 1, 2).reshape(mixed.shape[0], mixed.shape[2], -1)


def _by_head(x: np.ndarray, heads: int) -> np.ndarray:
    return np.swapaxes(x.reshape(*x.shape[:2], heads, -1), 1, 2)
