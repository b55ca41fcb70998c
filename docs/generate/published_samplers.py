"""Run the checks on published code that is not part of this repository, and print the report as JSON.

    python published_samplers.py PUBLISHED NAME MODELS [CHECK ...]

PUBLISHED is the folder that tests/export/test_published_classes.py describes, NAME is one of SAMPLERS, and MODELS is a
set, or bench folders separated by commas. LLaDA's and Dream's classes need transformers 4.49 and bench folders of the
forms llada and dream; unmask itself is then on PYTHONPATH.
"""

import importlib
import importlib.util
import json
import os
import sys
import types
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from unmask.bench import adapters
from unmask.bench.bench_folder import cached_models
from unmask.bench.run_checks import run_checks


def module_of(path: Path, name: str) -> Any:
    """Import a module from a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def registered(module: str, config: str, model: str) -> None:
    """Register the model class of a checkout with transformers."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config_class = getattr(importlib.import_module(f"model.configuration_{module}"), config)
    model_class = getattr(importlib.import_module(f"model.modeling_{module}"), model)
    AutoConfig.register(config_class.model_type, config_class)
    AutoModelForCausalLM.register(config_class, model_class)


def llada(published: Path, **fixed: Any) -> Any:
    return adapters.llada(module_of(published / "LLaDA" / "generate.py", "llada_generate").generate, **fixed)


def llada_random(published: Path) -> Any:
    """LLaDA with `remasking` fixed."""
    generate = llada(published)

    def random(model: Any, tokenizer: Any, input_ids: Any, *, prompt_length: int, **more: Any) -> Any:
        return generate(model, tokenizer, input_ids, prompt_length=prompt_length, remasking="random", **more)

    return random


def dllm(published: Path) -> Any:
    """MDLMSampler; the packages around it import much more and are replaced by empty ones."""
    for name in ("dllm", "dllm.core"):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [str(published / "dllm" / name.replace(".", "/"))]
    mdlm = importlib.import_module("dllm.core.samplers.mdlm")
    return adapters.dllm(mdlm.MDLMSampler, mdlm.MDLMSamplerConfig)


def fast_dllm(published: Path, cache: str) -> Any:
    sys.path.insert(0, str(published / "Fast-dLLM" / "llada"))
    registered("llada", "LLaDAConfig", "LLaDAModelLM")
    module = importlib.import_module("generate")
    return adapters.fast_dllm(module.generate, getattr(module, f"generate_with_{cache}_cache"))


def dream(published: Path) -> Any:
    sys.path.insert(0, str(published / "Fast-dLLM" / "dream"))
    registered("dream", "DreamConfig", "DreamModel")
    return adapters.dream()


def fast_dllm_dream(published: Path, cache: str) -> Any:
    dream(published)
    mixin = importlib.import_module("model.generation_utils_block").DreamGenerationMixin
    return adapters.fast_dllm_dream(mixin, dual_cache=cache == "dual")


SAMPLERS: dict[str, tuple[str | None, Callable[[Path], Any]]] = {
    "LLaDA": (None, llada),
    "LLaDA, random": (None, llada_random),
    "dllm MDLMSampler": (None, dllm),
    "Fast-dLLM, prefix cache": ("llada", lambda published: fast_dllm(published, "prefix")),
    "Fast-dLLM, dual cache": ("llada", lambda published: fast_dllm(published, "dual")),
    "Dream": ("dream", dream),
    "Fast-dLLM Dream, prefix cache": ("dream", lambda published: fast_dllm_dream(published, "prefix")),
    "Fast-dLLM Dream, dual cache": ("dream", lambda published: fast_dllm_dream(published, "dual")),
}
"""Name → (form of the bench folders that it needs, function that makes the sampler)."""


def main() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    published, name, models, *checks = sys.argv[1:]
    with redirect_stdout(sys.stderr):
        generate = SAMPLERS[name][1](Path(published).absolute())
        loaded = [model for name_or_folder in models.split(",") for model in cached_models(name_or_folder)]
        report = run_checks(generate, loaded, checks=checks or None, name=name)
    print(json.dumps(report.to_json()))


if __name__ == "__main__":
    main()
