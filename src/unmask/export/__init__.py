"""Models in the formats of other tools: stock transformers checkpoints, GGUF, one file of torch, ONNX.

A Model goes in, the files of a folder come out (`export`), with what was measured of them. `real/` turns integer
weights into real ones. `stock/` writes BERT, GPT-2 and ALBERT, `rope/` architectures with rotary positions, `torch/`
and `onnx/` plain files. `files/` is what every folder holds, `check/` compares with F_p. `part` says which transformer
and which form, `size` refuses what would not fit. Floats are allowed here.
"""
