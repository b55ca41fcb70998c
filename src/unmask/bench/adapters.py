"""A sampler, by function or by name → its checks; and adapters for published samplers, one function each.

    check_sampler(adapters.llada(their_module.generate))
    check_sampler(adapters.diffusers_pipeline(), options={"threshold": 0.95})

An adapter has the parameters that the sampler has, under the names of the bench, so that the checks know which apply.
Samplers that take a prompt and make the canvas themselves cannot be given a canvas that is partly filled: a check that
needs it is reported as not applicable.
"""
# ruff: noqa: ARG001

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from importlib.util import find_spec
from types import MethodType
from typing import Any

import numpy as np

from unmask.bench.bench_folder import cached_models
from unmask.bench.loaded_model import BenchError
from unmask.bench.observed_run import NotApplicable
from unmask.bench.run_checks import SECONDS_PER_RUN, Report, function_named, named_checks, run_checks
from unmask.errors import UnmaskError

Generate = Callable[..., Any]


def check_sampler(
    generate: Generate | str,
    models: str = "quick",
    *,
    checks: Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
    effects: Mapping[str, tuple[Any, Any]] | None = None,
    equal: Mapping[str, Sequence[Any]] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    seconds: float = SECONDS_PER_RUN,
) -> Report:
    """Run the checks on a sampler, and return a report.

    `generate(model, tokenizer, input_ids, *, steps, mask_token_id, **options)` fills the masks of `input_ids` in at
    most `steps` passes and returns the filled ids; or (ids, step map); or an object with `sequences` and, if it has
    one, `step_map` or `histories`. Checks about an option apply if generate has a parameter of its name: block_length,
    threshold, editing_threshold, max_post_steps, minimal_topk, remasking, attention_mask, prompt_length, use_cache,
    and uniform, for samplers that denoise random symbols instead of masks.

    `models` is quick, full, names of `unmask bench list`, or a bench folder. `options` are passed to every call,
    `effects` maps further options to two values that must give different runs, `equal` maps options to values that must
    give the same run, `expected_failures` maps checks to reasons, and `seconds` limits every run.
    """
    require_packages("torch", "transformers")
    named_checks(checks)  # refuses unknown names before the models are loaded
    name = generate if isinstance(generate, str) else None
    function = sampler_named(generate) if isinstance(generate, str) else generate
    return run_checks(
        function,
        cached_models(models),
        checks=checks,
        options=options,
        effects=effects,
        equal=equal,
        expected_failures=expected_failures,
        seconds=seconds,
        name=name,
    )


def require_packages(*names: str) -> None:
    """Refuse to run a sampler without the packages that this needs."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise BenchError(f"running a sampler needs {' and '.join(missing)}; run `pip install 'unmask[bench]'`")


def sampler_named(text: str) -> Generate:
    """Return the function that a name means.

    The name is FILE.py:NAME, package.module:NAME, a class of diffusers, or a name of `unmask samplers`.

    `diffusers:NAME` may be followed by parameters of its scheduler, `diffusers:NAME:PARAMETER=VALUE,…`.
    """
    adapter = adapter_named(text)
    if adapter is None and ":" not in text:
        raise BenchError(
            "a sampler is named FILE.py:NAME, package.module:NAME or as in `unmask samplers`, such as "
            f"fast-dllm:threshold=0.9, not {text!r}"
        )
    return function_named(text) if adapter is None else adapter


def numpy_sampler(generate: Generate) -> Generate:
    """Adapt a sampler on NumPy arrays: `model(ids).logits` and `input_ids` are arrays."""

    def adapted(model: Any, tokenizer: Any, input_ids: Any, *, steps: int, mask_token_id: int, **options: Any) -> Any:
        import torch

        class ArrayModel:
            def __call__(self, ids: np.ndarray) -> Any:
                with torch.no_grad():
                    logits = model(torch.from_numpy(np.asarray(ids, dtype=np.int64))).logits
                return type("ArrayOutput", (), {"logits": logits.float().numpy()})

        return generate(
            ArrayModel(), tokenizer, input_ids.numpy().copy(), steps=steps, mask_token_id=mask_token_id, **options
        )

    return adapted


PUBLISHED_OPTIONS = {
    "block_length": ("block_length",),
    "threshold": ("threshold",),
    "editing_threshold": ("editing_threshold", "edit_threshold"),
    "max_post_steps": ("max_post_steps", "max_post_edit_steps"),
    "minimal_topk": ("num_to_transfer",),
    "remasking": ("remasking",),
}
"""Option of the bench → its names in published code."""


def published_sampler(name: str) -> Generate:
    """Return a sampler of `unmask samplers`, such as `llada:remasking=random`, with a fixed seed.

    Parameters that the name gives are fixed. The others are options of the bench, under its names.
    """
    from unmask.samplers.sampler_names import parse_sampler

    entry = parse_sampler(name)
    free_parameters = {field.name for field in fields(entry.rule)} - set(entry.parameters)
    renamed = {
        option: published
        for option, names in PUBLISHED_OPTIONS.items()
        for published in names
        if published in free_parameters
    }

    def generate(
        model: Any,
        tokenizer: Any,
        input_ids: Any,
        *,
        steps: int,
        mask_token_id: int,
        prompt_length: int = 0,
        uniform: bool = False,
        **options: Any,
    ) -> Any:
        from unmask.samplers.predictors import HuggingFacePredictor
        from unmask.samplers.sampling_loop import sample

        if entry.from_noise and not uniform:
            raise NotApplicable(f"{name} starts from random symbols and has no mask token")
        before, canvas = input_ids[:, :prompt_length].numpy(), input_ids[:, prompt_length:].numpy()
        if uniform:  # it draws its own random symbols
            canvas = np.full_like(canvas, mask_token_id)
        values = {renamed[option]: value for option, value in options.items()}
        configured = replace(entry, parameters={**entry.parameters, **values})
        sampler = configured.within(steps, canvas.shape[1])
        if sampler is None:
            raise NotApplicable(f"{name} has more blocks than steps={steps}")
        result = sample(HuggingFacePredictor(model, tokenizer, before), sampler, canvas)
        ids = np.hstack([before, result.sequences.astype(np.int64)])
        return ids, result.step_map

    signature = inspect.signature(generate)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name != "options" and (entry.from_noise or parameter.name != "uniform")
    ]
    option_parameters = [inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=None) for option in renamed]
    generate.__dict__["__signature__"] = signature.replace(parameters=[*parameters, *option_parameters])
    generate.__qualname__ = name
    return generate


def llada(published: Generate, **fixed: Any) -> Generate:
    """Adapt LLaDA's `generate(model, prompt, steps, gen_length, block_length, …, remasking, mask_id)`."""

    def generate(
        model: Any,
        tokenizer: Any,
        input_ids: Any,
        *,
        steps: int,
        mask_token_id: int,
        prompt_length: int,
        block_length: int | None = None,
        remasking: str = "low_confidence",
    ) -> Any:
        slots = blank_slots(input_ids, prompt_length, mask_token_id)
        width = block_length or slots
        blocks = -(-slots // width)
        if slots % width or steps % blocks:
            raise NotApplicable(f"{steps} steps and {slots} slots cannot be divided into blocks of {width}")
        return published(
            model,
            input_ids[:, :prompt_length],
            steps=steps,
            gen_length=slots,
            block_length=width,
            remasking=remasking,
            mask_id=mask_token_id,
            **{"temperature": 0.0, **fixed},
        )

    return generate


def fast_dllm(published: Generate, cached: Generate | None = None, **fixed: Any) -> Generate:
    """Adapt Fast-dLLM's `generate`, and for `use_cache` a variant with a cache; both return (ids, passes)."""

    def generate(
        model: Any,
        tokenizer: Any,
        input_ids: Any,
        *,
        steps: int,
        mask_token_id: int,
        prompt_length: int,
        block_length: int | None = None,
        threshold: float | None = 0.9,
        use_cache: bool = False,
    ) -> Any:
        if use_cache and cached is None:
            raise NotApplicable("no function with a cache was given to the adapter")
        slots = blank_slots(one_row(input_ids), prompt_length, mask_token_id)
        ids, _ = (cached if use_cache and cached is not None else published)(
            model,
            input_ids[:, :prompt_length],
            steps=steps,
            gen_length=slots,
            block_length=block_length or slots,
            threshold=threshold,
            mask_id=mask_token_id,
            **{"temperature": 0.0, **fixed},
        )
        return ids

    return generate


def dream(alg: str = "maskgit_plus", **fixed: Any) -> Generate:
    """Adapt `model.diffusion_generate` of Dream's own class, for bench folders of the form `dream`.

    Fast-dLLM's copy of it has the rule `confidence_threshold`, which takes one row and a divisor of the slots as steps.
    """

    def generate(
        model: Any, tokenizer: Any, input_ids: Any, *, steps: int, mask_token_id: int, prompt_length: int
    ) -> Any:
        slots = _slots_of_dream(model, input_ids, prompt_length, mask_token_id)
        if alg == "confidence_threshold" and slots % steps:
            raise NotApplicable(f"{steps} steps do not divide {slots} slots, as this rule requires")
        return model.diffusion_generate(
            one_row(input_ids)[:, :prompt_length] if alg == "confidence_threshold" else input_ids[:, :prompt_length],
            max_new_tokens=slots,
            steps=steps,
            alg=alg,
            **{"temperature": 0.0, "return_dict_in_generate": True, **fixed},
        ).sequences

    return generate


def fast_dllm_dream(mixin: Any, *, dual_cache: bool = False, **fixed: Any) -> Generate:
    """Adapt Fast-dLLM's loops for Dream with a threshold: its copy of Dream's loop, or for `use_cache` that of `mixin`.

    `mixin` is the class DreamGenerationMixin of its file generation_utils_block.py.
    """
    plain = dream("confidence_threshold", **fixed)

    def generate(
        model: Any,
        tokenizer: Any,
        input_ids: Any,
        *,
        steps: int,
        mask_token_id: int,
        prompt_length: int,
        use_cache: bool = False,
    ) -> Any:
        if not use_cache:
            return plain(
                model, tokenizer, input_ids, steps=steps, mask_token_id=mask_token_id, prompt_length=prompt_length
            )
        slots = _slots_of_dream(model, one_row(input_ids), prompt_length, mask_token_id)
        model._sample = MethodType(mixin._sample, model)
        try:
            sizes = {"max_new_tokens": slots, "block_length": slots, "steps": steps}
            settings = {"alg": "confidence_threshold", "temperature": 0.0, "dual_cache": dual_cache, **sizes, **fixed}
            output = mixin.diffusion_generate(model, input_ids[:, :prompt_length], **settings)
        finally:
            del model._sample
        return getattr(output, "sequences", output)

    return generate


def _slots_of_dream(model: Any, input_ids: Any, prompt_length: int, mask_token_id: int) -> int:
    if not hasattr(model, "diffusion_generate"):
        raise NotApplicable("this model has no method diffusion_generate; export the bench folder with --to dream")
    return blank_slots(input_ids, prompt_length, mask_token_id)


def dllm(sampler_class: Any, config_class: Any, **fixed: Any) -> Generate:
    """Adapt a sampler of the library dllm and the class of its settings, such as MDLMSampler and MDLMSamplerConfig."""

    def generate(
        model: Any,
        tokenizer: Any,
        input_ids: Any,
        *,
        steps: int,
        mask_token_id: int,
        prompt_length: int,
        block_length: int | None = None,
    ) -> Any:
        slots = blank_slots(input_ids, prompt_length, mask_token_id)
        settings = config_class(max_new_tokens=slots, block_size=block_length or slots, steps=steps, **fixed)
        prompts = list(input_ids[:, :prompt_length])
        return sampler_class(model=model, tokenizer=tokenizer).sample(prompts, settings)

    return generate


def diffusers_pipeline(name: str = "LLaDA2Pipeline", scheduler: Any = None, **fixed: Any) -> Generate:
    """Adapt a text pipeline of diffusers with its scheduler, by default `BlockRefinementScheduler`.

    Without `block_length` the whole canvas is one block. Its `num_inference_steps` counts steps per block.
    """
    module = _diffusers()

    def generate(
        model: Any,
        tokenizer: Any,
        input_ids: Any,
        *,
        steps: int,
        mask_token_id: int,
        prompt_length: int,
        block_length: int | None = None,
        threshold: float = 0.95,
        editing_threshold: float | None = None,
        max_post_steps: int = 16,
        minimal_topk: int = 1,
        attention_mask: Any = None,
    ) -> Any:
        import torch

        slots = blank_slots(input_ids, prompt_length, mask_token_id)
        pipeline = getattr(module, name)(
            model=model, scheduler=scheduler or module.BlockRefinementScheduler(), tokenizer=None
        )
        pipeline.set_progress_bar_config(disable=True)
        prompt = input_ids[:, :prompt_length]
        optional = {} if attention_mask is None else {"attention_mask": attention_mask[:, :prompt_length]}
        output = pipeline(
            input_ids=prompt,
            gen_length=slots,
            block_length=block_length or input_ids.shape[1],
            num_inference_steps=steps,
            threshold=threshold,
            editing_threshold=editing_threshold,
            max_post_steps=max_post_steps,
            minimal_topk=minimal_topk,
            mask_token_id=mask_token_id,
            **optional,
            **{"temperature": 0.0, "eos_early_stop": False, "output_type": "seq", **fixed},
        )
        return torch.cat([prompt, output.sequences], dim=1)

    generate.__qualname__ = f"diffusers:{name}"
    return generate


def diffusers_scheduler(name: str = "BlockRefinementScheduler", **fixed: Any) -> Generate:
    """Run a scheduler of diffusers in a plain loop: one step per pass on the slots, until none is masked or edited.

    With `uniform` the canvas has random symbols and the loop makes `steps` passes.
    """
    module = _diffusers()
    scheduler_class = getattr(module, name)
    step_parameters = set(inspect.signature(scheduler_class.step).parameters)

    def generate(
        model: Any,
        tokenizer: Any,
        input_ids: Any,
        *,
        steps: int,
        mask_token_id: int,
        prompt_length: int,
        threshold: float = 0.95,
        editing_threshold: float | None = None,
        max_post_steps: int = 16,
        minimal_topk: int = 1,
        uniform: bool = False,
    ) -> Any:
        import torch

        if not uniform and "mask_token_id" not in step_parameters:
            raise NotApplicable(f"{name} starts from random symbols and has no mask token")
        ids, slots = input_ids.clone(), input_ids.shape[1] - prompt_length
        scheduler = scheduler_class(**fixed)
        sized = "block_length" in inspect.signature(scheduler.set_timesteps).parameters
        scheduler.set_timesteps(steps, **({"block_length": slots} if sized else {}))
        settings = {
            "mask_token_id": None if uniform else mask_token_id,
            "temperature": 0.0,
            "threshold": threshold,
            "editing_threshold": editing_threshold,
            "minimal_topk": minimal_topk,
            "generator": torch.Generator().manual_seed(0),
        }
        settings = {option: value for option, value in settings.items() if option in step_parameters}
        last, changed = steps + (max_post_steps if editing_threshold and not uniform else 0), True
        for step in range(last):
            masked = uniform or bool((ids[:, prompt_length:] == mask_token_id).any())
            if not masked and not (editing_threshold and changed):
                break
            with torch.no_grad():
                logits = model(ids).logits[:, prompt_length:]
            output = scheduler.step(logits, step, ids[:, prompt_length:], **settings)
            after = torch.cat([ids[:, :prompt_length], output.prev_sample], dim=1)
            ids, changed = after, not torch.equal(after, ids)
        return ids

    generate.__qualname__ = f"diffusers:{name}"
    _drop_unused_options(generate, step_parameters)
    return generate


def _drop_unused_options(generate: Generate, step_parameters: set[str]) -> None:
    """Remove options that the `step` of a scheduler lacks from the signature, so that no check uses them."""
    needs = {option: option for option in ("threshold", "editing_threshold", "minimal_topk")}
    needs["max_post_steps"] = "editing_threshold"
    parameters = inspect.signature(generate).parameters.values()
    kept_parameters = [parameter for parameter in parameters if needs.get(parameter.name, "self") in step_parameters]
    generate.__dict__["__signature__"] = inspect.Signature(kept_parameters)


def blank_slots(input_ids: Any, prompt_length: int, mask_token_id: int) -> int:
    """Return the number of slots; refuse a canvas that is partly filled."""
    canvas = input_ids[:, prompt_length:]
    if not bool((canvas == mask_token_id).all()):
        raise NotApplicable("this sampler makes its canvas itself and cannot be given one that is partly filled")
    return canvas.shape[1]


def one_row(input_ids: Any) -> Any:
    """Return the ids of the single row; refuse a batch."""
    if len(input_ids) > 1:
        raise NotApplicable("this sampler takes one row at a time")
    return input_ids


def _diffusers() -> Any:
    try:
        import diffusers
    except ImportError:
        raise UnmaskError(
            "this sampler is part of diffusers; install it with pip install 'unmask[diffusers]'"
        ) from None
    return diffusers


def adapter_named(text: str) -> Generate | None:
    """Return the adapter of `diffusers:NAME[:PARAMETER=VALUE,…]` or of a name of `unmask samplers`; None otherwise."""
    from unmask.samplers.sampler_names import RULES

    prefix, _, rest = text.partition(":")
    if prefix == "diffusers":
        return _of_diffusers(rest)
    return published_sampler(text) if prefix in RULES else None


def _of_diffusers(text: str) -> Generate:
    """Parse NAME or NAME:PARAMETER=VALUE,…; the parameters are those of the scheduler, also for a pipeline."""
    from unmask.samplers.sampler_names import named_parameters, parameter_value

    name, _, rest = text.partition(":")
    if not hasattr(_diffusers(), name):
        raise UnmaskError(f"diffusers has no {name!r}; use LLaDA2Pipeline or BlockRefinementScheduler")
    scheduler = name if name.endswith("Scheduler") else "BlockRefinementScheduler"
    scheduler_class = getattr(_diffusers(), scheduler)
    names = [parameter for parameter in inspect.signature(scheduler_class.__init__).parameters if parameter != "self"]
    values = named_parameters(scheduler, rest, names, parameter_value)
    is_pipeline = scheduler != name
    generate: Any = (
        diffusers_pipeline(name, scheduler_class(**values)) if is_pipeline else diffusers_scheduler(name, **values)
    )
    generate.__qualname__ = f"diffusers:{text}"
    return generate
