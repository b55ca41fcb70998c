"""The plugin in a project that knows of unmask only through its entry point, in a process and folder of its own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import faulty_samplers
import pytest

from unmask.bench.bench_folder import cached_models

ROOT = Path(__file__).parents[2]
SAMPLERS = Path(faulty_samplers.__file__).read_text()


@pytest.fixture
def project(tmp_path, bench_cache):
    """Run pytest in an empty project; the entry points of pyproject.toml are installed for it."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    installed = tmp_path / "installed"
    metadata = installed / "unmask_of_this_test-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: unmask-of-this-test\nVersion: 0\n")
    lines = [f"{name} = {module}\n" for name, module in points.items()]
    (metadata / "entry_points.txt").write_text("[pytest11]\n" + "".join(lines))
    work = tmp_path / "project"
    work.mkdir()
    (work / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def run(*arguments, **files):
        for name, text in files.items():
            (work / f"{name}.py").write_text(text)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(installed)])}
        environment["UNMASK_CACHE"] = str(bench_cache)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
        completed = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=300)
        return completed.returncode, completed.stdout + completed.stderr

    return run


def test_a_project_that_does_not_use_the_plugin_imports_nothing(project):
    code, output = project(
        "-v",
        test_own="""
import sys
def test_nothing_is_imported():
    assert "unmask.bench.pytest_plugin" in sys.modules
    assert not {"torch", "transformers", "unmask.bench.run_checks", "unmask.compilers"} & set(sys.modules)
""",
    )
    assert code == 0, output
    assert "1 passed" in output
    program = "import sys, unmask.bench.pytest_plugin; sys.exit('numpy' in sys.modules or 'torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    assert subprocess.run([sys.executable, "-c", program], env=environment, timeout=60).returncode == 0


def test_the_checks_are_items_of_the_command_line(project):
    pytest.importorskip("transformers")
    code, output = project(
        "-v", "--unmask-sampler", "samplers:plain", "--unmask-models", "tree-16", "-k", "unmask", samplers=SAMPLERS
    )
    assert code == 0, output
    assert "unmask::order[tree-16] PASSED" in output
    assert "unmask::editing[tree-16] SKIPPED (generate has" in output


def test_a_failure_names_the_check_the_model_and_the_first_wrong_write(project):
    pytest.importorskip("transformers")
    text = SAMPLERS + "\nearly = make('order')\n"
    code, output = project(
        "--unmask-sampler", "samplers.py:early", "--unmask-models", "tree-16-reversed", "-k", "order", samplers=text
    )
    assert code == 1, output
    assert "order on tree-16-reversed: word 0, pass 1: slot 0 was written" in output
    assert "bugs of this class: a slot is written before" in output
    assert "Traceback" not in output


def test_a_wrong_name_is_one_message(project):
    code, output = project("--unmask-sampler", "nowhere.py:generate")
    assert code == 4, output
    assert "ERROR: no such file: nowhere.py" in output
    code, output = project("--unmask-sampler", "llada", "--unmask-models", "nothing")
    assert code == 4, output
    assert "unknown reference model 'nothing'" in output


TEST_FILE = """
from samplers import make, plain
from unmask.bench import parametrize_with_checks

@parametrize_with_checks(plain, "tree-16")
def test_plain(unmask_check):
    unmask_check()

@parametrize_with_checks(make("order"), "tree-16-reversed", expected_failures={"order": "on purpose"}, threshold=0.8)
def test_early(unmask_check):
    unmask_check()

def test_one_model(unmask_model):
    model = unmask_model("tree-16")
    word = model.words[0]
    ids = plain(model.module(), model.tokenizer, torch_ids(word), steps=model.slots, mask_token_id=model.mask_id)
    assert ids[0, model.prompt_length:].tolist() == word.values.tolist()

def test_the_compiler_is_not_in_the_hot_path():
    import sys
    assert "unmask.bench.run_checks" in sys.modules
    assert not {"unmask.compilers", "unmask.api", "unmask.export"} & set(sys.modules)

def torch_ids(word):
    import torch
    return torch.from_numpy(word.ids)[None]
"""


def test_a_test_file_is_parametrized_with_the_checks(project):
    pytest.importorskip("transformers")
    code, output = project(
        "-v", "-k", "order or terminates or one_model or hot_path", samplers=SAMPLERS, test_mine=TEST_FILE
    )
    assert code == 0, output
    assert "test_plain[order[tree-16]] PASSED" in output
    assert "test_early[order[tree-16-reversed]] XFAIL" in output
    assert "test_early[terminates[tree-16-reversed]] PASSED" in output
    assert "test_one_model PASSED" in output
    assert "test_the_compiler_is_not_in_the_hot_path PASSED" in output


def test_the_fixture_of_this_process_is_the_cached_model(bench_cache):
    pytest.importorskip("transformers")
    from unmask.bench import pytest_plugin

    cases = dict(
        pytest_plugin._cases(faulty_samplers.make("prompt_kept"), "tree-16", {}, {}, {}, {"threshold": (0.9, 2.0)})
    )
    with pytest.raises(pytest.fail.Exception, match="changed in place"):
        cases["prompt_kept[tree-16]"]()
    cases["terminates[tree-16]"]()
    with pytest.raises(pytest.fail.Exception, match=r"threshold=0\.9 and threshold=2\.0 differ"):
        cases["options_agree[tree-16]"]()
    assert cached_models("tree-16")[0].folder.is_relative_to(bench_cache)
