"""A user's function as a sampler of `unmask samplers`: generate × compiled problem → Sample.

The function is called as in `unmask bench run`, word by word, with a torch module whose logits are those of the
compiled predictor in F_p.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from unmask.bench.adapters import require_packages, sampler_named
from unmask.bench.observed_run import NotApplicable, ObservedRun, observe_run
from unmask.bench.reference_models import model_begin
from unmask.bench.run_checks import SECONDS_PER_RUN
from unmask.bench.trial import PASSES_PER_SLOT, check_call
from unmask.errors import UnmaskError
from unmask.limits import check
from unmask.samplers.predictors import CompiledPredictor
from unmask.samplers.problem_subject import Subject
from unmask.samplers.sampler_names import RULES
from unmask.samplers.sampling_loop import Sample


def is_function(name: str) -> bool:
    """Return whether a name of a sampler is FILE.py:NAME, package.module:NAME or diffusers:NAME."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix not in RULES and (prefix == "diffusers" or prefix.endswith(".py") or "=" not in name)


def user_function(name: str) -> "UserSampler":
    """Return the function of this name; refuse a function that cannot be called with the arguments of the bench."""
    require_packages("torch")
    function = sampler_named(name)
    check_call(function, {})
    return UserSampler(name, function)


@dataclass(frozen=True)
class UserSampler:
    """A `generate` function of `check_sampler`, with the interface that `examine` expects of a sampler."""

    label: str
    generate: Callable[..., Any]

    remasks: str = "unknown"
    takes_steps: bool = True

    def sampled(self, subject: Subject, budget: int, seed: int) -> Sample | None:
        """Run the function on every word, one after the other, with `budget` steps."""
        import torch

        runs: list[list[np.ndarray]] = []
        for index in range(len(subject.words)):
            check()
            torch.manual_seed(seed + index)
            runs.append(self._canvases(subject, index, budget))
        longest = max(map(len, runs))
        stacked = (np.concatenate([run[min(t, len(run) - 1)] for run in runs]) for t in range(longest))
        return Sample(tuple(stacked), np.array([len(run) - 1 for run in runs]), subject.predictor.mask_id)

    def _canvases(self, subject: Subject, index: int, budget: int) -> list[np.ndarray]:
        import torch

        words = subject.predictor.words[index : index + 1]
        predictor = CompiledPredictor(subject.predictor.model, words, subject.predictor.engine)
        module, first, mask_id = compiled_module(predictor), predictor.first_row, predictor.mask_id
        ids = np.array([[*model_begin(predictor.model), *words[0], *[mask_id] * subject.slots]], dtype=np.int64)
        run = ObservedRun(ids, first, mask_id)
        takes_prompt_length = "prompt_length" in inspect.signature(self.generate).parameters
        optional = {"prompt_length": first} if takes_prompt_length else {}
        tokenizer = SimpleNamespace(mask_token_id=mask_id, all_special_ids=[mask_id])
        try:
            observe_run(
                module,
                lambda: self.generate(
                    module,
                    tokenizer,
                    torch.from_numpy(ids.copy()),
                    steps=budget,
                    mask_token_id=mask_id,
                    **optional,
                ),
                run,
                most_passes=64 + PASSES_PER_SLOT * max(subject.slots, budget),
                seconds=SECONDS_PER_RUN,
            )
        except NotApplicable as why:
            raise UnmaskError(f"{self.label} cannot be run with {budget} steps: {why}") from None
        if run.error is not None or run.stopped is not None:
            raise UnmaskError(f"{self.label} with {budget} steps: {run.error or run.stopped}")
        canvases = run.canvases()
        if canvases is None:
            raise UnmaskError(
                f"{self.label} does not show the model its whole canvas in every pass, so no pass is known"
            )
        return canvases


def compiled_module(predictor: CompiledPredictor) -> Any:
    """Return a torch module: input_ids [1, rows] → an object with `logits`, which are 0 in rows of the prompt."""
    import torch

    class CompiledModule(torch.nn.Module):
        device, dtype = torch.device("cpu"), torch.float32

        def forward(self, input_ids: Any, **_: Any) -> Any:
            slots = predictor.logits(input_ids[:, predictor.first_row :].numpy())
            before = np.zeros((*input_ids.shape, slots.shape[-1]), dtype=np.float32)
            before[:, predictor.first_row :] = slots
            return SimpleNamespace(logits=torch.from_numpy(before))

    return CompiledModule().eval()
