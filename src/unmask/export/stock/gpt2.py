"""Chain of thought → the tensors and config.json of a stock `GPT2LMHeadModel`, and its pass in NumPy.

    h⁰     = word + position
    layer    G = H + proj(attention(LN(H))),   H' = G + proj(ReLU(fc(LN(G))))        causal
    logits = lm_head(LN(h))

`lm_head` has no bias: the column `constant` serves as one.
"""

from typing import Any

import numpy as np

from unmask.export.files.token_names import TokenNames
from unmask.export.real.forward import FLOAT, Passes, in_parts
from unmask.export.real.weights import RealLayer, RealTransformer
from unmask.export.stock.architecture import EPSILON, NEVER, ZERO, StockTransformer, most_rows, stock_transformer
from unmask.export.stock.bert import Tensors, Written, attend, layer_norm, norm, with_zero_rows


def gpt2(transformer: RealTransformer, tokens: TokenNames, *, scale: float, outputs: np.ndarray) -> Written:
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
            for name, tensor in _layer(stock, layer).items()
        },
        **norm("transformer.ln_f", stock),
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
        "eos_token_id": None,
        "pad_token_id": tokens.id("pad"),
    }
    return Written({name: np.ascontiguousarray(t, dtype=FLOAT) for name, t in tensors.items()}, config, stock)


def generation_config(tokens: TokenNames, steps: int) -> dict[str, Any]:
    """`generate` takes exactly T steps, the likeliest symbol each; nothing ends it earlier."""
    return {
        "do_sample": False,
        "max_new_tokens": steps,
        "min_new_tokens": steps,
        "bos_token_id": tokens.id("bos"),
        "pad_token_id": tokens.id("pad"),
        "eos_token_id": None,
    }


def _layer(stock: StockTransformer, layer: RealLayer) -> Tensors:
    """A Conv1D of transformers holds [in, out]; queries, keys and values stand side by side."""
    width, size = stock.width, stock.head_width
    attention, output = np.zeros((width, 3 * width)), np.zeros((width, width))
    for i, head in enumerate(layer.heads):
        for part, matrix in enumerate((head.wq, head.wk, head.wv)):
            first = part * width + i * size
            attention[:, first : first + matrix.shape[1]] = matrix
        output[i * size : i * size + head.wo.shape[0]] = head.wo
    w1, b1, w2 = np.zeros((width, stock.hidden)), np.zeros(stock.hidden), np.zeros((stock.hidden, width))
    units = len(layer.mlp.b1)
    w1[:, :units], b1[:units], w2[:units] = layer.mlp.w1, layer.mlp.b1, layer.mlp.w2
    return {
        **norm("ln_1", stock),
        "attn.c_attn.weight": attention,
        "attn.c_attn.bias": np.zeros(3 * width),
        "attn.c_proj.weight": output,
        "attn.c_proj.bias": np.zeros(width),
        **norm("ln_2", stock),
        "mlp.c_fc.weight": w1,
        "mlp.c_fc.bias": b1,
        "mlp.c_proj.weight": w2,
        "mlp.c_proj.bias": layer.mlp.b2,
    }


def gpt2_passes(tensors: Tensors, config: dict[str, Any]) -> Passes:
    """What transformers computes with these tensors, operation by operation."""
    heads = config["n_head"]

    def mapped(name: str, x: np.ndarray) -> np.ndarray:
        return x @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def normed(name: str, x: np.ndarray) -> np.ndarray:
        return layer_norm(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], config["layer_norm_epsilon"])

    def attention(name: str, x: np.ndarray) -> np.ndarray:
        mixed = mapped(f"{name}.c_attn", x)
        Q, K, V = np.moveaxis(mixed.reshape(*x.shape[:2], 3, heads, -1), (2, 3), (0, 2))
        return mapped(f"{name}.c_proj", attend(Q, K, V, causal=True))

    def passes(tokens: np.ndarray) -> np.ndarray:
        H = tensors["transformer.wte.weight"][tokens] + tensors["transformer.wpe.weight"][: tokens.shape[1]]
        for i in range(config["n_layer"]):
            at = f"transformer.h.{i}"
            H = H + attention(f"{at}.attn", normed(f"{at}.ln_1", H))
            H = H + mapped(f"{at}.mlp.c_proj", np.maximum(mapped(f"{at}.mlp.c_fc", normed(f"{at}.ln_2", H)), 0))
        return normed("transformer.ln_f", H) @ tensors["lm_head.weight"].T

    return in_parts(passes, config["n_positions"], config["n_inner"])
