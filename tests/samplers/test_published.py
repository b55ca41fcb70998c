"""Our rules against public code of the same: equal tokens, with the same random numbers.

The code is not part of this repository. UNMASK_PUBLISHED names a folder with what there is of `LLaDA/generate.py`,
`Path-Planning/src/path_planning/`, `Fast-dLLM/llada/generate.py`, `Dream/generation_utils.py`, `remdm/diffusion.py`,
`dllm/dllm/core/`, and `EB/eb_sampler.py` (a third party's: EB's authors have published none). Without it, or without
torch, nothing is run.
"""

import ast
import importlib.util
import os
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from samplers.by_formula import Mixed
from unmask.samplers.remasking_rules import P2, Remdm
from unmask.samplers.rule_interface import Drawn, block, quotas
from unmask.samplers.sampling_loop import masks, sample
from unmask.samplers.write_once_rules import Dream, EntropyBound, FastDllm, Llada

FOLDER = os.environ.get("UNMASK_PUBLISHED")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(FOLDER is None, reason="UNMASK_PUBLISHED names no folder with the published code"),
]
SLOTS, SYMBOLS = 12, 5
SEEDS = range(20)


def published(file, name, **stubs):
    """A module of the folder; what it imports only for its demonstration is stubbed."""
    path = Path(FOLDER or "") / file
    if not path.is_file():
        pytest.skip(f"UNMASK_PUBLISHED has no {file}")
    pytest.importorskip("torch")
    for stub, names in stubs.items():
        if stub in sys.modules or ("." not in stub and importlib.util.find_spec(stub) is not None):
            continue
        sys.modules[stub] = types.ModuleType(stub)
        for attribute in names:
            setattr(sys.modules[stub], attribute, lambda *arguments, **_: arguments[0] if arguments else None)
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def parts_of(file, *names, **space):
    """Functions and methods of a file of the folder by name, without what the file imports for other purposes."""
    path = Path(FOLDER or "") / file
    if not path.is_file():
        pytest.skip(f"UNMASK_PUBLISHED has no {file}")
    torch = pytest.importorskip("torch")

    class Doubles:
        """torch, in which scores that are kept in bfloat16 are doubles, as ours are."""

        bfloat16 = torch.float64

        def __getattr__(self, name):
            return getattr(torch, name)

    space["torch"] = Doubles()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list = []
            exec(compile(ast.Module([node], []), str(path), "exec"), space)
    return types.SimpleNamespace(**{name: space[name] for name in names})


class TorchModel:
    """A predictor of ours as the published code calls it."""

    device = "cpu"

    def __init__(self, predictor, plain):
        self.predictor, self.plain = predictor, plain

    def __call__(self, tokens, **_):
        import torch

        logits = torch.from_numpy(self.predictor.logits(tokens.numpy()))
        return logits if self.plain else types.SimpleNamespace(logits=logits)


class Replayed(Drawn):
    """Chance by the numbers that the published code draws: for all slots, and before it knows which matter."""

    def __init__(self, generator, symbols):
        super().__init__(generator)
        self.alphabet, self.slots = symbols + 1, np.arange(0)

    def symbols(self, probabilities):
        ticks = self.generator.random((SLOTS, self.alphabet))[self.slots]
        return np.argmax(probabilities / -np.log(ticks), axis=-1)

    def subset(self, slots, count):
        ticks = self.generator.random(SLOTS)[slots]
        return slots[np.argsort(-ticks)[:count]]


class Watched:
    """A sampler that tells its chance which slots are open."""

    def __init__(self, sampler):
        self.sampler, self.label = sampler, sampler.label

    def finished(self, state):
        return self.sampler.finished(state)

    def next(self, state, beliefs, chance):
        width = getattr(self.sampler, "block_length", None)
        masked = np.flatnonzero(state.masked)
        here = state.masked if width is None else state.masked & block(SLOTS, width, int(masked[0]) // width)
        chance.slots = np.flatnonzero(here)
        return self.sampler.next(state, beliefs, chance)


def ours(predictor, sampler, seed):
    chance = Replayed(np.random.default_rng(seed), SYMBOLS)
    return sample(predictor, Watched(sampler), masks(predictor, 1, SLOTS), chances=[chance]).sequences[0].tolist()


@pytest.fixture
def same_numbers(monkeypatch):
    """torch.rand and torch.rand_like give the numbers of a generator of NumPy."""
    import torch

    def use(seed):
        generator = np.random.default_rng(seed)
        monkeypatch.setattr(torch, "rand", lambda *s, **_: torch.from_numpy(generator.random(*s)))
        monkeypatch.setattr(torch, "rand_like", lambda x, **_: torch.from_numpy(generator.random(tuple(x.shape))))

    return use


@pytest.mark.parametrize("remasking", ["low_confidence", "random"])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize(("steps", "width"), [(12, 12), (6, 12), (5, 12), (1, 12), (12, 4), (6, 4), (4, 6)])
def test_llada(same_numbers, remasking, temperature, steps, width):
    if remasking == "random" and temperature:
        pytest.skip("ours draws the slots before their symbols, so that the numbers are others")
    import torch

    llada = published("LLaDA/generate.py", "published_llada", transformers=("AutoTokenizer", "AutoModel"))
    lengths = set()
    for seed in SEEDS:
        predictor = Mixed(SLOTS, SYMBOLS, seed)
        same_numbers(seed)
        theirs = llada.generate(
            TorchModel(predictor, plain=False),
            torch.zeros((1, 0), dtype=torch.long),
            steps=steps,
            gen_length=SLOTS,
            block_length=width,
            temperature=temperature,
            remasking=remasking,
            mask_id=predictor.mask_id,
        )[0].tolist()
        sampler = Llada(steps, None if width == SLOTS else width, temperature, remasking)
        assert ours(predictor, sampler, seed) == theirs
        lengths.add(tuple(theirs))
    assert len(lengths) > 1


def path_planning():
    """The package without its __init__, which draws pictures."""
    folder = "Path-Planning/src/path_planning"
    if "path_planning" not in sys.modules:
        published(f"{folder}/utils.py", "probe")
        package = types.ModuleType("path_planning")
        package.__path__ = [str(Path(FOLDER) / folder)]
        sys.modules["path_planning"] = package
    return published(f"{folder}/p2.py", "published_p2", tqdm=("tqdm",))


@pytest.mark.parametrize("score", ["logP", "random", "diff_top2"])
@pytest.mark.parametrize("tau", [0.0, 1.0])
@pytest.mark.parametrize("eta", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("steps", [12, 5, 1])
def test_p2(same_numbers, score, tau, eta, steps):
    if score == "diff_top2" and eta == 0:
        pytest.skip("all written slots tie at 0, the lowest score; the published < then masks none of them")
    import torch

    p2 = path_planning()
    score_fn = {"logP": p2.logP, "random": p2.random_score}.get(score)
    if score_fn is None:
        from path_planning.score_function import diff_top2 as score_fn
    for seed in SEEDS:
        predictor = Mixed(SLOTS, SYMBOLS, seed)
        same_numbers(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = p2.p2_sampling(
                torch.full((1, SLOTS), predictor.mask_id),
                TorchModel(predictor, plain=True),
                predictor.mask_id,
                steps,
                tau=tau,
                eta=eta,
                score_fn=score_fn,
            )[0].tolist()
        assert ours(predictor, P2(steps, eta=eta, tau=tau, score=score), seed) == theirs


def test_p2_with_a_planner(same_numbers):
    import torch

    p2 = path_planning()
    for seed in SEEDS:
        predictor, planner = Mixed(SLOTS, SYMBOLS, seed), Mixed(SLOTS, SYMBOLS, seed + 1000)
        same_numbers(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = p2.p2_sampling(
                torch.full((1, SLOTS), predictor.mask_id),
                TorchModel(predictor, plain=True),
                predictor.mask_id,
                6,
                tau=0.0,
                planner=TorchModel(planner, plain=True),
            )[0].tolist()
        sampler = P2(6, planner=lambda _, x0, planner=planner: planner.logits(x0[None])[0])
        assert ours(predictor, sampler, seed) == theirs


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("width", [12, 4])
def test_fast_dllm(threshold, width):
    import torch

    stubs = {"transformers": ("AutoTokenizer", "AutoModel"), "model": (), "model.modeling_llada": ("LLaDAModelLM",)}
    fast = published("Fast-dLLM/llada/generate.py", "published_fast_dllm", **stubs)
    for seed in SEEDS:
        predictor = Mixed(SLOTS, SYMBOLS, seed)
        result = fast.generate(
            TorchModel(predictor, plain=False),
            torch.zeros((1, 0), dtype=torch.long),
            steps=SLOTS,
            gen_length=SLOTS,
            block_length=width,
            mask_id=predictor.mask_id,
            threshold=threshold,
        )
        theirs = (result[0] if isinstance(result, tuple) else result)[0].tolist()
        sampled = sample(predictor, FastDllm(threshold, block_length=width), masks(predictor, 1, SLOTS))
        assert sampled.sequences[0].tolist() == theirs


@pytest.mark.parametrize("alg", ["maskgit_plus", "topk_margin", "entropy"])
@pytest.mark.parametrize("steps", [12, 7, 1])
def test_dream(alg, steps):
    """With Dream's own counting; it predicts a slot from the row before it, so that one token stands before them."""
    pytest.importorskip("transformers")
    import torch

    dream = published("Dream/generation_utils.py", "published_dream")

    class Model(dream.DreamGenerationMixin):
        device = "cpu"

        def __init__(self, predictor):
            self.predictor = predictor

        def __call__(self, tokens, *_):
            logits = torch.from_numpy(self.predictor.logits(tokens[:, 1:].numpy()))
            return types.SimpleNamespace(logits=torch.cat([logits, logits[:, -1:]], dim=1))

    for seed in SEEDS:
        predictor = Mixed(SLOTS, SYMBOLS, seed)
        names = ("temperature", "top_p", "top_k", "alg_temp", "output_history")
        given = {"max_length": SLOTS + 1, "mask_token_id": predictor.mask_id, "steps": steps, "eps": 1e-3, "alg": alg}
        settings = types.SimpleNamespace(**dict.fromkeys(names), **given, return_dict=False)
        settings.temperature = 0.0
        one = torch.zeros((1, 1), dtype=torch.long)
        tokens, logits = (lambda step, x, logits: x), (lambda step, x, logits: logits)  # noqa: ARG005
        theirs = Model(predictor)._sample(one, None, settings, tokens, logits)[0, 1:].tolist()
        assert ours(predictor, Dream(steps, alg), seed) == theirs


@pytest.mark.parametrize("variant", ["cap", "rescale", "conf"])
@pytest.mark.parametrize(("steps", "eta"), [(12, 0.02), (6, 0.3), (3, 1.0), (1, 0.5)])
def test_remdm(same_numbers, variant, steps, eta):
    """Its update and its loop; a written slot keeps its symbol, as its parameterisation has it."""
    import torch

    names = ("_sample_categorical", "_ddpm_caching_update", "_sample")
    parts = parts_of("remdm/diffusion.py", *names, tqdm=lambda steps: steps)

    class Diffusion:
        device, sampler, parameterization, time_conditioning = "cpu", "ddpm_cache", "subs", False

        def __init__(self, predictor):
            self.predictor, self.mask_index = predictor, predictor.mask_id
            sampling = {"steps": steps, "sampler": f"remdm-{variant}", "eta": eta, "nucleus_p": 1.0}
            self.config = types.SimpleNamespace(
                sampling=types.SimpleNamespace(**sampling, dfm=False, noise_removal=True),
                loader=types.SimpleNamespace(eval_batch_size=1),
                model=types.SimpleNamespace(length=SLOTS),
                noise=types.SimpleNamespace(type="loglinear"),
            )

        def noise(self, t):
            return t, None

        def forward(self, x, _):
            logs = torch.from_numpy(self.predictor.logits(x.numpy())).log_softmax(dim=-1)
            kept = torch.full_like(logs, -torch.inf).scatter(-1, x[..., None], 0.0)
            return torch.where((x == self.mask_index)[..., None], logs, kept)

        def _sample_prior(self, *shape):
            return self.mask_index * torch.ones(*shape, dtype=torch.int64)

        _ddpm_caching_update, _sample = parts._ddpm_caching_update, parts._sample

    class EverySlot(Replayed):
        def symbols(self, probabilities):
            ticks = self.generator.random((SLOTS, self.alphabet))
            return np.argmax(probabilities / (1e-10 - np.log(ticks + 1e-10)), axis=-1)

    class NoDraw(Remdm):
        """The last pass draws nothing in the published code."""

        def next(self, state, beliefs, chance):
            return super().next(state, beliefs, Drawn(chance.generator) if state.step == self.steps else chance)

    for seed in SEEDS:
        predictor = Mixed(SLOTS, SYMBOLS, seed)
        same_numbers(seed)
        theirs = Diffusion(predictor)._sample(num_steps=steps)[0].tolist()
        chance = EverySlot(np.random.default_rng(seed), SYMBOLS)
        sampler = NoDraw(steps, variant, eta)
        sampled = sample(predictor, sampler, masks(predictor, 1, SLOTS), chances=[chance])
        assert sampled.sequences[0].tolist() == theirs, seed


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0, 5.0])
def test_eb(gamma):
    import torch

    space = {"add_gumbel_noise": lambda logits, **_: logits, "apply_eos_penalty": lambda logits, *_: logits}
    eb = parts_of("EB/eb_sampler.py", "generate_with_eb_sampler", **space)
    for seed in SEEDS:
        predictor = Mixed(SLOTS, SYMBOLS, seed)
        model = TorchModel(predictor, plain=False)
        prompt = torch.zeros((1, 0), dtype=torch.long)
        named = {"gen_length": SLOTS, "mask_id": predictor.mask_id}
        theirs = eb.generate_with_eb_sampler(model, prompt, gamma=gamma, **named)[0].tolist()
        assert ours(predictor, EntropyBound(gamma), seed) == theirs


def test_the_schedules_of_dllm():
    import torch

    alpha = published("dllm/dllm/core/schedulers/alpha.py", "published_alpha")
    file = "dllm/dllm/core/samplers/utils.py"
    count = parts_of(
        file, "get_num_transfer_tokens", BaseAlphaScheduler=alpha.BaseAlphaScheduler
    ).get_num_transfer_tokens
    for name, schedule in (("linear", alpha.LinearAlphaScheduler()), ("cosine", alpha.CosineAlphaScheduler())):
        for masked in (*range(1, 40), 63, 127, 255):
            for steps in {1, 2, 3, 5, 6, 7, 10, masked // 4 + 1, masked // 2 + 1, masked}:
                theirs = count(torch.ones((1, masked), dtype=torch.bool), steps, schedule)[0].tolist()
                assert quotas(name, masked, steps) == tuple(theirs), (name, masked, steps)


def test_another_rule_is_distinguished():
    """The comparison can fail: one step more, another score, another η give other tokens somewhere."""
    predictors = [Mixed(SLOTS, SYMBOLS, seed) for seed in SEEDS]
    for right, wrong in (
        (Llada(6), Llada(5)),
        (Llada(6), Llada(6, scheduler="cosine")),
        (P2(6), P2(6, score="diff_top2")),
        (P2(6), P2(6, eta=3)),
    ):
        assert any(ours(p, right, 0) != ours(p, wrong, 0) for p in predictors)
