"""Published LLaDA, Dream and dllm code on exported A5 folders, by an interpreter without unmask.

    python published_classes.py JOB PUBLISHED FOLDER WORDS.json

JOB is llada, dream or dllm. The first two need transformers 4.49, the last one takes transformers 5. WORDS has pairs
of a word and whether its product is the identity. Prints one JSON document: name of a run → [right
answers, most passes].
"""

import contextlib
import importlib
import io
import json
import sys
import types
import warnings
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast

SLOTS = 16  # one more than A5 at N = 16 has


class Counted:
    """A model that counts its passes; all other attributes are those of the wrapped model."""

    def __init__(self, model):
        self.model, self.passes = model, 0

    def __getattr__(self, name):
        return getattr(self.model, name)

    def __call__(self, *arguments, **options):
        self.passes += 1
        return self.model(*arguments, **options)


def scores(model, tokenizer, report, word_answers, run):
    """run(model, ids of a word) → the whole canvas."""
    correct, most = 0, 0
    for word, member in word_answers:
        counted = Counted(model)
        ids = torch.tensor([tokenizer(word).input_ids])
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            slots = run(counted, ids)[0, ids.shape[1] :].tolist()
        answer = tokenizer.convert_ids_to_tokens(slots[report["answer_slot"]])
        correct += (answer == report["accept"]) == member and tokenizer.mask_token_id not in slots
        most = max(most, counted.passes)
    return correct, most


def module_of(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def llada(published, folder, tokenizer):
    """LLaDA's own `generate`, and Fast-dLLM's three, on Fast-dLLM's LLaDA class."""
    sys.path.insert(0, str(published / "Fast-dLLM" / "llada"))
    fast = importlib.import_module("generate")
    llada_generate = module_of(published / "LLaDA" / "generate.py", "published_generate")
    mask = {"mask_id": tokenizer.mask_token_id}
    runs = {
        f"LLaDA, {steps} steps, block {block}": lambda m, ids, steps=steps, block=block: llada_generate.generate(
            m, ids, steps=steps, gen_length=SLOTS, block_length=block, **mask
        )
        for steps, block in ((16, 16), (16, 4), (4, 16))
    }
    for cache in ("", "_with_prefix_cache", "_with_dual_cache"):
        for block in (16, 8, 4):
            runs[f"Fast-dLLM{cache}, block {block}"] = lambda m, ids, cache=cache, block=block: getattr(
                fast, f"generate{cache}"
            )(m, ids, steps=SLOTS, gen_length=SLOTS, block_length=block, threshold=0.9, **mask)[0]
    return fast.LLaDAModelLM.from_pretrained(folder).eval(), runs


def dream(published, folder, tokenizer):  # noqa: ARG001
    """Dream's `diffusion_generate` with a threshold, and Fast-dLLM's block version with both caches."""
    sys.path.insert(0, str(published / "Fast-dLLM" / "dream"))
    model = importlib.import_module("model.modeling_dream").DreamModel.from_pretrained(folder).eval()
    block = importlib.import_module("model.generation_utils_block").DreamGenerationMixin

    def run(counted, ids, **options):
        passes, inner = 0, model.forward

        def forward(*arguments, **keywords):
            nonlocal passes
            passes += 1
            return inner(*arguments, **keywords)

        model.forward = forward
        try:
            generate = options.pop("generate")
            settings = {"max_new_tokens": SLOTS, "temperature": 0.0, "alg": "confidence_threshold", "threshold": 0.9}
            result = generate(model, ids, **settings, **options)
        finally:
            del model.forward
        counted.passes = passes
        return getattr(result, "sequences", result)

    def whole(model, ids, **options):
        return type(model).diffusion_generate(model, ids, **options)

    def in_blocks(model, ids, **options):
        model._sample = types.MethodType(block._sample, model)
        try:
            return block.diffusion_generate(model, ids, **options)
        finally:
            del model._sample

    runs = {"Dream, threshold": lambda m, ids: run(m, ids, generate=whole, steps=4)}
    for dual in (False, True):
        runs[f"Fast-dLLM {'dual' if dual else 'prefix'}, block 16"] = lambda m, ids, dual=dual: run(
            m, ids, generate=in_blocks, steps=SLOTS, block_length=16, dual_cache=dual
        )
    return model, runs


def dllm(published, folder, tokenizer):
    """dllm's class for bidirectional Llamas, and its sampler."""
    for name in ("dllm", "dllm.core", "dllm.pipelines", "dllm.pipelines.a2d"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(published / "dllm" / name.replace(".", "/"))]
    classes = importlib.import_module("dllm.pipelines.a2d.models.llama.modeling_llama")
    mdlm = importlib.import_module("dllm.core.samplers.mdlm")
    linear = importlib.import_module("dllm.core.schedulers").LinearAlphaScheduler()

    def sampled(model, ids, steps):
        sampler = mdlm.MDLMSampler(model=model, tokenizer=tokenizer, scheduler=linear)
        return sampler.sample([ids[0]], mdlm.MDLMSamplerConfig(max_new_tokens=SLOTS, block_size=SLOTS, steps=steps))

    runs = {f"dllm, {steps} steps": lambda m, ids, steps=steps: sampled(m, ids, steps) for steps in (16, 4)}
    return classes.A2DLlamaLMHeadModel.from_pretrained(folder).eval(), runs


def main():
    sys.modules["unmask"] = None  # so that importing it fails
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    job, published, folder, words = sys.argv[1:]
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    report = json.loads((Path(folder) / "export.json").read_text(encoding="utf-8"))
    word_answers = json.loads(Path(words).read_text(encoding="utf-8"))
    model, runs = globals()[job](Path(published), folder, tokenizer)
    print(json.dumps({name: scores(model, tokenizer, report, word_answers, run) for name, run in runs.items()}))


if __name__ == "__main__":
    main()
