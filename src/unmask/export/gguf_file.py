"""RopeWeights → a GGUF file for llama.cpp, read back and compared before it is written. It needs the extra `gguf`.

llada, llama   llama.cpp rotates neighbouring components of a head, not its two halves: rows of q and k are permuted
dream, qwen2   have biases for q, k and v, which are 0; dream's logits are not shifted (`diffusion.shift_logits` false)
eurobert       has no logits in llama.cpp: the file ends with the residual stream, and the folder contains
               `lm_head.safetensors`
q8_0           keeps `ffn_gate` in f16: biases in its rows are many times as large as the other weights, which eight
               bits per block would lose. Otherwise the check refuses most programs and circuits, but not A5 at N = 16
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save

from unmask.errors import UnmaskError
from unmask.export.agreement import ExportDisagreement
from unmask.export.folder_files import Files, as_json, as_text, gguf_card, register_map
from unmask.export.rope_folder import RopeExport
from unmask.export.rope_transformer import RopeChoice, RopeWeights
from unmask.export.tokenizer import TokenNames
from unmask.weights.model import Model

Arch = Literal["llada", "dream", "llama", "qwen2", "eurobert"]
GgufType = Literal["f32", "f16", "q8_0"]
TURNS_NEIGHBOURS = ("llada", "llama")
ATTENTION_BIASES = ("dream", "qwen2")
DIFFUSION_ARCHS = ("llada", "dream")
FILE_TYPES: dict[GgufType, int] = {"f32": 0, "f16": 1, "q8_0": 7}
TENSORS = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
    "attention_norm": "attn_norm",
    "mlp_norm": "ffn_norm",
}
LARGEST_POSITION_ERROR: dict[GgufType, float] = {"f32": 2.0**-16, "f16": 2.0**-16, "q8_0": 2.0**-6}
KEPT_IN_F16 = ("ffn_gate",)
HEAD_FILE = "lm_head.safetensors"


@dataclass(frozen=True)
class GgufChoice:
    """Architecture and number type of the file."""

    arch: Arch = "llada"
    dtype: GgufType = "f32"


def gguf_folder(
    model: Model, transformer_name: str, words: np.ndarray, *, order: str | None, choice: RopeChoice, gguf: GgufChoice
) -> tuple[Files, dict[str, Any]]:
    """Return the files (`model.gguf`, card, export.json, registers.json, tokenizer) and the content of export.json."""
    if model.kind == "cot" and gguf.arch != "llama":
        raise UnmaskError(
            f"a chain of thought needs a causal architecture, and {gguf.arch} is not causal; use --arch llama"
        )
    _package()
    rope = RopeExport.of(model, transformer_name, words, order=order, choice=choice, shifted=False)
    task, weights = rope.task, rope.form.weights
    data = gguf_bytes(weights, task.tokens, task.tokens.letters(model), gguf)
    written = read_gguf(data, weights, gguf.arch)
    try:
        checked = rope.check("gguf", written, position_error=LARGEST_POSITION_ERROR[gguf.dtype])
    except ExportDisagreement as error:
        if gguf.dtype != "q8_0":
            raise
        raise ExportDisagreement(
            f"eight bits per weight are too few for this {transformer_name}: the file would not decide as "
            f"F_{model.precision.p} does; use --dtype f16 or f32"
        ) from error
    report = {**checked, "arch": gguf.arch, "dtype": gguf.dtype, "tokens": list(task.tokens.names)}
    card = gguf_card(model, report, task.tokens, task.words)
    files = {
        "model.gguf": data,
        "registers.json": as_json(register_map(rope.form.real)),
        **task.tokenizer(),
        "export.json": as_json(report),
        "README.md": as_text(card),
    }
    if gguf.arch == "eurobert":
        files[HEAD_FILE] = save({"lm_head.weight": weights.head})
    return files, report


def gguf_bytes(weights: RopeWeights, tokens: TokenNames, letters: set[str], choice: GgufChoice) -> bytes:
    """Return the content of the file; `letters` are the tokens that llama.cpp recognises in running text."""
    package = _package()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        writer = package.GGUFWriter(str(path), choice.arch)
        _metadata(writer, weights, choice)
        _vocabulary(writer, tokens, letters)
        for name, tensor in _gguf_tensors(weights, choice.arch).items():
            _add_tensor(writer, name, np.ascontiguousarray(tensor, dtype=np.float32), choice.dtype)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def read_gguf(data: bytes, weights: RopeWeights, arch: Arch) -> RopeWeights:
    """Return the tensors of the file, dequantised and unpermuted; the check uses these."""
    package = _package()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(data)
        reader = package.GGUFReader(str(path))
        tensors = {
            t.name: np.array(package.quants.dequantize(t.data, t.tensor_type), dtype=np.float32) for t in reader.tensors
        }
        theta, epsilon, heads, count, rows = (
            reader.get_field(f"{arch}.{key}").contents()
            for key in (
                "rope.freq_base",
                "attention.layer_norm_rms_epsilon",
                "attention.head_count",
                "block_count",
                "context_length",
            )
        )
        del reader
    layers = []
    for i in range(count):
        layer = {neutral: tensors[f"blk.{i}.{name}.weight"] for neutral, name in TENSORS.items()}
        if arch in TURNS_NEIGHBOURS:
            layer |= {name: as_halves(layer[name], heads) for name in ("q", "k")}
        layers.append(layer)
    return RopeWeights(
        embed=tensors["token_embd.weight"],
        layers=tuple(layers),
        norm=tensors["output_norm.weight"],
        head=tensors.get("output.weight", weights.head),
        heads=heads,
        theta=theta,
        epsilon=epsilon,
        max_rows=rows,
        causal=weights.causal,
    )


def as_neighbours(rows: np.ndarray, heads: int) -> np.ndarray:
    """Permute rows of q or k from rotated halves of a head to rotated neighbours."""
    return np.ascontiguousarray(rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape))


def as_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """Invert `as_neighbours`."""
    return np.ascontiguousarray(rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape))


def _gguf_tensors(weights: RopeWeights, arch: Arch) -> dict[str, np.ndarray]:
    tensors = {"token_embd.weight": weights.embed, "output_norm.weight": weights.norm}
    if arch != "eurobert":
        tensors["output.weight"] = weights.head
    for i, layer in enumerate(weights.layers):
        for neutral, name in TENSORS.items():
            permuted = arch in TURNS_NEIGHBOURS and neutral in ("q", "k")
            tensor = as_neighbours(layer[neutral], weights.heads) if permuted else layer[neutral]
            tensors[f"blk.{i}.{name}.weight"] = tensor
            if arch in ATTENTION_BIASES and neutral in ("q", "k", "v"):
                tensors[f"blk.{i}.{name}.bias"] = np.zeros(len(tensor))
    return tensors


def _add_tensor(writer: Any, name: str, tensor: np.ndarray, dtype: GgufType) -> None:
    if dtype == "f32" or tensor.ndim == 1:
        writer.add_tensor(name, tensor)
    elif dtype == "f16" or any(stem in name for stem in KEPT_IN_F16):
        writer.add_tensor(name, tensor.astype(np.float16))
    else:
        package = _package()
        kind = package.GGMLQuantizationType[dtype.upper()]
        writer.add_tensor(name, package.quants.quantize(tensor, kind), raw_dtype=kind)


def _metadata(writer: Any, weights: RopeWeights, choice: GgufChoice) -> None:
    writer.add_context_length(weights.max_rows)
    writer.add_embedding_length(weights.width)
    writer.add_block_count(len(weights.layers))
    writer.add_feed_forward_length(weights.hidden)
    writer.add_head_count(weights.heads)
    writer.add_head_count_kv(weights.heads)
    writer.add_key_length(weights.head_width)
    writer.add_value_length(weights.head_width)
    writer.add_layer_norm_rms_eps(weights.epsilon)
    writer.add_rope_freq_base(weights.theta)
    writer.add_rope_dimension_count(weights.head_width)
    writer.add_vocab_size(len(weights.embed))
    writer.add_causal_attention(weights.causal)
    writer.add_file_type(FILE_TYPES[choice.dtype])
    if choice.arch in DIFFUSION_ARCHS:
        writer.add_diffusion_shift_logits(False)
    if choice.arch == "eurobert":
        writer.add_pooling_type(_package().PoolingType.NONE)


def _vocabulary(writer: Any, tokens: TokenNames, letters: set[str]) -> None:
    """Write the vocabulary: letters are recognised in running text; symbols of slots, such as `ab`, are not.

    llama.cpp refuses a vocabulary without merges, so there is an unused one.
    """
    kinds, special = _package().TokenType, set(tokens.special.values())

    def kind(name: str) -> Any:
        return kinds.CONTROL if name in special else kinds.USER_DEFINED if name in letters else kinds.NORMAL

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(list(tokens.names))
    writer.add_token_types([kind(name) for name in tokens.names])
    writer.add_token_merges(["[ ["])
    for role in ("bos", "eos", "pad", "mask"):
        if role in tokens.special:
            getattr(writer, f"add_{role}_token_id")(tokens.id(role))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)


def _package() -> Any:
    try:
        import gguf
    except ImportError:
        raise UnmaskError("--to gguf needs the package gguf; install it with: pip install 'unmask[gguf]'") from None
    return gguf
