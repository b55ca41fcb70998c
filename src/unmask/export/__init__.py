"""Model → a folder for other tools: transformers checkpoints, GGUF, one torch file, ONNX, each checked against F_p.

`export_model` is the entry point. `real_transformer` turns integer weights into real ones, `agreement` compares a form
with F_p, `folder_files` and `tokenizer` write the common files of all folders. The forms: `bert_gpt2_albert` (by
`export_task` and `stock_architecture`), `rope_folder` (by `rope_transformer`), `gguf_file`, `torch_folder`,
`onnx_folder`. A torch folder contains copies of `torch_model` and `torch_exact_numbers`, which therefore import nothing
of unmask; `torch_engine` runs them as an engine. Floats are allowed here.
"""
