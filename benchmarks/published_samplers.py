"""Run published samplers from their own files on an exported model of A5, in a process without unmask.

    git clone https://github.com/ML-GSAI/LLaDA published/LLaDA
    git clone https://github.com/NVlabs/Fast-dLLM published/Fast-dLLM
    git clone https://github.com/ZHZisZZ/dllm published/dllm
    git clone https://github.com/pengzhangzhi/Path-Planning published/Path-Planning
    unmask compile group:A5 --length 64 --to mdm --out a5 && unmask export a5 --to bert --out a5-bert
    python benchmarks/published_samplers.py published a5-bert

Words are drawn at random and multiplied as permutations; half of them multiply to the identity. Imports of a file that
the sampler does not need (the class of a model, the rest of a package) are replaced by empty modules.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import random
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

Run = Callable[["Counted"], torch.Tensor]


@dataclass
class SamplerTask:
    """An exported folder, words for it, and which of them multiply to the identity."""

    model: Any
    tokenizer: Any
    words: torch.Tensor
    members: list[bool]

    @property
    def slots(self) -> int:
        return self.words.shape[1] - 1

    def accuracy(self, canvas: torch.Tensor) -> float:
        answers = self.tokenizer.convert_ids_to_tokens(canvas[:, -1].tolist())
        return sum((a == "1") == m for a, m in zip(answers, self.members, strict=True)) / len(answers)


class Counted:
    """The model as samplers call it, with a count of its passes."""

    device = torch.device("cpu")

    def __init__(self, task: SamplerTask) -> None:
        self.task, self.passes = task, 0

    def __call__(self, tokens: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any) -> Any:
        self.passes += 1
        with torch.no_grad():
            return self.task.model(tokens, attention_mask=attention_mask)


def images(name: str) -> list[int]:
    """Return the images of five points under a permutation such as `(12)(345)`."""
    ends = list(range(5))
    for cycle in re.findall(r"\((\d+)\)", name):
        points = [int(digit) - 1 for digit in cycle]
        for point, image in zip(points, points[1:] + points[:1], strict=True):
            ends[point] = image
    return ends


def product(names: list[str]) -> list[int]:
    """Return the images of five points under a product; the first factor is applied first."""
    ends = list(range(5))
    for name in names:
        step = images(name)
        ends = [step[point] for point in ends]
    return ends


def load_task(folder: str, count: int) -> SamplerTask:
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    length = json.loads((Path(folder) / "export.json").read_text(encoding="utf-8"))["length"]
    names = [token for token in sorted(tokenizer.get_vocab()) if re.fullmatch(r"e|(\(\d+\))+", token)]
    by_images, rng, words = {tuple(images(name)): name for name in names}, random.Random(11), []
    for i in range(count):
        word = rng.choices(names, k=length)
        if i % 2:
            ends = product(word[:-1])
            word[-1] = by_images[tuple(ends.index(point) for point in range(5))]
        words.append(word)
    ids = torch.tensor(tokenizer([" ".join(word) for word in words]).input_ids)
    return SamplerTask(model, tokenizer, ids, [product(word) == list(range(5)) for word in words])


def file(path: Path, name: str, *missing: str) -> Any:
    """Import a module from its file; modules in `missing`, which it names but does not need, are empty."""
    for other in missing:
        sys.modules[other] = types.ModuleType(other)
        sys.modules[other].__getattr__ = lambda _: None  # ty: ignore
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package(name: str, path: Path) -> None:
    """Register a package without running its __init__."""
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(path)]


def llada(folder: Path, task: SamplerTask) -> Iterator[tuple[str, Run]]:
    generate = file(folder / "LLaDA" / "generate.py", "published_llada").generate
    sizes = {"gen_length": task.slots, "block_length": task.slots, "mask_id": task.tokenizer.mask_token_id}
    for steps in budgets(task.slots):
        yield f"LLaDA low_confidence, steps {steps}", lambda m, s=steps: generate(m, task.words, steps=s, **sizes)
    yield (
        f"LLaDA random, steps {task.slots}",
        lambda m: generate(m, task.words, steps=task.slots, remasking="random", **sizes),
    )


def fast_dllm(folder: Path, task: SamplerTask) -> Iterator[tuple[str, Run]]:
    path = folder / "Fast-dLLM" / "llada" / "generate.py"
    generate = file(path, "published_fast_dllm", "model", "model.modeling_llada").generate
    sizes = {"gen_length": task.slots, "block_length": task.slots, "mask_id": task.tokenizer.mask_token_id}

    def run(model: Counted) -> torch.Tensor:
        """Run one word at a time, as the file requires; count the passes of the slowest."""
        canvases, slowest = [], 0
        for word in task.words:
            model.passes = 0
            canvases.append(generate(model, word[None], steps=task.slots, threshold=0.9, **sizes)[0])
            slowest = max(slowest, model.passes)
        model.passes = slowest
        return torch.cat(canvases)

    yield "Fast-dLLM threshold 0.9", run


def dllm(folder: Path, task: SamplerTask) -> Iterator[tuple[str, Run]]:
    package("dllm", folder / "dllm" / "dllm")
    package("dllm.core", folder / "dllm" / "dllm" / "core")
    mdlm = importlib.import_module("dllm.core.samplers.mdlm")
    schedules = importlib.import_module("dllm.core.schedulers")

    def run(model: Counted, steps: int, schedule: Any, **options: Any) -> torch.Tensor:
        sampler = mdlm.MDLMSampler(model=model, tokenizer=task.tokenizer, scheduler=schedule)
        config = mdlm.MDLMSamplerConfig(max_new_tokens=task.slots, block_size=task.slots, steps=steps, **options)
        return sampler.sample(list(task.words), config)

    linear, cosine = schedules.LinearAlphaScheduler(), schedules.CosineAlphaScheduler()
    for steps in budgets(task.slots):
        yield f"dllm linear, steps {steps}", lambda m, s=steps: run(m, s, linear)
    for steps in (task.slots, task.slots.bit_length()):
        yield f"dllm cosine, steps {steps}", lambda m, s=steps: run(m, s, cosine)
    quotas = [1 << i for i in reversed(range(task.slots.bit_length()))]

    def halving(model: Counted) -> torch.Tensor:
        """Run the sampler with a schedule that dllm does not have."""
        original = mdlm.get_num_transfer_tokens
        mdlm.get_num_transfer_tokens = lambda mask_index, **_: torch.tensor([quotas] * len(mask_index))
        try:
            return run(model, len(quotas), linear)
        finally:
            mdlm.get_num_transfer_tokens = original

    yield f"dllm, schedule {', '.join(map(str, quotas))}", halving
    yield (
        f"dllm linear, right_shift_logits, steps {task.slots}",
        lambda m: run(m, task.slots, linear, right_shift_logits=True),
    )


def p2(folder: Path, task: SamplerTask) -> Iterator[tuple[str, Run]]:
    path = folder / "Path-Planning" / "src" / "path_planning"
    package("path_planning", path)
    module = file(path / "p2.py", "path_planning.p2")
    mask = task.tokenizer.mask_token_id
    blank = torch.cat([task.words, torch.full((len(task.words), task.slots), mask)], dim=1)

    def run(model: Counted, steps: int) -> torch.Tensor:
        return module.p2_sampling(
            blank.clone(), lambda x: model(x).logits, mask, steps, tau=0.0, eta=1.0, score_fn=module.logP
        )

    for steps in budgets(task.slots):
        yield f"P2 logP, steps {steps}", lambda m, s=steps: run(m, s)


def budgets(slots: int) -> list[int]:
    """Return numbers of passes around the least number that suffices, and far below it."""
    half = slots // 2
    return [slots, half + 1, half, slots.bit_length()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("published", type=Path)
    parser.add_argument("folder")
    parser.add_argument("--words", type=int, default=16)
    options = parser.parse_args()
    sys.modules["unmask"] = None  # ty: ignore  # so that importing it fails
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    task = load_task(options.folder, options.words)
    print(f"{task.slots} slots, {len(task.members)} words, {sum(task.members)} of them the identity")
    for sampler in (llada, fast_dllm, dllm, p2):
        try:
            runs = list(sampler(options.published, task))
        except (OSError, ImportError) as error:
            print(f"{sampler.__name__} left out: {error}")
            continue
        for name, run in runs:
            model = Counted(task)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                canvas = run(model)
            print(f"{name:44} {model.passes:4} passes  {task.accuracy(canvas):.2f}", flush=True)


if __name__ == "__main__":
    main()
