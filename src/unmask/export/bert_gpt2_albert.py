"""RealTransformer → the tensors and config.json of `BertForMaskedLM`, `GPT2LMHeadModel` or `AlbertForMaskedLM`.

    BERT    h⁰ = LN(word + position + type),   logits = decoder(LN(ReLU(dense(h)))) + bias
            layer    G = LN(dense(attention(H)) + H),   H' = LN(W2·ReLU(W1·G) + G)
    GPT-2   h⁰ = word + position,   logits = lm_head(LN(h))        causal
            layer    G = H + proj(attention(LN(H))),   H' = G + proj(ReLU(fc(LN(G))))
    ALBERT  BERT's layers, with one group of layers that is run `num_hidden_layers` times

BERT's dense map outputs h and -h of every column that a logit reads, and a column that is always 0; after its ReLU and
its norm, which subtracts a mean, the difference to that column is the value again. GPT-2's `lm_head` has no bias: the
column `constant` serves as one. ALBERT has no layers outside its loop, so the layers after the loop of a plt become
part of it, and the columns that they write are set to 0 at the start of each round. This is correct if the loop neither
reads nor writes those columns and no layer precedes it; otherwise the export is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from unmask.errors import UnmaskError
from unmask.export.export_task import ExportTask
from unmask.export.folder_files import Files, as_json
from unmask.export.real_transformer import (
    FLOAT,
    Dtype,
    Passes,
    RealLayer,
    RealTransformer,
    Rounding,
    attention_mask,
    by_head,
    in_batches,
    rounding,
    softmax,
)
from unmask.export.stock_architecture import EPSILON, GAIN, NEVER, ZERO, StockTransformer, most_rows, stock_transformer
from unmask.export.tokenizer import TokenNames
from unmask.weights.model import Model

MEAN_ERROR = 2.0**-22  # relative to the largest number of the row
NamedArrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class StockCheckpoint:
    """The content of the folder: tensors, config.json, and the meaning of the columns."""

    tensors: NamedArrays
    config: dict[str, Any]
    stock: StockTransformer


def bert_folder(
    model: Model, transformer_name: str, words: np.ndarray, *, order: str | None = None
) -> tuple[Files, dict[str, Any]]:
    """Export the predictor, which never predicts the mask, or the planner, which has the tokens [KEEP] and [TAKE]."""
    task = ExportTask.of(model, transformer_name, words, order=order)
    checkpoint = bert(task.real, task.tokens, scale=task.scale, outputs=task.outputs)
    return _checked(task, "bert", checkpoint, partial(bert_passes, checkpoint.tensors, checkpoint.config))


def gpt2_folder(model: Model, transformer_name: str, words: np.ndarray) -> tuple[Files, dict[str, Any]]:
    """Export a chain of thought, with a generation_config.json of T steps."""
    task = ExportTask.of(model, transformer_name, words)
    checkpoint = gpt2(task.real, task.tokens, scale=task.scale, outputs=task.outputs)
    files, report = _checked(task, "gpt2", checkpoint, partial(gpt2_passes, checkpoint.tensors, checkpoint.config))
    return {**files, "generation_config.json": as_json(generation_config(task.tokens, model.steps))}, report


def albert_folder(model: Model, transformer_name: str, words: np.ndarray) -> tuple[Files, dict[str, Any]]:
    """Export a looped model: the tensors of one round, which ALBERT runs T times."""
    task = ExportTask.of(model, transformer_name, words)
    body, cleared = one_round(task.real, model.steps)
    checkpoint = bert(body, task.tokens, scale=task.scale, outputs=task.outputs, cleared=cleared)
    passes_in = partial(bert_passes, checkpoint.tensors, checkpoint.config, rounds=model.steps)
    return _checked(task, "albert", albert(checkpoint, model.steps), passes_in)


def _checked(
    task: ExportTask, form: str, checkpoint: StockCheckpoint, passes_in: Callable[[Dtype], Passes]
) -> tuple[Files, dict[str, Any]]:
    """Return the files and the content of export.json; raise if the checkpoint decides differently from F_p."""
    parameters = sum(tensor.size for tensor in checkpoint.tensors.values())
    report = task.checked(form, passes_in, parameters=parameters)
    return task.folder(checkpoint.tensors, checkpoint.config, checkpoint.stock.real, report), report


def bert(
    transformer: RealTransformer,
    tokens: TokenNames,
    *,
    scale: float,
    outputs: np.ndarray,
    cleared: np.ndarray | None = None,
) -> StockCheckpoint:
    """`outputs[i]` is the token whose logit the transformer's output i is; all others are never predicted."""
    read = np.flatnonzero(transformer.out.any(axis=0))
    stock = stock_transformer(transformer, least_width=2 * len(read) + 1, cleared=cleared)
    tensors = {
        **embeddings(stock),
        **{
            f"bert.encoder.layer.{i}.{name}": tensor
            for i, layer in enumerate(stock.real.layers)
            for name, tensor in _bert_layer(stock, layer).items()
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
    return StockCheckpoint({name: np.ascontiguousarray(t, dtype=FLOAT) for name, t in tensors.items()}, config, stock)


def embeddings(stock: StockTransformer) -> NamedArrays:
    """Return the embedding tables; spare rows have a position of zeros."""
    return {
        "bert.embeddings.word_embeddings.weight": stock.real.embed,
        "bert.embeddings.position_embeddings.weight": with_zero_rows(stock.real.positions),
        "bert.embeddings.token_type_embeddings.weight": np.zeros((2, stock.width)),
        **layer_norm_tensors("bert.embeddings.LayerNorm", stock),
    }


def with_zero_rows(positions: np.ndarray) -> np.ndarray:
    """Return the position table, with zeros for the spare rows."""
    return np.pad(positions, ((0, most_rows(len(positions)) - len(positions)), (0, 0)))


def layer_norm_tensors(name: str, stock: StockTransformer) -> NamedArrays:
    """Return the tensors of a layer norm: GAIN everywhere, and no bias."""
    return {f"{name}.weight": np.full(stock.width, GAIN), f"{name}.bias": np.zeros(stock.width)}


def _maps(stock: StockTransformer, layer: RealLayer) -> NamedArrays:
    """Return query, key, value, output [D, D], w1 [H, D], b1 [H], w2 [D, H] and b2 [D]; [out, in], as a Linear has it.

    Head i has the columns from i·size on; columns that a head does not use are 0.
    """
    width, size, units = stock.width, stock.head_width, len(layer.mlp.b1)
    maps = {name: np.zeros((width, width)) for name in ("query", "key", "value", "output")}
    for i, head in enumerate(layer.heads):
        scores = slice(i * size, i * size + head.wq.shape[1])
        values = slice(i * size, i * size + head.wv.shape[1])
        maps["query"][scores], maps["key"][scores] = head.wq.T, head.wk.T
        maps["value"][values], maps["output"][:, values] = head.wv.T, head.wo.T
    w1, b1, w2 = np.zeros((stock.hidden, width)), np.zeros(stock.hidden), np.zeros((width, stock.hidden))
    w1[:units], b1[:units], w2[:, :units] = layer.mlp.w1.T, layer.mlp.b1, layer.mlp.w2.T
    return {**maps, "w1": w1, "b1": b1, "w2": w2, "b2": layer.mlp.b2}


def _bert_layer(stock: StockTransformer, layer: RealLayer) -> NamedArrays:
    maps, zeros = _maps(stock, layer), np.zeros(stock.width)
    return {
        **{f"attention.self.{name}.weight": maps[name] for name in ("query", "key", "value")},
        **{f"attention.self.{name}.bias": zeros for name in ("query", "key", "value")},
        "attention.output.dense.weight": maps["output"],
        "attention.output.dense.bias": zeros,
        **layer_norm_tensors("attention.output.LayerNorm", stock),
        "intermediate.dense.weight": maps["w1"],
        "intermediate.dense.bias": maps["b1"],
        "output.dense.weight": maps["w2"],
        "output.dense.bias": maps["b2"],
        **layer_norm_tensors("output.LayerNorm", stock),
    }


def _head(stock: StockTransformer, read: np.ndarray, vocabulary: int, scale: float, outputs: np.ndarray) -> NamedArrays:
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
        **layer_norm_tensors("cls.predictions.transform.LayerNorm", stock),
        "cls.predictions.decoder.weight": decoder,
        "cls.predictions.decoder.bias": biases,
        "cls.predictions.bias": biases,
    }


def bert_passes(tensors: NamedArrays, config: dict[str, Any], dtype: Dtype = "float32", *, rounds: int = 1) -> Passes:
    """Return the pass of transformers with these tensors, operation by operation; all layers run `rounds` times."""
    heads, fit = config["num_attention_heads"], rounding(dtype)
    tensors = {name: fit(tensor) for name, tensor in tensors.items()}

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return fit(x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"])

    def normed(name: str, x: np.ndarray) -> np.ndarray:
        return fit(layer_norm(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], config["layer_norm_eps"]))

    def attention(name: str, H: np.ndarray) -> np.ndarray:
        Q, K, V = (by_head(linear(f"{name}.self.{projection}", H), heads) for projection in ("query", "key", "value"))
        return attention_output(Q, K, V, fit, causal=False)

    def passes(tokens: np.ndarray) -> np.ndarray:
        e = "bert.embeddings"
        words, places = tensors[f"{e}.word_embeddings.weight"], tensors[f"{e}.position_embeddings.weight"]
        kinds = tensors[f"{e}.token_type_embeddings.weight"]
        H = normed(f"{e}.LayerNorm", fit(fit(words[tokens] + kinds[0]) + places[: tokens.shape[1]]))
        for i in [*range(config["num_hidden_layers"])] * rounds:
            at = f"bert.encoder.layer.{i}"
            mixed = linear(f"{at}.attention.output.dense", attention(f"{at}.attention", H))
            G = normed(f"{at}.attention.output.LayerNorm", fit(mixed + H))
            inner = np.maximum(linear(f"{at}.intermediate.dense", G), 0)
            H = normed(f"{at}.output.LayerNorm", fit(linear(f"{at}.output.dense", inner) + G))
        t = np.maximum(linear("cls.predictions.transform.dense", H), 0)
        return linear("cls.predictions.decoder", normed("cls.predictions.transform.LayerNorm", t))

    return in_batches(passes, config["max_position_embeddings"], config["intermediate_size"])


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Return (x - mean)/√(variance + ε)·gain + bias, with an error in the mean that another kernel may also have."""
    mean = x.mean(axis=-1, keepdims=True) + FLOAT(MEAN_ERROR) * np.abs(x).max(axis=-1, keepdims=True)
    centred = x - mean
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + FLOAT(epsilon)) * gain + bias


def attention_output(Q: np.ndarray, K: np.ndarray, V: np.ndarray, fit: Rounding, *, causal: bool) -> np.ndarray:
    """Return the heads side by side, [batch, rows, heads·size], from [batch, heads, rows, size] each."""
    scores = fit(fit(Q @ np.swapaxes(K, -1, -2)) * FLOAT(1 / sqrt(Q.shape[-1]))) + attention_mask(Q.shape[-2], causal)
    mixed = fit(fit(softmax(scores)) @ V)
    return np.swapaxes(mixed, 1, 2).reshape(mixed.shape[0], mixed.shape[2], -1)


def gpt2(transformer: RealTransformer, tokens: TokenNames, *, scale: float, outputs: np.ndarray) -> StockCheckpoint:
    """`outputs[i]` is the token whose logit the transformer's output i is; all others are never predicted."""
    stock = stock_transformer(transformer)
    lm_head = np.zeros((len(tokens.names), stock.width))
    lm_head[:, stock.constant] = NEVER
    lm_head[outputs] = stock.real.out * scale
    lm_head[outputs, stock.constant] += stock.real.bias * scale
    lm_head[:, ZERO] = -lm_head.sum(axis=1)
    tensors = {
        "transformer.wte.weight": stock.real.embed,
        "transformer.wpe.weight": with_zero_rows(stock.real.positions),
        **{
            f"transformer.h.{i}.{name}": tensor
            for i, layer in enumerate(stock.real.layers)
            for name, tensor in _gpt2_layer(stock, layer).items()
        },
        **layer_norm_tensors("transformer.ln_f", stock),
        "lm_head.weight": lm_head,
    }
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": len(tokens.names),
        "n_positions": most_rows(len(stock.real.positions)),
        "n_embd": stock.width,
        "n_layer": len(stock.real.layers),
        "n_head": stock.heads,
        "n_inner": stock.hidden,
        "activation_function": "relu",
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "layer_norm_epsilon": EPSILON,
        "tie_word_embeddings": False,
        "dtype": "float32",
        "torch_dtype": "float32",
        "bos_token_id": tokens.id("bos"),
        "eos_token_id": tokens.id("eos"),
        "pad_token_id": tokens.id("pad"),
    }
    return StockCheckpoint({name: np.ascontiguousarray(t, dtype=FLOAT) for name, t in tensors.items()}, config, stock)


def generation_config(tokens: TokenNames, steps: int) -> dict[str, Any]:
    """Return the config for `generate`: T steps, each with the likeliest symbol; then the model predicts [EOS]."""
    return {
        "do_sample": False,
        "max_new_tokens": steps,
        "min_new_tokens": steps,
        "bos_token_id": tokens.id("bos"),
        "pad_token_id": tokens.id("pad"),
        "eos_token_id": tokens.id("eos"),
    }


def _gpt2_layer(stock: StockTransformer, layer: RealLayer) -> NamedArrays:
    """Return the tensors of a layer; a Conv1D holds [in, out], with queries, keys and values side by side."""
    maps, width = _maps(stock, layer), stock.width
    return {
        **layer_norm_tensors("ln_1", stock),
        "attn.c_attn.weight": np.hstack([maps[name].T for name in ("query", "key", "value")]),
        "attn.c_attn.bias": np.zeros(3 * width),
        "attn.c_proj.weight": maps["output"].T,
        "attn.c_proj.bias": np.zeros(width),
        **layer_norm_tensors("ln_2", stock),
        "mlp.c_fc.weight": maps["w1"].T,
        "mlp.c_fc.bias": maps["b1"],
        "mlp.c_proj.weight": maps["w2"].T,
        "mlp.c_proj.bias": maps["b2"],
    }


def gpt2_passes(tensors: NamedArrays, config: dict[str, Any], dtype: Dtype = "float32") -> Passes:
    """Return the pass that transformers computes with these tensors, operation by operation."""
    heads, fit = config["n_head"], rounding(dtype)
    tensors = {name: fit(tensor) for name, tensor in tensors.items()}

    def mapped(name: str, x: np.ndarray) -> np.ndarray:
        return fit(x @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"])

    def normed(name: str, x: np.ndarray) -> np.ndarray:
        return fit(layer_norm(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], config["layer_norm_epsilon"]))

    def attention(name: str, x: np.ndarray) -> np.ndarray:
        mixed = mapped(f"{name}.c_attn", x)
        Q, K, V = np.moveaxis(mixed.reshape(*x.shape[:2], 3, heads, -1), (2, 3), (0, 2))
        return mapped(f"{name}.c_proj", attention_output(Q, K, V, fit, causal=True))

    def passes(tokens: np.ndarray) -> np.ndarray:
        H = fit(tensors["transformer.wte.weight"][tokens] + tensors["transformer.wpe.weight"][: tokens.shape[1]])
        for i in range(config["n_layer"]):
            at = f"transformer.h.{i}"
            H = fit(H + attention(f"{at}.attn", normed(f"{at}.ln_1", H)))
            inner = np.maximum(mapped(f"{at}.mlp.c_fc", normed(f"{at}.ln_2", H)), 0)
            H = fit(H + mapped(f"{at}.mlp.c_proj", inner))
        return fit(normed("transformer.ln_f", H) @ tensors["lm_head.weight"].T)

    return in_batches(passes, config["n_positions"], config["n_inner"])


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
    """Return the layers of a round, and the columns that are cleared at its start."""
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


def albert(checkpoint: StockCheckpoint, loops: int) -> StockCheckpoint:
    """Return the tensors of a BERT under ALBERT's names, and its config."""
    config = {
        **checkpoint.config,
        "architectures": ["AlbertForMaskedLM"],
        "model_type": "albert",
        "embedding_size": checkpoint.config["hidden_size"],
        "num_hidden_layers": loops,
        "num_hidden_groups": 1,
        "inner_group_num": checkpoint.config["num_hidden_layers"],
        "classifier_dropout_prob": 0.0,
    }
    width = checkpoint.config["hidden_size"]
    tensors = {_renamed(name): tensor for name, tensor in checkpoint.tensors.items()}
    mapping = "albert.encoder.embedding_hidden_mapping_in"
    tensors[f"{mapping}.weight"] = np.eye(width, dtype=np.float32)
    tensors[f"{mapping}.bias"] = np.zeros(width, dtype=np.float32)
    return replace(checkpoint, tensors=tensors, config=config)


def _renamed(name: str) -> str:
    for old, new in RENAMED.items():
        if old in name:
            name = name.replace(old, new)
    return name


def _columns(layers: tuple[RealLayer, ...], *, written: bool) -> np.ndarray:
    """Return the columns that these layers write, or read."""
    if not layers:
        return np.zeros(1, dtype=bool)
    used = np.zeros(len(layers[0].mlp.b2), dtype=bool)
    for layer in layers:
        mlp = layer.mlp
        used |= mlp.w2.any(axis=0) | (mlp.b2 != 0) if written else mlp.w1.any(axis=1)
        for head in layer.heads:
            used |= head.wo.any(axis=0) if written else np.hstack([head.wq, head.wk, head.wv]).any(axis=1)
    return used
