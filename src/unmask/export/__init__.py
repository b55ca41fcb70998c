"""Models in other people's formats: stock BERT and GPT-2, one file of torch, ONNX. A leaf that may use floats.

A Model goes in, the files of a folder come out (`export`), with what was measured of them: `real/` turns integer
weights into real ones, `stock/`, `torch/` and `onnx/` write them in a form, `files/` is what every folder holds,
`check/` compares with F_p. `part` says which transformer and which form, `size` refuses what would not fit.
"""
