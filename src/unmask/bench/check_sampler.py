"""`check_sampler`: all checks on all models of a set; and names of samplers → functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from unmask.bench.bench_folder import cached_models
from unmask.bench.run_checks import SECONDS, Report, function_named, run_checks


def check_sampler(
    generate: Callable[..., Any] | str,
    models: str = "quick",
    *,
    checks: Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
    effects: Mapping[str, tuple[Any, Any]] | None = None,
    equal: Mapping[str, Sequence[Any]] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
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


def sampler_named(text: str) -> Callable[..., Any]:
    """FILE.py:NAME, package.module:NAME, a class of diffusers, or a name of `unmask samplers`.

    `diffusers:NAME` may be followed by parameters of its scheduler, `diffusers:NAME:PARAMETER=VALUE,…`.
    """
    from unmask.bench.adapters import adapter_named

    found = adapter_named(text)
    return function_named(text) if found is None else found
