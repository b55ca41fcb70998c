"""LLaDA's, Fast-dLLM's, Dream's and dllm's published code through the adapters: what is known about it is found.

UNMASK_PUBLISHED names the folder that tests/export/test_published_classes.py describes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.bench.bench_folder import write_bench_folder
from unmask.bench.reference_models import reference_row

FOLDER = os.environ.get("UNMASK_PUBLISHED")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(FOLDER is None, reason="UNMASK_PUBLISHED names no folder with the published code"),
]
ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "docs" / "generate" / "published_samplers.py"
MASKS = {"mask_in_prompt", "mask_never_written"}  # none of them knows where the prompt ends, none suppresses the mask
QUOTA = {"follows_schedule", "no_idle_pass"}


@pytest.mark.parametrize(
    ("name", "form", "model", "failing"),
    [
        ("LLaDA", "bert", "tree-16", MASKS),
        ("dllm MDLMSampler", "bert", "tree-16", MASKS),
        ("Fast-dLLM, prefix cache", "llada", "tree-16", MASKS | {"no_idle_pass", "within_budget"}),
        ("Fast-dLLM, dual cache", "llada", "hops-16-work", MASKS | {"cache_changes_nothing", "within_budget"}),
        ("Dream", "dream", "tree-16-reversed", MASKS | QUOTA),
        ("Fast-dLLM Dream, prefix cache", "dream", "tree-16-reversed", MASKS | {"cache_changes_nothing"}),
        ("Fast-dLLM Dream, dual cache", "dream", "tree-16", MASKS),
    ],
)
def test_published_code_fails_the_checks_that_are_known(tmp_path, name, form, model, failing):
    folder = write_bench_folder(reference_row(model), tmp_path / model, form)
    python = (
        sys.executable if form == "bert" else Path(FOLDER or "").absolute() / "transformers-4.49" / "bin" / "python"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [python, PROGRAM, FOLDER, name, folder]
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr[-2000:]
    outcomes = json.loads(completed.stdout)["outcomes"]
    assert {outcome["check"] for outcome in outcomes if outcome["status"] == "failed"} == failing, outcomes
