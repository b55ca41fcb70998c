"""LLaDA's, Fast-dLLM's and dllm's published code on exported A5 folders: right answers, known numbers of passes.

The code is not part of this repository. UNMASK_PUBLISHED names a folder with checkouts `LLaDA`, `Fast-dLLM` and `dllm`,
and with `transformers-4.49`, a virtual environment for LLaDA's and Dream's classes:

    python -m venv published/transformers-4.49
    published/transformers-4.49/bin/pip install torch==2.13.0 transformers==4.49.0 einops
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from export.permutations import words as a5_words

FOLDER = os.environ.get("UNMASK_PUBLISHED")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(FOLDER is None, reason="UNMASK_PUBLISHED names no folder with the published code"),
]
PROGRAM = Path(__file__).parent / "published_classes.py"
NEEDS = {
    "llada": ("LLaDA/generate.py", "Fast-dLLM/llada/generate.py", "transformers-4.49/bin/python"),
    "dream": ("Fast-dLLM/dream/model/modeling_dream.py", "transformers-4.49/bin/python"),
    "dllm": ("dllm/dllm/core/samplers/mdlm.py",),
}
FORMS = {"llada": "llada", "dream": "dream", "dllm": "llama"}
COUNT = 8
HALF = COUNT // 2  # as many as guessing


@pytest.fixture
def measured(exported, tmp_path):
    def measure(job, order):
        for file in NEEDS[job]:
            if not (Path(FOLDER or "") / file).exists():
                pytest.skip(f"UNMASK_PUBLISHED has no {file}")
        model, folder, _ = exported("group:A5", "mdm", FORMS[job], length=16, order=order)
        words_file = tmp_path / "words.json"
        words_file.write_text(json.dumps(a5_words(model.input_symbols, 16, COUNT, seed=51)))
        python = sys.executable if job == "dllm" else Path(FOLDER) / NEEDS[job][-1]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        command = [python, "-I", PROGRAM, job, Path(FOLDER).absolute(), folder, words_file]
        process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr[-3000:]
        return {name: tuple(score) for name, score in json.loads(process.stdout.splitlines()[-1]).items()}

    return measure


def test_llada(measured):
    """A block that the refresh pass fills costs a cached loop one more pass. Four steps are too few for a quota."""
    assert measured("llada", "heap") == {
        "LLaDA, 16 steps, block 16": (COUNT, 16),
        "LLaDA, 16 steps, block 4": (COUNT, 16),
        "LLaDA, 4 steps, block 16": (HALF, 4),
        "Fast-dLLM, block 16": (COUNT, 4),
        "Fast-dLLM, block 8": (COUNT, 4),
        "Fast-dLLM, block 4": (COUNT, 5),
        "Fast-dLLM_with_prefix_cache, block 16": (COUNT, 4),
        "Fast-dLLM_with_prefix_cache, block 8": (COUNT, 5),
        "Fast-dLLM_with_prefix_cache, block 4": (COUNT, 8),
        "Fast-dLLM_with_dual_cache, block 16": (COUNT, 4),
        "Fast-dLLM_with_dual_cache, block 8": (COUNT, 5),
        "Fast-dLLM_with_dual_cache, block 4": (COUNT, 8),
    }


def test_llada_in_the_reversed_order(measured):
    """A block must hold what its slots read: with the answer in the first slot, smaller blocks are filled too early."""
    results = measured("llada", "reversed")
    for cache in ("", "_with_prefix_cache", "_with_dual_cache"):
        assert results[f"Fast-dLLM{cache}, block 16"] == (COUNT, 4)
        assert results[f"Fast-dLLM{cache}, block 8"][0] == HALF


def test_dream(measured):
    expected = {"Dream, threshold": (COUNT, 6), "Fast-dLLM prefix, block 16": (COUNT, 5)}
    assert measured("dream", "heap") == {**expected, "Fast-dLLM dual, block 16": (COUNT, 5)}


def test_dream_in_the_reversed_order(measured):
    """Fast-dLLM's loop for Dream writes the first slot of a block before anything else; here that is the answer."""
    results = measured("dream", "reversed")
    assert results["Dream, threshold"] == (COUNT, 6)
    assert {correct for name, (correct, _) in results.items() if "block" in name} == {HALF}


@pytest.mark.parametrize("order", ["heap", "reversed"])
def test_dllm(measured, order):
    assert measured("dllm", order) == {"dllm, 16 steps": (COUNT, 16), "dllm, 4 steps": (HALF, 4)}
