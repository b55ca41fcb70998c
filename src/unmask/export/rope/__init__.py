"""The real form → checkpoints with RMSNorm, rotary positions (RoPE) and gated MLPs (SwiGLU), and GGUF files.

`positions` turns distances to a begin symbol into the rows of a position table, `weights` builds one neutral set of
tensors, `forward` is its pass in NumPy, `containers` writes it as EuroBERT, Llama, Qwen2, LLaDA or Dream, `gguf` as a
file for llama.cpp, `folder` joins all.
"""
