"""Fill the slots of a GGUF export in llama.cpp: `python examples/engines/fill_in_llama_cpp.py FOLDER WORD`.

It needs `pip install xllamacpp==2026.10.11549 tokenizers safetensors numpy`, and no unmask. The shared library of the
wheel is called by ctypes. Parameters are blocks of bytes that the library fills with its defaults; the few that are
changed are found at offsets that belong to this version of the wheel and are compared with the expected defaults first.
"""

import ctypes
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

VERSION = "2026.10.11549"
CONTEXT_DEFAULTS = {0: 512, 4: 2048, 8: 512}  # n_ctx, n_batch, n_ubatch
N_CTX, N_BATCH, N_UBATCH, N_OUTPUTS, N_OUTPUTS_PER_SEQUENCE, N_THREADS, N_THREADS_BATCH = 0, 4, 8, 20, 24, 28, 32
TYPE_K, TYPE_V, EMBEDDINGS = 104, 108, 136


def why_not():
    """The reason to skip, or None."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "the wheel xllamacpp is not installed"
    version = importlib.metadata.version("xllamacpp")
    return (
        None if version == VERSION else f"this reads the structures of xllamacpp {VERSION}, and {version} is installed"
    )


class ModelParameters(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 512)]


class ContextParameters(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 1024)]


class Batch(ctypes.Structure):
    _fields_ = [
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_quiet = LOG(lambda *_: None)


def library():
    path = next(Path(importlib.util.find_spec("xllamacpp").origin).parent.glob("*.so"))
    lib, pointer, integer = ctypes.CDLL(str(path)), ctypes.c_void_p, ctypes.c_int32
    floats = ctypes.POINTER(ctypes.c_float)
    for name, result, arguments in (
        ("llama_log_set", None, [LOG, pointer]),
        ("llama_model_default_params", ModelParameters, []),
        ("llama_context_default_params", ContextParameters, []),
        ("llama_model_load_from_file", pointer, [ctypes.c_char_p, ModelParameters]),
        ("llama_init_from_model", pointer, [pointer, ContextParameters]),
        ("llama_model_get_vocab", pointer, [pointer]),
        ("llama_vocab_n_tokens", integer, [pointer]),
        ("llama_vocab_mask", integer, [pointer]),
        ("llama_model_n_embd", integer, [pointer]),
        ("llama_model_is_diffusion", ctypes.c_bool, [pointer]),
        ("llama_batch_init", Batch, [integer, integer, integer]),
        ("llama_decode", integer, [pointer, Batch]),
        ("llama_get_logits_ith", floats, [pointer, integer]),
        ("llama_get_embeddings_ith", floats, [pointer, integer]),
        ("llama_set_causal_attn", None, [pointer, ctypes.c_bool]),
        ("llama_get_memory", pointer, [pointer]),
        ("llama_memory_clear", None, [pointer, ctypes.c_bool]),
        (
            "llama_tokenize",
            integer,
            [pointer, ctypes.c_char_p, integer, ctypes.POINTER(integer), integer] + [ctypes.c_bool] * 2,
        ),
        ("llama_free", None, [pointer]),
        ("llama_model_free", None, [pointer]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    lib.llama_log_set(_quiet, None)
    lib.llama_backend_init()
    return lib


class LlamaCpp:
    """One model and one context, in float32 with one thread."""

    def __init__(self, path, *, rows, embeddings=False, causal=False):
        self.lib = library()
        self.model = self.lib.llama_model_load_from_file(str(path).encode(), self.lib.llama_model_default_params())
        assert self.model, f"llama.cpp does not load {path}"
        parameters = self.lib.llama_context_default_params()
        assert {at: _number(parameters, at) for at in CONTEXT_DEFAULTS} == CONTEXT_DEFAULTS
        for at in (N_CTX, N_BATCH, N_UBATCH, N_OUTPUTS, N_OUTPUTS_PER_SEQUENCE):
            _number(parameters, at, rows)
        for at, value in ((N_THREADS, 1), (N_THREADS_BATCH, 1), (TYPE_K, 0), (TYPE_V, 0)):
            _number(parameters, at, value)
        parameters.bytes[EMBEDDINGS] = embeddings
        self.context = self.lib.llama_init_from_model(self.model, parameters)
        assert self.context, "llama.cpp gives no context"
        self.vocabulary = self.lib.llama_model_get_vocab(self.model)
        self.embeddings, self.causal = embeddings, causal
        self.batch = self.lib.llama_batch_init(rows, 0, 1)

    def close(self):
        self.lib.llama_free(self.context)
        self.lib.llama_model_free(self.model)

    def tokens(self, text):
        room = (ctypes.c_int32 * 1024)()
        raw = text.encode()
        return list(room[: self.lib.llama_tokenize(self.vocabulary, raw, len(raw), room, 1024, True, True)])

    def rows(self, tokens):
        """Logits, or the residual stream, of every row; nothing is kept from one pass to the next."""
        memory = self.lib.llama_get_memory(self.context)
        if memory:
            self.lib.llama_memory_clear(memory, True)
        self.lib.llama_set_causal_attn(self.context, self.causal)
        batch = self.batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = int(token), i, 1, 1
            batch.seq_id[i][0] = 0
        assert self.lib.llama_decode(self.context, batch) == 0
        get, width = (
            (self.lib.llama_get_embeddings_ith, self.lib.llama_model_n_embd(self.model))
            if self.embeddings
            else (self.lib.llama_get_logits_ith, self.lib.llama_vocab_n_tokens(self.vocabulary))
        )
        return np.array([np.ctypeslib.as_array(get(self.context, i), (width,)).copy() for i in range(len(tokens))])


def _number(parameters, at, value=None):
    pointer = ctypes.cast(ctypes.byref(parameters, at), ctypes.POINTER(ctypes.c_uint32))
    if value is not None:
        pointer[0] = value
    return pointer[0]


def filled(folder, word):
    """Yield the symbols of the slots after each step, written in the order of the model's planner."""
    folder = Path(folder)
    report = json.loads((folder / "export.json").read_text())
    names, hidden = report["tokens"], report["arch"] == "eurobert"
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(word).ids
    first = len(tokens)
    tokens += [names.index("[MASK]")] * report["padding"]
    engine = LlamaCpp(folder / "model.gguf", rows=report["max_rows"], embeddings=hidden)
    for slots in report["order"]:
        logits = engine.rows(tokens)
        if hidden:  # llama.cpp has no logits for this architecture
            logits = logits @ load_file(folder / "lm_head.safetensors")["lm_head.weight"].T
        for slot in slots:
            tokens[first + slot] = int(logits[first + slot].argmax())
        yield [names[token] for token in tokens[first:]]
    engine.close()


if __name__ == "__main__":
    if reason := why_not():
        sys.exit(reason)
    for written in filled(*sys.argv[1:]):
        print(*written)
