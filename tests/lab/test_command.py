"""`unmask lab …`: one sentence for what is wrong, and no torch before it is needed."""

import json
import subprocess
import sys

import pytest

import command_line


def said(line, folder):
    code, printed = command_line.run(line, folder)
    assert code == 2
    (sentence,) = [text for text in printed.splitlines() if text and ": operand addresses " not in text]
    return sentence


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("unmask lab train S9-tree --out run", "'S9-tree' is neither a file nor a preset"),
        ("unmask lab train missing.json --out run", "missing.json cannot be read: No such file"),
        ("unmask lab train wrong.json --out run", "wrong.json: its length must be an integer from 2 to 128, not 1"),
        (
            "unmask lab train beta.json --out run",
            "the shape of beta.json: its beta must be a number from -1000 to 1000, or null, not nan",
        ),
        ("unmask lab train decay.json --out run", "decay.json: its decay must be an integer from 1 to 10^9"),
        (f"unmask lab train S3-tree --out run --seed {10**30}", "Invalid value for '--seed'"),
        ("unmask lab train S3-tree --out run --threads 1000000", "Invalid value for '--threads'"),
        ("unmask lab train S3-tree --out run --device abacus", "--device takes cpu, or cuda"),
        ("unmask lab table --preset big --out results", "unknown preset 'big'; use one of quick, paper"),
        ("unmask lab table --only nothing --out results", "--only 'nothing' matches no cell of the preset quick"),
        ("unmask lab report nowhere", "results.json cannot be read: No such file"),
        ("unmask lab view nowhere 'a b' --text", "nowhere is not a folder of `unmask lab train`"),
        ("unmask lab view nowhere 'a b'", "there is nothing to write; give --out FILE.html or --text"),
    ],
)
def test_bad_input_is_one_message(line, sentence, tmp_path):
    (tmp_path / "wrong.json").write_text('{"length": 1}')
    (tmp_path / "beta.json").write_text('{"shape": {"beta": NaN}}')
    (tmp_path / "decay.json").write_text(f'{{"decay": {10**400}}}')
    assert sentence in said(line, tmp_path)
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "results").exists()


def test_train_and_view(tmp_path):
    config = {"problem": "group:Z2", "length": 4, "shape": {"width": 16, "hidden": 32}, "steps": 4, "evaluate_every": 2}
    (tmp_path / "config.json").write_text(json.dumps(config))
    code, printed = command_line.run("unmask lab train config.json --out run --device cpu", tmp_path)
    assert code == 0
    assert "operand addresses are given as input (encoding `bits`); operand symbols are not" in printed.splitlines()[0]
    assert "step 4: loss" in printed
    assert "of 1000 new words correct (chance 50.0 %), 4 steps" in printed
    code, printed = command_line.run("unmask lab view run '+1 +0 +1 +1' --text --out run.html", tmp_path)
    assert code == 0
    assert "masked diffusion" in printed
    assert (tmp_path / "run.html").stat().st_size > 10_000
    code, printed = command_line.run("unmask lab view run '+1 +0 +1 +1' --out late.html --timeout 0.001", tmp_path)
    assert code == 2
    assert "the time limit of 0.001 s was reached" in printed
    code, printed = command_line.run("unmask lab view run '+1 +0 +1 +1' --out large.html --limit 1K", tmp_path)
    assert code == 2
    assert "beyond the limit of 1.0 KB" in printed
    assert not list(tmp_path.glob("la*.html"))


def test_a_small_folder_that_asks_for_a_large_network_is_refused(tmp_path):
    (tmp_path / "run").mkdir()
    shape = {"width": 4096, "hidden": 4096, "layers": 4096}
    (tmp_path / "run" / "config.json").write_text(json.dumps({"problem": "group:Z2", "length": 4, "shape": shape}))
    assert "the network of run would take about 3,585 GB of memory" in said(
        "unmask lab view run '+1 +0 +1 +1' --text", tmp_path
    )


def test_help_imports_no_torch():
    script = (
        "import sys\nfrom unmask.cli.commands import main\nsys.argv = ['unmask', 'lab', 'train', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(m for m in ('torch', 'distributed', 'accelerate') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "CONFIG|PRESET" in done.stdout
    assert done.stderr == ""
