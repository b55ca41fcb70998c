"""Model → the files of a EuroBERT, Llama, Qwen2, LLaDA or Dream folder, compared with F_p before anything is written.

Every container holds the same float32 numbers under its own names. `read_back` converts tensors and config of the
folder to `RopeWeights`, which are then compared.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from unmask.export.agreement import ExportDisagreement
from unmask.export.bert_gpt2_albert import generation_config
from unmask.export.export_task import ExportTask, StockCanvas
from unmask.export.folder_files import Files, as_json
from unmask.export.real_transformer import rounding
from unmask.export.rope_transformer import (
    RopeChoice,
    RopeForm,
    RopeWeights,
    residual,
    rope_form,
    rope_passes,
)
from unmask.export.tokenizer import TokenNames
from unmask.weights.model import Model

NamedArrays = dict[str, np.ndarray]
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

    def tensors(self, weights: RopeWeights) -> NamedArrays:
        """Return the tensors under the container's names."""
        tensors = {f"{name}.weight": getattr(weights, table) for table, name in self.table_names.items()}
        for i, layer in enumerate(weights.layers):
            for neutral, name in self.layer_names.items():
                tensors[f"{self.layer_prefix}.{i}.{name}.weight"] = layer[neutral]
                if self.attention_biases and neutral in ("q", "k", "v"):
                    tensors[f"{self.layer_prefix}.{i}.{name}.bias"] = np.zeros(len(layer[neutral]), dtype=np.float32)
        return tensors

    def read_back(self, tensors: NamedArrays, config: dict[str, Any]) -> RopeWeights:
        """Convert the tensors and config of a folder to the neutral form."""
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


LARGEST_POSITION_ERROR = 2.0**-16


@dataclass(frozen=True, eq=False)
class RopeExport:
    """A task with its built weights; `canvas` accounts for shifted logits."""

    task: ExportTask
    canvas: StockCanvas
    form: RopeForm

    @classmethod
    def of(
        cls,
        model: Model,
        transformer_name: str,
        words: np.ndarray,
        *,
        order: str | None,
        choice: RopeChoice,
        shifted: bool,
    ) -> "RopeExport":
        task = ExportTask.of(model, transformer_name, words, order=order, relative=True)
        canvas = replace(task.canvas, shifted=shifted)
        scale = model.rows if "thresholds of 1/rows" in task.real.repairs else model.precision.one
        form = rope_form(
            task.real,
            canvas,
            task.outputs,
            scale=task.scale,
            begin=task.tokens.names.index(task.tokens.special["bos"]),
            grid=1 / scale,
            choice=choice,
        )
        return cls(task, canvas, form)

    def check(
        self, name: str, written: RopeWeights, *, position_error: float = LARGEST_POSITION_ERROR
    ) -> dict[str, Any]:
        """Compare the written weights with F_p, and return the content of export.json."""
        self.check_positions(name, written, position_error)
        passes_in = partial(rope_passes, written)
        report = self.task.checked(name, passes_in, self.canvas, parameters=parameters_of(written))
        return {**report, "rope": self.form.report(), "shifted": self.canvas.shifted}

    def check_positions(self, name: str, written: RopeWeights, largest: float) -> None:
        """Check that the position layers write its row of the position table to every row, and 0 to spare rows."""
        table, layers = self.form.table, self.form.layout.position_layers
        canvas, bits = self.canvas, [i for i, n in enumerate(self.form.real.names) if n.startswith("code:")]
        tokens = np.full((1, canvas.max_rows), canvas.filler)
        tokens[0, 0] = self.task.tokens.id("bos")
        for rows in (canvas.before + canvas.rows - written.causal, canvas.max_rows):
            stream = residual(written, tokens[:, :rows], layers, rounding("float32"))[0]
            error = np.abs(stream - written.embed[tokens[0, :rows]] - table[:rows])
            error[:, bits] = 0
            if not error.max() <= largest:
                raise ExportDisagreement(
                    f"the {name.upper()} form computes a wrong position in row {int(error.max(axis=1).argmax())} of "
                    f"{rows}: it is off by {error.max():.2g}; take other values for --rope-theta and --head-dim"
                )


def parameters_of(weights: RopeWeights) -> int:
    """Return the number of parameters."""
    tables = (weights.embed, weights.norm, weights.head)
    return sum(t.size for t in tables) + sum(t.size for layer in weights.layers for t in layer.values())


def rope_folder(
    model: Model, name: str, transformer_name: str, words: np.ndarray, *, order: str | None, choice: RopeChoice
) -> tuple[Files, dict[str, Any]]:
    """Return the files of a EuroBERT, Llama, Qwen2, LLaDA or Dream folder, and the content of export.json."""
    container = CONTAINERS[name]
    rope = RopeExport.of(model, transformer_name, words, order=order, choice=choice, shifted=container.shifted)
    task = rope.task
    tensors = container.tensors(rope.form.weights)
    config = container.config(rope.form.weights, task.tokens)
    report = rope.check(name, container.read_back(tensors, config))
    files = task.folder(tensors, config, rope.form.real, report)
    if model.kind == "cot":
        files["generation_config.json"] = as_json(generation_config(task.tokens, model.steps))
    elif name == "dream":  # its from_pretrained asks for the file
        files["generation_config.json"] = as_json({key: config[key] for key in config if key.endswith("_token_id")})
    return files, report
