"""RopeWeights ↔ the tensors and config.json of EuroBERT, Llama, Qwen2, LLaDA and Dream.

Every container holds the same float32 numbers under its own names. `read_back` returns from what was written to the
neutral form, so that the check is about the tensors and the config that go into the folder.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.export.files.token_names import TokenNames
from unmask.export.rope.forward import RopeWeights

Tensors = dict[str, np.ndarray]
SPECIAL = ("pad", "bos", "eos", "mask")

LLAMA_LAYER = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
    "attention_norm": "input_layernorm",
    "mlp_norm": "post_attention_layernorm",
}
LLAMA_TABLES = {"embed": "model.embed_tokens", "norm": "model.norm", "head": "lm_head"}
LLADA_LAYER = {
    "q": "q_proj",
    "k": "k_proj",
    "v": "v_proj",
    "o": "attn_out",
    "gate": "ff_proj",
    "up": "up_proj",
    "down": "ff_out",
    "attention_norm": "attn_norm",
    "mlp_norm": "ff_norm",
}
LLADA_TABLES = {
    "embed": "model.transformer.wte",
    "norm": "model.transformer.ln_f",
    "head": "model.transformer.ff_out",
}


@dataclass(frozen=True, eq=False)
class Container:
    """Names of the tensors and of the config's keys; `shifted`: logits of row i predict row i + 1."""

    name: str
    layer_prefix: str
    layer_names: dict[str, str]
    table_names: dict[str, str]
    config: Callable[[RopeWeights, TokenNames], dict[str, Any]]
    keys: dict[str, str]
    attention_biases: bool = False
    shifted: bool = False

    def tensors(self, weights: RopeWeights) -> Tensors:
        """The tensors, by the container's names."""
        tensors = {f"{name}.weight": getattr(weights, table) for table, name in self.table_names.items()}
        for i, layer in enumerate(weights.layers):
            for neutral, name in self.layer_names.items():
                tensors[f"{self.layer_prefix}.{i}.{name}.weight"] = layer[neutral]
                if self.attention_biases and neutral in ("q", "k", "v"):
                    tensors[f"{self.layer_prefix}.{i}.{name}.bias"] = np.zeros(len(layer[neutral]), dtype=np.float32)
        return tensors

    def read_back(self, tensors: Tensors, config: dict[str, Any]) -> RopeWeights:
        """What was written → the neutral form."""
        layers = tuple(
            {neutral: tensors[f"{self.layer_prefix}.{i}.{name}.weight"] for neutral, name in self.layer_names.items()}
            for i in range(config[self.keys["layers"]])
        )
        return RopeWeights(
            embed=tensors[f"{self.table_names['embed']}.weight"],
            layers=layers,
            norm=tensors[f"{self.table_names['norm']}.weight"],
            head=tensors[f"{self.table_names['head']}.weight"],
            heads=config[self.keys["heads"]],
            theta=config["rope_theta"],
            epsilon=config["rms_norm_eps"],
            max_rows=config[self.keys["rows"]],
            causal=config.get("is_causal", False),
        )


def _llama_family(architecture: str, model_type: str, **more: Any) -> Callable[[RopeWeights, TokenNames], dict]:
    def config(weights: RopeWeights, tokens: TokenNames) -> dict[str, Any]:
        return {
            "architectures": [architecture],
            "model_type": model_type,
            "vocab_size": len(weights.embed),
            "hidden_size": weights.width,
            "intermediate_size": weights.hidden,
            "num_hidden_layers": len(weights.layers),
            "num_attention_heads": weights.heads,
            "num_key_value_heads": weights.heads,
            "head_dim": weights.head_width,
            "hidden_act": "silu",
            "max_position_embeddings": weights.max_rows,
            "rms_norm_eps": weights.epsilon,
            "rope_theta": weights.theta,
            "rope_parameters": {"rope_type": "default", "rope_theta": weights.theta},
            "attention_bias": False,
            "mlp_bias": False,
            "attention_dropout": 0.0,
            "tie_word_embeddings": False,
            "use_cache": weights.causal,
            **({} if model_type in ("eurobert", "Dream") else {"is_causal": weights.causal}),
            "dtype": "float32",
            "torch_dtype": "float32",
            **_special_ids(tokens),
            **more,
        }

    return config


def _llada(weights: RopeWeights, tokens: TokenNames) -> dict[str, Any]:
    return {
        "architectures": ["LLaDAModelLM"],
        "model_type": "llada",
        "auto_map": {
            "AutoConfig": "configuration_llada.LLaDAConfig",
            "AutoModel": "modeling_llada.LLaDAModelLM",
            "AutoModelForCausalLM": "modeling_llada.LLaDAModelLM",
        },
        "d_model": weights.width,
        "n_heads": weights.heads,
        "n_kv_heads": weights.heads,
        "n_layers": len(weights.layers),
        "mlp_hidden_size": weights.hidden,
        "mlp_ratio": 4,
        "max_sequence_length": weights.max_rows,
        "vocab_size": len(weights.embed),
        "embedding_size": len(weights.embed),
        "activation_type": "silu",
        "block_type": "llama",
        "block_group_size": 1,
        "alibi": False,
        "rope": True,
        "rope_full_precision": True,
        "rope_theta": weights.theta,
        "layer_norm_type": "rms",
        "layer_norm_with_affine": True,
        "attention_layer_norm": False,
        "attention_layer_norm_with_affine": True,
        "rms_norm_eps": weights.epsilon,
        "bias_for_layer_norm": False,
        "include_bias": False,
        "include_qkv_bias": False,
        "input_emb_norm": False,
        "multi_query_attention": None,
        "scale_logits": False,
        "weight_tying": False,
        "flash_attention": False,
        "attention_dropout": 0.0,
        "residual_dropout": 0.0,
        "embedding_dropout": 0.0,
        "init_device": "cpu",
        "init_fn": "normal",
        "init_std": 0.02,
        "precision": "fp32",
        "use_cache": False,
        "dtype": "float32",
        "torch_dtype": "float32",
        **_special_ids(tokens),
    }


def _special_ids(tokens: TokenNames) -> dict[str, int | None]:
    return {f"{role}_token_id": tokens.id(role) for role in SPECIAL if role in tokens.special}


LLAMA_KEYS = {"layers": "num_hidden_layers", "heads": "num_attention_heads", "rows": "max_position_embeddings"}
LLADA_KEYS = {"layers": "n_layers", "heads": "n_heads", "rows": "max_sequence_length"}
DREAM_CLASSES = {"AutoConfig": "configuration_dream.DreamConfig", "AutoModel": "modeling_dream.DreamModel"}


def _of_llama_family(name: str, architecture: str, model_type: str, *, biases: bool = False, **more: Any) -> Container:
    config = _llama_family(architecture, model_type, **more)
    shifted = name == "dream"
    return Container(name, "model.layers", LLAMA_LAYER, LLAMA_TABLES, config, LLAMA_KEYS, biases, shifted)


CONTAINERS = {
    "eurobert": _of_llama_family("eurobert", "EuroBertForMaskedLM", "eurobert"),
    "llama": _of_llama_family("llama", "LlamaForCausalLM", "llama"),
    "qwen2": _of_llama_family("qwen2", "Qwen2ForCausalLM", "qwen2", biases=True, use_sliding_window=False),
    "llada": Container("llada", "model.transformer.blocks", LLADA_LAYER, LLADA_TABLES, _llada, LLADA_KEYS),
    "dream": _of_llama_family("dream", "DreamModel", "Dream", biases=True, auto_map=DREAM_CLASSES),
}
