"""The lookup heads of a word problem in TransformerLens: find, name and patch them. Needs the extra `lens`."""

# %% Compile the word problem of A5, and write its predictor as a stock BERT
import json
import logging
import os
import tempfile
import warnings
from pathlib import Path

from unmask import compile_problem, export_model, run_word

N = 8
model = compile_problem("group:A5", "mdm", length=N)
folder = str(export_model(model, "bert", Path(tempfile.mkdtemp()) / "a5"))

# %% Load it in TransformerLens: its logits are those of transformers
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402
from transformer_lens.model_bridge import TransformerBridge  # noqa: E402
from transformers import AutoModelForMaskedLM, AutoTokenizer  # noqa: E402
from transformers.utils.logging import disable_progress_bar  # noqa: E402

disable_progress_bar()
bert, tokenizer = AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
lens = TransformerBridge.boot_transformers(folder, hf_model=bert, tokenizer=tokenizer, device="cpu")
word = "(12345) (123) (345) (12)(34) (12)(34) (354) (132) (15432)"
canvas = " ".join(run_word(model, word).output)
tokens = torch.tensor([[model.token[symbol] for symbol in f"{word} {canvas}".split()]])
logits, cache = lens.run_with_cache(tokens)
print("canvas    ", canvas)
print("difference", float((logits - bert(tokens).logits).abs().max()))

# %% A lookup head puts all of its weight on one row; registers.json says what it compares
registers = json.loads((Path(folder) / "registers.json").read_text())
rows = range(N, N + model.padding)
for i, layer in enumerate(registers["layers"]):
    for head in layer["heads"]:
        pattern = cache[f"blocks.{i}.attn.hook_pattern"][0, head["head"], rows.start :]
        assert (pattern.amax(-1) > 1 - 1e-6).all()
        named = f"{head['queries'][-1]} = {head['keys'][-1]}: {head['reads'][-1]} -> {head['writes'][0]}"
        print(f"layer {i} head {head['head']} looks up {named}; slots read rows {pattern.argmax(-1).tolist()}")

# %% Patch one slot: put another element into its row of the residual stream, and see which slots predict otherwise
before = logits[0, rows.start :].argmax(-1)
for slot in range(model.padding - 1):
    other = tokens.clone()
    other[0, N + slot] = model.token["(13)(24)"] if canvas.split()[slot] != "(13)(24)" else model.token["e"]
    _, patched = lens.run_with_cache(other)

    def patch(residual, hook, row=N + slot, patched=patched):
        residual[:, row] = patched[hook.name][:, row]
        return residual

    after = lens.run_with_hooks(tokens, fwd_hooks=[("blocks.0.hook_resid_pre", patch)])[0, rows.start :].argmax(-1)
    changed = (after != before).nonzero().flatten().tolist()
    print(f"slot {slot} patched: changes {changed}; the slot above it in the tree is {(N + slot) // 2}")
