"""Use exported folders without unmask: with torch, transformers and onnxruntime only.

Reads jobs from standard input, one JSON document per line, and prints one answer per line. It runs in the virtual
environment of the tests, in which importing `unmask` fails.
"""

import importlib.abc
import json
import re
import runpy
import sys
from pathlib import Path


class NoUnmask(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name.split(".")[0] == "unmask":
            raise ImportError("unmask is not here")


sys.meta_path.insert(0, NoUnmask())


def has_unmask(**_):
    try:
        import unmask  # noqa: F401
    except ImportError:
        return False
    return True


def stock(folder, auto, dtype="float32", **options):
    import transformers

    model, info = getattr(transformers, auto).from_pretrained(folder, dtype=dtype, output_loading_info=True, **options)
    assert not any(info.values()), info  # nothing missing, nothing left over
    is_qwen2 = model.config.model_type == "qwen2"  # AutoTokenizer takes Qwen2's own, whatever the folder says
    reads = transformers.PreTrainedTokenizerFast if is_qwen2 else transformers.AutoTokenizer
    return model.eval(), reads.from_pretrained(folder)


def bert(folder, words, padding, **options):
    return fill(folder, words, padding, auto="AutoModelForMaskedLM", **options)


def fill(folder, words, padding, auto, threshold=0.9, dtype="float32", spare=0, left_pads=0, **options):
    """Fill the masks by confidence, without an order: in each pass all slots above the threshold. Return slots, passes.

    `spare` masks follow the canvas; the symbols written there are returned separately.
    """
    import torch

    model, tokenizer = stock(folder, auto, dtype, **options)
    ids = torch.tensor(tokenizer(words).input_ids)
    canvas = torch.full((len(words), padding + spare), tokenizer.mask_token_id)
    ids = torch.cat([torch.full((len(words), left_pads), tokenizer.pad_token_id), ids], dim=1)
    mask = torch.ones(len(words), ids.shape[1] + canvas.shape[1], dtype=torch.long)
    mask[:, :left_pads] = 0
    passes = 0
    while True:
        with torch.no_grad():
            logits = model(torch.cat([ids, canvas], dim=1), attention_mask=mask if left_pads else None).logits
        chance = logits[:, -padding - spare :].float().softmax(-1)
        confident = (chance.amax(-1) > threshold) & (canvas == tokenizer.mask_token_id)
        if not confident.any():
            slots = [tokenizer.convert_ids_to_tokens(row) for row in canvas.tolist()]
            return {
                "slots": [row[:padding] for row in slots],
                "spare": sorted({name for row in slots for name in row[padding:]}),
                "passes": passes,
            }
        canvas, passes = torch.where(confident, chance.argmax(-1), canvas), passes + 1


def logits(folder, tokens, dtype, auto="AutoModelForMaskedLM"):
    """Return the logits of rows of token ids, with the attention that transformers computes operation by operation."""
    import torch

    model, _ = stock(folder, auto, dtype, attn_implementation="eager")
    with torch.no_grad():
        return model(torch.tensor(tokens)).logits.float().tolist()


def pipeline(folder, words, auto, **options):
    """`LLaDA2Pipeline` of diffusers with a threshold and no editing. Returns slots, most passes of a word."""
    import diffusers
    import torch

    model, tokenizer = stock(folder, auto)
    passes, inner = 0, model.forward

    def counted(*arguments, **keywords):
        nonlocal passes
        passes += 1
        return inner(*arguments, **keywords)

    model.forward = counted
    sampler = diffusers.LLaDA2Pipeline(model=model, scheduler=diffusers.BlockRefinementScheduler(), tokenizer=None)
    sampler.set_progress_bar_config(disable=True)
    settings = {"threshold": 0.95, "editing_threshold": None, "temperature": 0.0, "eos_early_stop": False, **options}
    slots, most = [], 0
    for word in words:
        passes = 0
        filled = sampler(
            input_ids=torch.tensor([tokenizer(word).input_ids]),
            mask_token_id=tokenizer.mask_token_id,
            output_type="seq",
            **settings,
        )
        slots.append(tokenizer.convert_ids_to_tokens(filled.sequences[0].tolist()))
        most = max(most, passes)
    return {"slots": slots, "passes": most}


def planner(folder, words, padding, auto="AutoModelForMaskedLM"):
    """Return the slots of an empty canvas that the planner chooses."""
    import torch

    model, tokenizer = stock(folder, auto)
    ids = torch.tensor(tokenizer(words).input_ids)
    with torch.no_grad():
        logits = model(torch.cat([ids, torch.full((len(words), padding), tokenizer.mask_token_id)], dim=1)).logits
    take = tokenizer.convert_tokens_to_ids("[TAKE]")
    return [(row == take).nonzero().flatten().tolist() for row in logits[:, -padding:].argmax(-1)]


def gpt2(folder, words, steps):
    model, tokenizer = stock(folder, "AutoModelForCausalLM")
    inputs = tokenizer(words, return_tensors="pt")
    answer = model.generate(**inputs, do_sample=False, max_new_tokens=steps)[:, inputs.input_ids.shape[1] :]
    return [tokenizer.convert_ids_to_tokens(row) for row in answer.tolist()]


def generated(folder, word):
    """Return the output of `generate` without a limit on its length."""
    model, tokenizer = stock(folder, "AutoModelForCausalLM")
    model.generation_config.min_new_tokens, model.generation_config.max_new_tokens = None, 1000
    inputs = tokenizer(word, return_tensors="pt")
    answer = model.generate(**inputs, do_sample=False)[0, inputs.input_ids.shape[1] :]
    return tokenizer.convert_ids_to_tokens(answer.tolist())


def albert(folder, words, padding):
    """Return the answers, which are in the last row, after the pads."""
    import torch

    model, tokenizer = stock(folder, "AutoModelForMaskedLM")
    ids = torch.tensor(tokenizer(words).input_ids)
    with torch.no_grad():
        logits = model(torch.cat([ids, torch.full((len(words), padding), tokenizer.pad_token_id)], dim=1)).logits
    return tokenizer.convert_ids_to_tokens(logits[:, -1].argmax(-1).tolist())


def tokens(folder, words, **options):
    import transformers

    return [transformers.AutoTokenizer.from_pretrained(folder)(word, **options).input_ids for word in words]


def torch_model(folder, words, device="cpu"):
    """Return every canvas of every word, computed by the folder's own module."""
    import torch

    sys.path.insert(0, folder)
    try:
        module = runpy.run_path(str(Path(folder) / "model.py"))
        model = module["Model"](folder, device)
        ids = torch.cat([model.encode(word) for word in words])
        canvases = [canvas.tolist() for canvas in model.run(ids)]
    finally:
        sys.path.remove(folder)
        sys.modules.pop("exact_numbers", None)
    return [[model.config["vocabulary"][token] for token in row] for canvas in canvases for row in canvas]


def onnx_pass(folder, inputs):
    import numpy as np
    import onnx
    import onnxruntime

    path = str(Path(folder) / "model.onnx")
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return [value.tolist() for value in session.run(None, {"tokens": np.array(inputs)})]


def top_probabilities(folder, form, inputs, part, mask, loops):
    """Return the largest probability of every row, without the mask, by a softmax in float32 and in float64."""
    import torch

    if form == "onnx":
        logits = torch.tensor(onnx_pass(folder, inputs)[0])
    elif form == "torch":
        sys.path.insert(0, folder)
        try:
            model = runpy.run_path(str(Path(folder) / "model.py"))["Model"](folder)
            logits = model.transformers[part](torch.tensor(inputs), loops)
        finally:
            sys.path.remove(folder)
            sys.modules.pop("exact_numbers", None)
    else:
        model, _ = stock(folder, "AutoModelForCausalLM" if form == "gpt2" else "AutoModelForMaskedLM")
        with torch.no_grad():
            logits = model(torch.tensor(inputs)).logits
    about = json.loads((Path(folder) / "export.json").read_text())
    if about["exact"]:
        logits = logits.double() * about["logit_scale"]
    if mask is not None:
        logits[..., mask] = -torch.inf
    return {str(kind): logits.to(kind).softmax(-1).amax(-1).tolist() for kind in (torch.float32, torch.float64)}


def torch_refusal(folder, words):
    """Return the error message of the folder's own module for each word, or the shape of a word that it can read."""
    sys.path.insert(0, folder)
    try:
        model, messages = runpy.run_path(str(Path(folder) / "model.py"))["Model"](folder), []
        for word in words:
            try:
                messages.append(list(model.encode(word).shape))
            except ValueError as error:
                messages.append(str(error))
    finally:
        sys.path.remove(folder)
    return messages


def card(folder, words=(None,)):
    """Run the program on the card in its folder, with the word on the card or others. Return its output."""
    import contextlib
    import io
    import os

    code = re.search(r"```python\n(.*?)```", (Path(folder) / "README.md").read_text(encoding="utf-8"), re.S)[1]
    before, printed = os.getcwd(), io.StringIO()
    os.chdir(folder)
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(printed):
            for word in words:
                line = (lambda _, word=word: f"word = {word!r}") if word is not None else r"\g<0>"
                exec(re.sub(r"(?m)^word = .*$", line, code), {"__name__": "card"})
    finally:
        os.chdir(before)
        sys.path.remove(folder)
        for name in ("model", "exact_numbers"):
            sys.modules.pop(name, None)
    return printed.getvalue()


JOBS = {
    f.__name__: f
    for f in (
        has_unmask,
        albert,
        bert,
        fill,
        logits,
        pipeline,
        planner,
        gpt2,
        generated,
        tokens,
        torch_model,
        torch_refusal,
        onnx_pass,
        card,
        top_probabilities,
    )
}

if __name__ == "__main__":
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(JOBS[job.pop("job")](**job)), file=answers, flush=True)
