"""Model → a folder for other tools: transformers checkpoints, GGUF, one torch file, ONNX, each checked against F_p.

`export_model` is the entry point. `real_transformer` turns integer weights into real ones, `agreement` compares a form
with F_p, `folder_files` and `tokenizer` write what every folder holds. The forms: `bert_gpt2_albert` (by
`export_task` and `stock_architecture`), `rope_folder` (by `rope_transformer`), `gguf_file`, `torch_folder`,
`onnx_folder`. Floats are allowed here.
"""
